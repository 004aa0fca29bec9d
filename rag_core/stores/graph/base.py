"""What both back ends do alike, in the Cypher that both understand.

Nodes are looked up one by one (`UNWIND`), and so are the relations among some of them; whatever else relationships lead
to is looked up from all at once (`IN`): ladybug takes a fraction of the time for either.

Rows go in by table: `NODES` says what nodes have, `EDGES` what they stand between; a row of those begins with the ids
of its two ends.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from itertools import pairwise
from typing import Any, Protocol, TypeVar

import numpy as np

from rag_core.stores.graph.facts import (
    ChunkFacts,
    Community,
    Edges,
    Entity,
    GraphSize,
    Mention,
    Relation,
    Subgraph,
    Table,
    merged,
)

NODES: Mapping[str, tuple[str, ...]] = {
    "Entity": ("id", "name", "kind", "description", "aliases", "mentions"),
    "Chunk": ("id", "document", "digest", "made"),
    "Community": ("id", "level", "title", "report", "rank", "made_by", "made"),
    "Document": ("id", "name", "made"),
}
EDGES: Mapping[str, tuple[str, str, tuple[str, ...]]] = {
    "MENTIONS": ("Chunk", "Entity", ("weight", "said")),
    "RELATES": ("Entity", "Entity", ("name", "weight", "chunk", "description")),
    "BELONGS_TO": ("Entity", "Community", ()),
    "PART_OF": ("Community", "Community", ()),
}
HIDDEN = frozenset({"said", "digest", "made", "made_by"})
"""Properties that are ours to know, and nobody's to ask for."""

_MOST_FACTS = 5_000
"""Relations of a subgraph at most: the heaviest."""

_Done = TypeVar("_Done")
Rows = list[list[Any]]


class Writing(Protocol):
    """A transaction that is under way."""

    def rows(self, query: str, **parameters: Any) -> Rows: ...

    def add(self, table: str, rows: Sequence[Sequence[Any]]) -> None:
        """Add nodes that are not there yet, or edges between nodes that are."""
        ...


class BaseGraph(ABC):
    """A graph store, but for how a query is run."""

    read_only: bool = False

    @property
    def outdated(self) -> bool:
        return False

    # what a back end brings

    @abstractmethod
    def _rows(self, query: str, **parameters: Any) -> Rows:
        """Read."""

    @abstractmethod
    def _columns(self, query: str) -> list[np.ndarray]:
        """Read many rows, a column each."""

    @abstractmethod
    def _write(self, work: Callable[[Writing], _Done]) -> _Done:
        """Do all of this or nothing; the version is another one afterwards, unless nothing was to be done (None)."""

    @abstractmethod
    def _ways(self, source: str, target: str, longest: int, limit: int) -> list[list[str]]:
        """The shortest ways from one entity to another, as ids."""

    @property
    @abstractmethod
    def version(self) -> int: ...

    @abstractmethod
    def clear(self) -> None: ...

    @abstractmethod
    def close(self) -> None: ...

    @abstractmethod
    def cypher(
        self, query: str, *, limit: int = 200, timeout_s: float = 5, parameters: Mapping[str, Any] | None = None
    ) -> Table: ...

    # writing

    def replace(
        self, document: str, facts: Sequence[ChunkFacts], *, keep: Collection[str] = (), name: str = "", made: str = ""
    ) -> None:
        def work(writing: Writing) -> bool | None:
            stored = dict(writing.rows("MATCH (c:Chunk {document: $id}) RETURN c.id, c.digest", id=document))
            new = [said for said in facts if stored.get(said.chunk) != said.digest]
            stay = {said.chunk for said in facts} - {said.chunk for said in new} | set(keep)
            gone = [chunk for chunk in stored if chunk not in stay or chunk in {said.chunk for said in new}]
            before = writing.rows("MATCH (d:Document {id: $id}) RETURN d.name, d.made", id=document)
            now = [[name, made]] if new or len(gone) < len(stored) else []
            if not new and not gone and before == now:
                return None
            if before != now:
                writing.rows("MATCH (d:Document {id: $id}) DETACH DELETE d", id=document)
                writing.add("Document", [[document, *known] for known in now])
            if not now:
                _remove_reports(writing, document)
            _settle(writing, _remove(writing, gone) | _add(writing, document, new))
            return True

        self._write(work)

    def forget(self, document: str) -> None:
        self.replace(document, ())

    def save_communities(self, communities: Sequence[Community], *, made: str = "") -> None:
        ids = {community.id for community in communities}

        def work(writing: Writing) -> bool:
            there = {id_ for (id_,) in writing.rows("MATCH (e:Entity) RETURN e.id")}
            writing.rows("MATCH (k:Community) DETACH DELETE k")
            writing.add(
                "Community",
                [[k.id, k.level, k.title, k.report, float(k.rank), k.made_by, made] for k in communities],
            )
            writing.add("BELONGS_TO", [[id_, k.id] for k in communities for id_ in k.entities if id_ in there])
            writing.add("PART_OF", [[k.id, k.parent] for k in communities if k.parent in ids])
            return True

        self._write(work)

    # reading

    def documents(self) -> dict[str, str]:
        return dict(self._rows("MATCH (d:Document) RETURN d.id, d.made"))

    def chunks(self, document: str) -> dict[str, str]:
        return dict(self._rows("MATCH (c:Chunk {document: $id}) RETURN c.id, c.made", id=document))

    def entities(self, ids: Sequence[str] | None = None) -> list[Entity]:
        if ids is None:
            return [_entity(row) for row in self._rows(f"MATCH (e:Entity) RETURN {_ENTITY} ORDER BY e.name, e.id")]
        rows = self._of(ids, f"UNWIND $asked AS id MATCH (e:Entity {{id: id}}) RETURN {_ENTITY}")
        found = {row[0]: _entity(row) for row in rows}
        return [found[id_] for id_ in dict.fromkeys(ids) if id_ in found]

    def search(self, text: str, *, limit: int = 20) -> list[Entity]:
        rows = self._rows(
            f"""MATCH (e:Entity) UNWIND [e.name] + e.aliases AS name WITH e, name WHERE toLower(name) CONTAINS $text
                WITH DISTINCT e RETURN {_ENTITY} ORDER BY e.mentions DESC, e.name, e.id LIMIT {int(limit)}""",
            text=text.strip().lower(),
        )
        return [_entity(row) for row in rows]

    def mentions(self, chunks: Sequence[str]) -> list[Mention]:
        rows = self._of(
            chunks,
            """MATCH (c:Chunk)-[m:MENTIONS]->(e:Entity) WHERE c.id IN $asked
               RETURN e.id, c.id, m.weight ORDER BY c.id, e.id""",
        )
        return [Mention(*row) for row in rows]

    def neighbours(self, ids: Sequence[str], *, hops: int = 1, limit: int = 200) -> Subgraph:
        near = [entity.id for entity in self.entities(ids)][:limit]
        frontier = near
        for _ in range(hops):
            if len(near) >= limit:
                break
            rows = self._of(
                frontier,
                # So many that enough are left without those that are known.
                f"""MATCH (a:Entity)-[r:RELATES]-(e:Entity) WHERE a.id IN $asked
                    RETURN e.id, sum(r.weight) AS weight ORDER BY weight DESC, e.id LIMIT {int(limit)}""",
            )
            known = set(near)
            frontier = [id_ for id_, _ in rows if id_ not in known][: limit - len(near)]
            near = [*near, *frontier]
        return Subgraph(tuple(self.entities(near)), self._relations(near))

    def paths(self, source: str, target: str, *, longest: int = 4, limit: int = 5) -> list[Subgraph]:
        found = []
        if source == target:
            return found
        for way in self._ways(source, target, longest, limit):
            steps = [{*step} for step in pairwise(way)]
            relations = [one for one in self._relations(way) if {one.source, one.target} in steps]
            in_order = sorted(relations, key=lambda one: steps.index({one.source, one.target}))
            found.append(Subgraph(tuple(self.entities(way)), tuple(in_order)))
        return found

    def edges(self) -> Edges:
        version = self.version
        entities = tuple(self._columns("MATCH (e:Entity) RETURN e.id")[0])
        chunks = tuple(self._columns("MATCH (c:Chunk) RETURN c.id")[0])
        source, target, weight = self._columns(
            "MATCH (a:Entity)-[r:RELATES]->(b:Entity) RETURN a.id, b.id, r.weight",
        )
        entity, chunk, mentioned = self._columns(
            "MATCH (c:Chunk)-[m:MENTIONS]->(e:Entity) RETURN e.id, c.id, m.weight",
        )
        entity_at, chunk_at = _positions(entities), _positions(chunks)
        return Edges(
            version=version,
            entities=entities,
            chunks=chunks,
            related=_summed(entity_at(source), entity_at(target), weight.astype(np.float64), len(entities)),
            mentioned=_known(entity_at(entity), chunk_at(chunk), mentioned.astype(np.float64)),
        )

    def communities_made(self) -> str:
        rows = self._rows("MATCH (k:Community) RETURN DISTINCT k.made LIMIT 1")
        return (rows[0][0] or "") if rows else ""

    def communities(self, level: int | None = None) -> list[Community]:
        chosen = "" if level is None else f"{{level: {int(level)}}}"
        parents = dict(self._rows(f"MATCH (k:Community {chosen})-[:PART_OF]->(p:Community) RETURN k.id, p.id"))
        members: dict[str, list[str]] = {}
        for id_, entity in self._rows(
            f"""MATCH (e:Entity)-[:BELONGS_TO]->(k:Community {chosen})
                RETURN k.id, e.id ORDER BY e.mentions DESC, e.name, e.id"""
        ):
            members.setdefault(id_, []).append(entity)
        rows = self._rows(
            f"""MATCH (k:Community {chosen}) RETURN k.id, k.level, k.title, k.report, k.rank, k.made_by
                ORDER BY k.level, k.rank DESC, k.id"""
        )
        return [
            Community(
                id=id_,
                level=at,
                parent=parents.get(id_),
                entities=tuple(members.get(id_, ())),
                title=title,
                report=report,
                rank=rank,
                made_by=made_by or "",
            )
            for id_, at, title, report, rank, made_by in rows
        ]

    def size(self) -> GraphSize:
        def count(pattern: str, what: str = "count(*)") -> int:
            return self._rows(f"MATCH {pattern} RETURN {what}")[0][0]

        return GraphSize(
            documents=count("(d:Document)"),
            chunks=count("(c:Chunk)"),
            entities=count("(e:Entity)"),
            mentions=count("(:Chunk)-[m:MENTIONS]->(:Entity)"),
            relations=count("(:Entity)-[r:RELATES]->(:Entity)"),
            communities=count("(k:Community)"),
        )

    def _of(self, asked: Sequence[str], query: str) -> Rows:
        return self._rows(query, asked=list(dict.fromkeys(asked))) if asked else []

    def _relations(self, ids: Sequence[str]) -> tuple[Relation, ...]:
        rows = self._of(
            ids,
            f"""UNWIND $asked AS id MATCH (a:Entity {{id: id}})-[r:RELATES]->(b:Entity) WHERE b.id IN $asked
                RETURN a.id, b.id, r.name, r.weight, r.chunk, r.description
                ORDER BY r.weight DESC, a.id, b.id, r.chunk, r.name LIMIT {_MOST_FACTS}""",
        )
        return tuple(Relation(*row) for row in rows)


_ENTITY = "e.id, e.name, e.kind, e.description, e.aliases"


def _entity(row: Sequence[Any]) -> Entity:
    id_, name, kind, description, aliases = row
    return Entity(id_, name, kind, description, tuple(aliases))


def _remove_reports(writing: Writing, document: str) -> None:
    """Take the communities away whose report may quote a document."""
    rows = writing.rows(
        """MATCH (c:Chunk {document: $id})-[:MENTIONS]->(:Entity)-[:BELONGS_TO]->(k:Community)
           RETURN DISTINCT k.id""",
        id=document,
    )
    writing.rows("MATCH (k:Community) WHERE k.id IN $ids DETACH DELETE k", ids=[id_ for (id_,) in rows])


def _remove(writing: Writing, chunks: list[str]) -> set[str]:
    """Take chunks away with what they said; give the entities that they mentioned."""
    if not chunks:
        return set()
    said = "MATCH (c:Chunk)-[:MENTIONS]->(e:Entity)"
    rows = writing.rows(f"{said} WHERE c.id IN $chunks RETURN DISTINCT e.id", chunks=chunks)
    writing.rows(f"{said}-[r:RELATES]->(:Entity) WHERE c.id IN $chunks AND r.chunk = c.id DELETE r", chunks=chunks)
    writing.rows("MATCH (c:Chunk) WHERE c.id IN $chunks DETACH DELETE c", chunks=chunks)
    return {id_ for (id_,) in rows}


def _add(writing: Writing, document: str, facts: Sequence[ChunkFacts]) -> set[str]:
    """Write what chunks say; give those of the entities that were there before."""
    said: dict[str, Counter[str]] = {}
    mentions: list[list[Any]] = []
    relations: list[list[Any]] = []
    for one in facts:
        here = {entity.id: entity.said() for entity in one.entities}
        weights = {mention.entity: mention.weight for mention in one.mentions if mention.entity in here}
        mentions += [[one.chunk, id_, float(weight), here[id_]] for id_, weight in weights.items()]
        relations += [
            [to.source, to.target, to.name, float(to.weight), one.chunk, to.description]
            for to in one.relations
            if to.source in weights and to.target in weights
        ]
        for id_ in weights:
            said.setdefault(id_, Counter())[here[id_]] += 1
    rows = writing.rows("UNWIND $ids AS id MATCH (e:Entity {id: id}) RETURN e.id", ids=list(said)) if said else []
    there = {id_ for (id_,) in rows}
    writing.add("Chunk", [[one.chunk, document, one.digest, one.made] for one in facts])
    writing.add("Entity", [_row(id_, texts) for id_, texts in said.items() if id_ not in there])
    writing.add("MENTIONS", mentions)
    writing.add("RELATES", relations)
    return there


def _row(id_: str, said: Mapping[str, int]) -> list[Any]:
    """An entity as it is stored, by the texts that are said of it and in how many chunks."""
    entity = merged(id_, said.items())
    return [id_, entity.name, entity.kind, entity.description, list(entity.aliases), sum(said.values())]


def _settle(writing: Writing, ids: Iterable[str]) -> None:
    """Let entities be what is said of them now; those of which nothing is said go."""
    touched = sorted(ids)
    if not touched:
        return
    said: dict[str, Counter[str]] = {}
    for id_, text, chunks in writing.rows(
        "MATCH (:Chunk)-[m:MENTIONS]->(e:Entity) WHERE e.id IN $ids RETURN e.id, m.said, count(*)", ids=touched
    ):
        said.setdefault(id_, Counter())[text] += chunks
    if orphans := [id_ for id_ in touched if id_ not in said]:
        writing.rows("UNWIND $ids AS id MATCH (e:Entity {id: id}) DETACH DELETE e", ids=orphans)
    stored = writing.rows(f"UNWIND $ids AS id MATCH (e:Entity {{id: id}}) RETURN {_ENTITY}, e.mentions", ids=touched)
    now = {id_: _row(id_, texts) for id_, texts in said.items()}
    changed = [now[row[0]] for row in stored if row != now[row[0]]]
    names = NODES["Entity"]
    if changed:
        writing.rows(
            f"""UNWIND $rows AS row MATCH (e:Entity {{id: row.id}})
                SET {", ".join(f"e.{name} = row.{name}" for name in names[1:])}""",
            rows=[dict(zip(names, row, strict=True)) for row in changed],
        )


def _positions(ids: Sequence[str]) -> Callable[[np.ndarray], np.ndarray]:
    at = {id_: position for position, id_ in enumerate(ids)}
    return lambda asked: np.fromiter((at.get(id_, -1) for id_ in asked), dtype=np.int64, count=len(asked))


def _known(left: np.ndarray, right: np.ndarray, weight: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Those edges whose ends are both there: one may have gone while the graph was read."""
    both = (left >= 0) & (right >= 0)
    return left[both], right[both], weight[both]


def _summed(
    left: np.ndarray, right: np.ndarray, weight: np.ndarray, n: int
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Each pair once, the smaller position first, its weights summed; an entity is no neighbour of itself."""
    left, right, weight = _known(left, right, weight)
    apart = left != right
    low, high = np.minimum(left, right)[apart], np.maximum(left, right)[apart]
    pairs, at = np.unique(low * max(n, 1) + high, return_inverse=True)
    return pairs // max(n, 1), pairs % max(n, 1), np.bincount(at, weight[apart], minlength=len(pairs))
