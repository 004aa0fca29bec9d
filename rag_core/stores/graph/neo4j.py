"""A graph in a Neo4j of yours. Its Community edition has one database, so that all collections share it.

Every node of a collection has a label of that collection beside its own, and no relationship leaves a collection. Our
own queries name that label, and so do the users' once the guard has written them anew (`cypher.py`): from there no
node of another collection can be reached.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, LiteralString, TypeVar, cast

import neo4j
import numpy as np
from neo4j import exceptions as vendor
from neo4j.graph import Node, Path, Relationship

from rag_core.errors import GraphError, QueryRefused
from rag_core.stores.graph.base import EDGES, HIDDEN, NODES, BaseGraph, Rows
from rag_core.stores.graph.cypher import checked, neo4j_dialect
from rag_core.stores.graph.facts import Table

_LABEL = re.compile(rf":({'|'.join(NODES)})\b")
_ROWS_AT_ONCE = 10_000
_CONNECT_S = 10

_Done = TypeVar("_Done")


class Neo4jGraph(BaseGraph):
    """The graph of one collection, in a database that has others too."""

    def __init__(self, uri: str, username: str, password: str, key: str) -> None:
        """Sign in.

        Raises:
            GraphError: Neo4j does not answer, or refuses the name or the password.
        """
        self._uri = uri
        self._label = "Ragscope_" + re.sub(r"\W", "_", key)
        self._version_label = self._label.replace("_", "Version_", 1)
        self._driver = neo4j.GraphDatabase.driver(
            uri,
            auth=(username, password),
            connection_timeout=_CONNECT_S,
            connection_acquisition_timeout=_CONNECT_S,
            notifications_min_severity="OFF",
        )
        try:
            with self._answering(), self._driver.session() as session:
                session.run(_text(f"CREATE INDEX IF NOT EXISTS FOR (n:`{self._label}`) ON (n.id)")).consume()
                session.run("CREATE INDEX IF NOT EXISTS FOR (c:Chunk) ON (c.document)").consume()
        except GraphError:
            self._driver.close()
            raise

    @property
    def version(self) -> int:
        rows = self._rows(f"MATCH (v:`{self._version_label}`) RETURN v.number")
        return rows[0][0] if rows else 0

    def clear(self) -> None:
        self._write(lambda writing: True)
        with self._answering(), self._driver.session() as session:
            gone = f"CALL {{ WITH n DETACH DELETE n }} IN TRANSACTIONS OF {_ROWS_AT_ONCE} ROWS"
            session.run(_text(f"MATCH (n:`{self._label}`) {gone}")).consume()

    def drop(self) -> None:
        """Leave nothing of it: nothing else can be done with it afterwards but to close it."""
        self.clear()
        with self._answering(), self._driver.session() as session:
            session.run(_text(f"MATCH (v:`{self._version_label}`) DELETE v")).consume()
            indexes = "SHOW INDEXES YIELD name, labelsOrTypes WHERE labelsOrTypes = [$label] RETURN name"
            for (name,) in session.run(indexes, label=self._label).values():
                session.run(_text(f"DROP INDEX `{name}` IF EXISTS")).consume()

    def close(self) -> None:
        self._driver.close()

    def cypher(
        self, query: str, *, limit: int = 200, timeout_s: float = 5, parameters: Mapping[str, Any] | None = None
    ) -> Table:
        asked = checked(query, neo4j_dialect(self._label), parameters or {}, limit=limit)
        try:
            with (
                self._answering(),
                self._driver.session(default_access_mode=neo4j.READ_ACCESS) as session,
                session.begin_transaction(timeout=timeout_s) as transaction,
            ):
                result = transaction.run(_text(asked.text), asked.parameters)
                columns, records = result.keys(), result.fetch(limit + 1)
        except _Wrong as error:
            if "Timed" in error.code:
                told = f"The query took longer than {timeout_s:g} s: ask for less, or begin at one entity."
            else:
                told = f"The query does not work: {error}; change it."
            raise QueryRefused(told) from error
        values = tuple(tuple(self._plain(value) for value in record) for record in records)
        return Table(tuple(asked.columns or columns), values[:limit], cut=len(values) > limit)

    def _rows(self, query: str, **parameters: Any) -> Rows:
        with self._answering(), self._driver.session(default_access_mode=neo4j.READ_ACCESS) as session:
            return session.execute_read(
                lambda transaction: _Writing(transaction, self._label).rows(query, **parameters)
            )

    def _columns(self, query: str) -> list[np.ndarray]:
        rows = self._rows(query)
        if not rows:
            return [np.empty(0, dtype=object) for _ in query.rpartition("RETURN")[2].split(",")]
        return [np.array(column, dtype=object) for column in zip(*rows, strict=True)]

    def _ways(self, source: str, target: str, longest: int, limit: int) -> list[list[str]]:
        rows = self._rows(
            f"""MATCH (a:Entity {{id: $source}}) MATCH (b:Entity {{id: $target}})
                MATCH way = allShortestPaths((a)-[:RELATES*..{int(longest)}]-(b))
                RETURN DISTINCT [one IN nodes(way) | one.id] LIMIT {int(limit)}""",
            source=source,
            target=target,
        )
        return [way for (way,) in rows]

    def _write(self, work: Callable[[_Writing], _Done]) -> _Done:
        with self._answering(), self._driver.session() as session, session.begin_transaction() as transaction:
            # First of all, so that a second writer waits here until this one is done.
            number = "CASE WHEN v.number >= timestamp() THEN v.number + 1 ELSE timestamp() END"
            transaction.run(_text(f"MERGE (v:`{self._version_label}`) SET v.number = {number}")).consume()
            done = work(_Writing(transaction, self._label))
            if done is None:
                transaction.rollback()
            else:
                transaction.commit()
            return done

    @contextmanager
    def _answering(self) -> Iterator[None]:
        """Let what Neo4j says come out as ours; what is wrong with a user's query as `_Wrong`."""
        try:
            yield
        except vendor.AuthError as error:
            told = "refuses the name or the password: set NEO4J_USERNAME and NEO4J_PASSWORD"
            raise GraphError(f"Neo4j at {self._uri} {told}.") from error
        except vendor.Neo4jError as error:
            raise _Wrong(str(error.message or error).splitlines()[0].rstrip("."), error.code or "") from error
        except (vendor.DriverError, OSError, ValueError) as error:
            told = "does not answer: start it, or unset GRAPHRAG_NEO4J_URI"
            raise GraphError(f"Neo4j at {self._uri} {told}.", retry=True) from error

    def _plain(self, value: Any) -> Any:
        """A value as JSON has it."""
        if isinstance(value, Node):
            label = next((label for label in sorted(value.labels) if label != self._label), "")
            return {"label": label, **self._plain(dict(value))}
        if isinstance(value, Relationship):
            return {"label": value.type, **self._plain(dict(value))}
        if isinstance(value, Path):
            return {"nodes": self._plain(list(value.nodes)), "relationships": self._plain(list(value.relationships))}
        if isinstance(value, dict):
            return {name: self._plain(inner) for name, inner in value.items() if name not in HIDDEN}
        if isinstance(value, list | tuple):
            return [self._plain(inner) for inner in value]
        return value if value is None or isinstance(value, str | int | float | bool) else str(value)


def _text(query: str) -> LiteralString:
    """A query that was put together from constants: users' queries have gone through the guard."""
    return cast("LiteralString", query)


def drop(uri: str, username: str, password: str, key: str) -> None:
    """Leave nothing of a graph in Neo4j: no node, no version, no index.

    Raises:
        GraphError: Neo4j does not answer, or refuses the name or the password.
    """
    graph = Neo4jGraph(uri, username, password, key)
    try:
        graph.drop()
    finally:
        graph.close()


class _Wrong(GraphError):
    """Neo4j refused a statement."""

    def __init__(self, message: str, code: str) -> None:
        super().__init__(message)
        self.code = code


class _Writing:
    """A transaction that is under way, among the nodes of one collection."""

    def __init__(self, transaction: neo4j.Transaction | neo4j.ManagedTransaction, label: str) -> None:
        self._transaction = transaction
        self._label = label

    def rows(self, query: str, **parameters: Any) -> Rows:
        scoped = _LABEL.sub(rf":\1:`{self._label}`", query)
        return [record.values() for record in self._transaction.run(_text(scoped), parameters)]

    def add(self, table: str, rows: Sequence[Sequence[Any]]) -> None:
        def values(names: Sequence[str], first: int) -> str:
            return ", ".join(f"{name}: row[{at}]" for at, name in enumerate(names, first))

        if table in NODES:
            query = f"CREATE (:{table} {{{values(NODES[table], 0)}}})"
        else:
            source, target, names = EDGES[table]
            query = f"""MATCH (a:{source} {{id: row[0]}}) MATCH (b:{target} {{id: row[1]}})
                        CREATE (a)-[:{table} {{{values(names, 2)}}}]->(b)"""
        for start in range(0, len(rows), _ROWS_AT_ONCE):
            self.rows(f"UNWIND $rows AS row {query}", rows=[list(row) for row in rows[start : start + _ROWS_AT_ONCE]])
