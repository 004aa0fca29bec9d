"""A graph in a file of its own, by ladybug: an embedded database that speaks Cypher.

One process writes; others that open the file while it does read it as it stood when they opened it.

Quirks of ladybug 0.22: a second write transaction is refused at once, so that writers wait for a lock here; bulk goes
in by COPY, some ten times as fast as CREATE; two nodes in one MATCH are joined in full before their ids are looked at.
"""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from decimal import Decimal
from pathlib import Path
from typing import Any, TypeVar, cast

import ladybug
import numpy as np

from rag_core.errors import GraphError, QueryRefused
from rag_core.stores.graph.base import EDGES, HIDDEN, NODES, BaseGraph, Rows
from rag_core.stores.graph.cypher import LADYBUG, ORDERED, checked
from rag_core.stores.graph.facts import Table

_TYPES = {"aliases": "STRING[]", "mentions": "INT64", "level": "INT64", "rank": "DOUBLE", "weight": "DOUBLE"}
_BUFFER_BYTES = 256 * 2**20
_MOST_BYTES = 2**34
"""What a file may grow to: so much address space is reserved, and the default of 8 TB is refused under a limit."""
_THREADS = 2

_ROWS_AT_ONCE = 10_000

_Done = TypeVar("_Done")


def _schema() -> Iterator[str]:
    def typed(names: Sequence[str]) -> list[str]:
        return [f"{name} {_TYPES.get(name, 'STRING')}" for name in names]

    for table, names in NODES.items():
        yield f"CREATE NODE TABLE IF NOT EXISTS {table} ({', '.join(typed(names))}, PRIMARY KEY (id))"
    for name in ("made_by", "made"):  # files that were made before these were kept
        yield f"ALTER TABLE Community ADD IF NOT EXISTS {name} STRING"
    for table, (source, target, names) in EDGES.items():
        yield f"CREATE REL TABLE IF NOT EXISTS {table} ({', '.join([f'FROM {source} TO {target}', *typed(names)])})"


class EmbeddedGraph(BaseGraph):
    """The graph of one collection, in one file."""

    def __init__(self, path: Path) -> None:
        """Open the file, or make it; where another process writes it, to read only.

        Raises:
            GraphError: It cannot be opened.
        """
        path.parent.mkdir(parents=True, exist_ok=True)
        self._path = path
        self._stood = _stamp(path)
        self._database, self.read_only = _opened(path)
        self._idle: queue.LifoQueue[ladybug.Connection] = queue.LifoQueue()
        self._writing = threading.Lock()
        self._closing = threading.Condition()
        self._busy = 0
        self._closed = False
        self._version = 0
        if not self.read_only:
            with self._connection() as connection:
                for statement in _schema():
                    _run(connection, statement)

    @property
    def outdated(self) -> bool:
        return self.read_only and _stamp(self._path) != self._stood

    @property
    def version(self) -> int:
        return self._version

    def clear(self) -> None:
        def work(writing: _Writing) -> bool:
            for table in NODES:
                writing.rows(f"MATCH (n:{table}) DETACH DELETE n")
            return True

        self._write(work)

    def close(self) -> None:
        """Close the file, once nobody reads or writes it any more."""
        with self._closing:
            self._closed = True
            self._closing.wait_for(lambda: not self._busy)
            while not self._idle.empty():
                self._idle.get().close()
            self._database.close()

    def cypher(
        self, query: str, *, limit: int = 200, timeout_s: float = 5, parameters: Mapping[str, Any] | None = None
    ) -> Table:
        asked = checked(query, LADYBUG, parameters or {}, limit=limit)
        with self._connection() as connection:
            connection.set_query_timeout(max(1, round(timeout_s * 1000)))
            try:
                # The guard let it pass; the database refuses to write in this transaction all the same.
                _run(connection, "BEGIN TRANSACTION READ ONLY")
                result = _run(connection, asked.text, asked.parameters)
                columns, rows = result.get_column_names(), result.get_n(limit + 1)
            except RuntimeError as error:
                raise _refused(error, timeout_s) from error
            finally:
                connection.set_query_timeout(0)
                with suppress(RuntimeError):
                    _run(connection, "ROLLBACK")
        shown = [at for at, name in enumerate(columns) if name != ORDERED]
        values = tuple(tuple(_plain(cast("list[Any]", row)[at]) for at in shown) for row in rows)
        return Table(tuple(asked.columns or (columns[at] for at in shown)), values[:limit], cut=len(values) > limit)

    def _rows(self, query: str, **parameters: Any) -> Rows:
        with self._connection() as connection, _as_graph_error():
            return cast("Rows", _run(connection, query, parameters).get_all())

    def _columns(self, query: str) -> list[np.ndarray]:
        with self._connection() as connection, _as_graph_error():
            frame = _run(connection, query).get_as_df()
        return [frame[name].to_numpy() for name in frame.columns]

    def _ways(self, source: str, target: str, longest: int, limit: int) -> list[list[str]]:
        rows = self._rows(
            f"""MATCH way = (a:Entity)-[:RELATES* ALL SHORTEST 1..{int(longest)}]-(b:Entity)
                WHERE a.id = $source AND b.id = $target
                RETURN DISTINCT properties(nodes(way), 'id') LIMIT {int(limit)}""",
            source=source,
            target=target,
        )
        return [way for (way,) in rows]

    def _write(self, work: Callable[[_Writing], _Done]) -> _Done:
        if self.read_only:
            raise GraphError("Another process writes this graph: stop it, or change the graph there.", retry=True)
        with self._writing, self._connection() as connection, _as_graph_error():
            _run(connection, "BEGIN TRANSACTION")
            try:
                done = work(_Writing(connection))
            except BaseException:
                with suppress(RuntimeError):  # what failed may have ended the transaction already
                    _run(connection, "ROLLBACK")
                raise
            _run(connection, "COMMIT")
            if done is not None:
                self._version += 1
            return done

    @contextmanager
    def _connection(self) -> Iterator[ladybug.Connection]:
        """A connection that nobody else uses meanwhile."""
        with self._closing:
            if self._closed:
                raise GraphError("The graph was closed; open it again.")
            self._busy += 1
        try:
            try:
                connection = self._idle.get_nowait()
            except queue.Empty:
                connection = ladybug.Connection(self._database, num_threads=_THREADS)
            try:
                yield connection
            finally:
                self._idle.put(connection)
        finally:
            with self._closing:
                self._busy -= 1
                self._closing.notify_all()


class _Writing:
    """A transaction that is under way on a connection."""

    def __init__(self, connection: ladybug.Connection) -> None:
        self._connection = connection

    def rows(self, query: str, **parameters: Any) -> Rows:
        return cast("Rows", _run(self._connection, query, parameters).get_all())

    def add(self, table: str, rows: Sequence[Sequence[Any]]) -> None:
        if table in NODES:
            values = ", ".join(f"{name}: row.{name}" for name in NODES[table])
            self._each(NODES[table], rows, f"CREATE (:{table} {{{values}}})")
        else:
            source, target, names = EDGES[table]
            values = ", ".join(f"{name}: row.{name}" for name in names)
            # Two nodes in one MATCH are joined in full before their ids are looked at.
            ends = f"MATCH (a:{source}) WHERE a.id = row.source MATCH (b:{target}) WHERE b.id = row.target"
            self._each(("source", "target", *names), rows, f"{ends} CREATE (a)-[:{table} {{{values}}}]->(b)")

    def _each(self, names: Sequence[str], rows: Sequence[Sequence[Any]], query: str) -> None:
        for start in range(0, len(rows), _ROWS_AT_ONCE):
            some = [dict(zip(names, row, strict=True)) for row in rows[start : start + _ROWS_AT_ONCE]]
            _run(self._connection, f"UNWIND $rows AS row {query}", {"rows": some})


def _opened(path: Path) -> tuple[ladybug.Database, bool]:
    """The database, and whether it can only be read."""
    try:
        return _database(path, read_only=False), False
    except RuntimeError as error:
        if "lock" not in str(error).lower():
            raise GraphError(f"The graph in {path} cannot be opened ({_first_line(error)}): build it anew.") from error
    try:
        return _database(path, read_only=True), True
    except RuntimeError as error:
        raise GraphError("Another process is making this graph: try again in a moment.", retry=True) from error


def _stamp(path: Path) -> tuple[int, int] | None:
    """Another one when the file was written: what is committed gets there at the latest when its writer closes it."""
    try:
        stat = path.stat()
    except OSError:
        return None
    return stat.st_mtime_ns, stat.st_size


def _database(path: Path, *, read_only: bool) -> ladybug.Database:
    return ladybug.Database(
        path,
        buffer_pool_size=_BUFFER_BYTES,
        max_db_size=_MOST_BYTES,
        max_num_threads=_THREADS,
        read_only=read_only,
    )


def _run(
    connection: ladybug.Connection, query: str, parameters: Mapping[str, Any] | None = None
) -> ladybug.QueryResult:
    result = connection.execute(query, dict(parameters or {}))
    assert isinstance(result, ladybug.QueryResult)  # a list for several statements, and ours are one
    return result


@contextmanager
def _as_graph_error() -> Iterator[None]:
    try:
        yield
    except RuntimeError as error:
        told = _first_line(error)
        if "space" in told:
            told = "The disk is full: make room, then try again; nothing that was there is lost"
        raise GraphError(f"The graph did not do what was asked: {told}.", retry=True) from error


def _refused(error: RuntimeError, timeout_s: float) -> QueryRefused:
    told = _first_line(error)
    if "nterrupted" in told:
        return QueryRefused(f"The query took longer than {timeout_s:g} s: ask for less, or begin at one entity.")
    if "buffer pool" in told:
        most = _BUFFER_BYTES // 2**20
        return QueryRefused(f"The query needs more than {most} MB of memory: ask for less, or begin at another entity.")
    return QueryRefused(f"The query does not work: {told}; change it.")


def _first_line(error: Exception) -> str:
    return str(error).strip().splitlines()[0].rstrip(".")


def _plain(value: Any) -> Any:
    """A value as JSON has it."""
    if isinstance(value, dict) and "_NODES" in value:
        return {"nodes": _plain(value["_NODES"]), "relationships": _plain(value["_RELS"])}
    if isinstance(value, dict):
        told = {name: _plain(inner) for name, inner in value.items() if name[0] != "_" and name not in HIDDEN}
        # A node that may be of several tables has the properties of all.
        return (
            {"label": value["_LABEL"], **{k: v for k, v in told.items() if v is not None}}
            if "_LABEL" in value
            else told
        )
    if isinstance(value, list | tuple):
        return [_plain(inner) for inner in value]
    if isinstance(value, Decimal):  # what whole numbers sum up to
        return int(value)
    return value if value is None or isinstance(value, str | int | float | bool) else str(value)
