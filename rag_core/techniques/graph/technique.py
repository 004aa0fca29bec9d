"""The graph as a retriever: four ways from a question over entities and relations to the chunks that answer it.

`spread` walks from the question's entities and the first hits over the whole graph; `local` reads what stands around
them; `global` goes over the reports on communities; `cypher` asks the graph a query. Whatever the way, what comes out
are chunks, fused with the hits of the search. Costs what the ways say of themselves; `spread` some milliseconds.

Sources: those of the ways; see the files beside this one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import Any, Literal

import numpy as np
from pydantic import Field

from rag_core.errors import QueryRefused
from rag_core.llm.engine import Engine, Watch
from rag_core.llm.reading.reading import Reading
from rag_core.llm.reading.words import stems
from rag_core.stores.graph.facts import Entity, GraphStore, Relation
from rag_core.techniques.base import Passages, Technique, TechniqueSettings
from rag_core.techniques.graph import cypher, local
from rag_core.techniques.graph.communities import REPORT
from rag_core.techniques.graph.extraction import EXTRACT
from rag_core.techniques.graph.overview import MAP, REDUCE, overview
from rag_core.techniques.graph.spread import GraphIndex, Walked, index_of
from rag_core.types import Hit, SearchFilter, Value

NO_GRAPH = "This collection has no graph yet: build it on the Knowledge screen, or by `python -m rag_core graph build`."
_NOTHING_NAMED = "The question names nothing that the graph knows: the walk began at the first hits, at less weight."
_IN_PASSING = "No passage is about what the question names: the walk began at names in passing, at less weight."
_AROUND = 400
"""Entities of a neighbourhood, at most."""
_SHOWN, _SHOWN_A_CHUNK = 40, 4
"""Entities and relations that the record of a run keeps, and those that explain one chunk."""
_OF_A_COMMUNITY = 12
"""Chunks of a community that are looked at for a point of its report."""
_LESS = 0.5
"""What counts, of the usual weight, each way that is not the walk: they find a few chunks and know no others."""
_UNSURE = 0.1
"""What counts, of the usual weight, a walk from names that no passage is about, or from none. What is only named in
passing, as a gene in an abstract, or everywhere, as a company in its own report, leads to all that mentions it, and the
search knows better. Where a passage is about what the question names, the next name stands in it; and where the graph
has relations as the question chains them, it has what is in between. (HippoRAG 2 leaves questions that no fact fits to
the search: https://arxiv.org/abs/2502.14802. 0 to 0.4 were tried, on scifact's training half.)"""
_CHAIN_S = 1.0
"""Seconds that looking for such a chain may take: some 10 ms is usual."""
_DEEPER = 20
"""Chunks of the walk for each that is wanted, where a filter leaves some out."""
_MOST_NAMED = 20
"""Entities that a query is asked of: an ambiguous name may have hundreds."""
_MET = 5
"""Entities that the first hits lead to, where the question names none."""
_FALL = 0.1
"""How fast the rows of a query count for less."""
_ROWS = 20
_VALUES, _CHARS = 200, 300
"""Values of a row that are looked at, and characters that are kept of one: a query may collect the whole graph."""


class GraphSettings(TechniqueSettings):
    """How the graph is searched."""

    mode: Literal["spread", "local", "global", "cypher"] = Field(
        default="spread",
        description="Spread walks from the question's entities; local reads around them; global goes over reports on "
        "communities; cypher asks a query.",
    )
    weight: float = Field(
        default=0.9, ge=0, le=1, description="How much the graph counts in the ranking; the search has the rest."
    )
    seeds: int = Field(default=10, ge=0, le=50, description="First hits of the search that the graph is entered at.")
    passage_weight: float = Field(
        default=0.1, ge=0, le=2, description="How much these hits count beside the entities of the question."
    )
    damping: float = Field(
        default=0.92, ge=0.1, le=0.99, description="How far a walk goes: likely to go on at each step."
    )
    hops: int = Field(default=2, ge=1, le=3, description="How far 'local' looks around an entity.")
    reports: int = Field(default=10, ge=1, le=40, description="Reports that 'global' asks; with a model a call each.")
    timeout_s: float = Field(default=5, ge=1, le=60, description="Seconds that a Cypher query may take.")
    limit: int = Field(default=10, ge=5, le=50, description="Chunks that the graph brings.")


class GraphFound(Value):
    """What the graph brought, and all that is needed to draw and to explain it."""

    hits: tuple[Hit, ...] = Field(description="Fused with those of the search, best first.")
    entities: tuple[dict[str, str], ...] = Field(default=(), description="`id` and `name`, the question's own first.")
    asked: tuple[str, ...] = Field(default=(), description="Ids of the entities that the question speaks of.")
    relations: tuple[dict[str, str], ...] = Field(default=(), description="`source`, `target`, `name`, `chunk`.")
    mentions: tuple[tuple[str, str], ...] = Field(default=(), description="`(entity, chunk)` that the way went over.")
    because: dict[str, str] = Field(default_factory=dict, description="Why each chunk is there, by its id.")
    said: dict[str, Any] = Field(default_factory=dict, description="What else the way has to tell: query, points.")
    why: str = Field(default="", description="What stood in the way; empty where nothing did.")

    @property
    def rows(self) -> list[str]:
        """What a query gave, a line a row; the ids of its chunks are left out."""
        chunks = {hit.chunk.id for hit in self.hits}
        rows = [row for one in self.said.get("graphs", [self.said]) for row in one.get("rows", ())]
        lines = (" · ".join(str(value) for value in row if value not in chunks) for row in rows)
        return [*dict.fromkeys(filter(None, lines))]


class Guide(Value):
    """How a graph is asked by Cypher."""

    labels: str = Field(description="What labels, relationships and properties there are.")
    example: str = Field(default="", description="A query that fits the question and finds something.")


@dataclass(frozen=True)
class Way:
    """What one way through one graph brought."""

    scores: Mapping[str, float] = field(default_factory=dict)  # of chunks by id, in 0..1, the best with 1
    share: float = 1.0  # of the weight that the graph has beside the search
    asked: tuple[str, ...] = ()
    entities: Sequence[Entity] = ()
    relations: Sequence[Relation] = ()
    mentions: Sequence[tuple[str, str]] = ()
    because: Mapping[str, str] = field(default_factory=dict)
    said: dict[str, Any] = field(default_factory=dict)
    why: str = ""


class Graph:
    """Finds chunks along entities and relations."""

    def __init__(
        self,
        settings: GraphSettings,
        graphs: Callable[[], Sequence[GraphStore]],
        passages: Passages,
        engine: Engine,
        reading: Reading,
    ) -> None:
        """Wire it.

        Args:
            graphs: Gives those of the searched collections; none where none was built.
        """
        self._settings = settings
        self._graphs = graphs
        self._passages = passages
        self._engine = engine
        self._reading = reading

    @property
    def search_weight(self) -> float:
        """What the score of a chunk counts for that the search found and the graph did not lead to."""
        return 1 - self._settings.weight * (1.0 if self._settings.mode == "spread" else _LESS)

    def retrieve(self, question: str, hits: Sequence[Hit], where: SearchFilter, watch: Watch) -> GraphFound:
        """The chunks that the graph leads to, fused with the hits of the search.

        Args:
            hits: Of the search, best first; they come back as they are where the graph has nothing to say.

        Returns:
            At most as many hits as the larger of `limit` and those given.

        Raises:
            GraphError: A store is out.
            StoreError: The chunks could not be read.
        """
        stores = self._graphs()
        if not stores:
            return GraphFound(hits=tuple(hits), why=NO_GRAPH)
        found = _together([self._gone(store, question, hits, where, watch) for store in stores])
        if not found.scores:
            return GraphFound(hits=tuple(hits), asked=found.asked, said=found.said, why=found.why)
        return _told(found, self._fused(found, hits, where)[: max(self._settings.limit, len(hits))])

    def guide(self, question: str) -> Guide | None:
        """What there is to be asked for by Cypher, and how; None where there is no graph.

        Raises:
            GraphError: A store is out.
        """
        stores = [store for store in self._graphs() if index_of(store).chunks]
        return Guide(labels=cypher.SCHEMA, example=self._example(question, stores)) if stores else None

    def traverse(self, query: str, where: SearchFilter) -> GraphFound:
        """The chunks that a Cypher query leads to, scored by the row that does: 1 for the first.

        Raises:
            QueryRefused: The query is not allowed, is wrong, or took too long.
            GraphError: A store is out.
            StoreError: The chunks could not be read.
        """
        ways = []
        for store in self._graphs():
            table = store.cypher(query, limit=cypher.ROWS, timeout_s=self._settings.timeout_s)
            asked = cypher.Asked(query=query, columns=table.columns, rows=table.rows)
            ways.append(self._led(store, index_of(store), (), asked))
        if not ways:
            return GraphFound(hits=(), why=NO_GRAPH)
        found = _together(ways)
        there = [chunk for chunk in self._passages.get([*found.scores]) if where.admits(chunk)]
        hits = [
            Hit(chunk=chunk, score=found.scores[chunk.id], scores={"graph": round(found.scores[chunk.id], 4)})
            for chunk in there
        ]
        return _told(found, sorted(hits, key=lambda hit: -hit.score)[: self._settings.limit])

    def _example(self, question: str, stores: Sequence[GraphStore]) -> str:
        """The first template for what the question relates that finds anything; empty where none does."""
        for store in stores:
            index = index_of(store)
            named = [at for _, positions in index.lexicon.named_in(question) for at in positions]
            own = [index.entities[at] for at in dict.fromkeys(named[:_MOST_NAMED])]
            queries = cypher.relating(question, [(one.id, one.name) for one in own])
            if query := _first_that_finds(store, queries, self._settings.timeout_s):
                return query
        return ""

    def _gone(self, store: GraphStore, question: str, hits: Sequence[Hit], where: SearchFilter, watch: Watch) -> Way:
        """One of the ways through one graph."""
        index = index_of(store)
        if not index.chunks:
            return Way(why=NO_GRAPH)
        named = [at for _, positions in index.lexicon.named_in(question) for at in positions]
        asked = list(dict.fromkeys(named))
        if self._settings.mode == "local":
            return self._local(store, index, question, asked, hits)
        if self._settings.mode == "global":
            return self._global(store, index, question, watch)
        if self._settings.mode == "cypher":
            return self._cypher(store, index, question, asked[:_MOST_NAMED], watch)
        wanted = max(self._settings.limit, len(hits))
        most = wanted if where == SearchFilter() else wanted * _DEEPER
        return self._spread(
            index, asked, hits, most, sure=index.subject(asked) or _chains(store, index, question, asked)
        )

    def _spread(self, index: GraphIndex, asked: Sequence[int], hits: Sequence[Hit], most: int, *, sure: bool) -> Way:
        walked = self._walk(index, asked, hits)
        best = np.argsort(-walked.chunks, kind="stable")[:most]
        first = float(walked.chunks[best[0]])
        if not first:
            return Way(why="Neither the question nor the first hits are in the graph.")
        # By the root, for the walk is where it began most of the time: what it found is not to count for nothing.
        scores = {index.chunks[at]: float(walked.chunks[at] / first) ** 0.5 for at in best if walked.chunks[at] > 0}
        over: dict[str, list[Entity]] = {}
        for at in best:
            entities, weights = index.mentions_of(int(at))
            gone_over = np.argsort(-walked.entities[entities] * weights, kind="stable")[:_SHOWN_A_CHUNK]
            over[index.chunks[at]] = [index.entities[entities[one]] for one in gone_over]
        own = [index.entities[at] for at in asked]
        return Way(
            scores=scores,
            share=1.0 if sure else _UNSURE,
            asked=_ids(own),
            entities=_once([*own, *(entity for met in over.values() for entity in met)]),
            mentions=[(entity.id, chunk) for chunk, met in over.items() for entity in met],
            because={chunk: _came_by(met, own) for chunk, met in over.items()},
            why="" if sure else _IN_PASSING if asked else _NOTHING_NAMED,
        )

    def _walk(self, index: GraphIndex, asked: Sequence[int], hits: Sequence[Hit]) -> Walked:
        return index.spread(
            asked,
            {hit.chunk.id: max(0.0, hit.score) for hit in hits[: self._settings.seeds]},
            passage_weight=self._settings.passage_weight,
            damping=self._settings.damping,
        )

    def _local(
        self, store: GraphStore, index: GraphIndex, question: str, asked: Sequence[int], hits: Sequence[Hit]
    ) -> Way:
        near = asked or np.argsort(-self._walk(index, (), hits).entities, kind="stable")[:_MET].tolist()
        own = [index.entities[at] for at in near]
        around = store.neighbours(_ids(own), hops=self._settings.hops, limit=_AROUND)
        names = local.names_of(around.entities)
        ranked = local.ranked_relations(question, _ids(own), around, self._reading)
        scores = local.chunk_scores(ranked, self._settings.limit)
        used = [relation for _, relation in ranked if relation.chunk in scores]
        ends = {end for one in used for end in (one.source, one.target)}
        because: dict[str, str] = {}
        for relation in used:
            because.setdefault(relation.chunk, local.said(relation, names).strip())
        return Way(
            scores=scores,
            share=_LESS,
            asked=_ids(own) if asked else (),
            entities=_once([*own, *(entity for entity in around.entities if entity.id in ends)]),
            relations=used,
            because=because,
            why="" if scores else "Nothing around the question's entities speaks of what it asks.",
        )

    def _global(self, store: GraphStore, index: GraphIndex, question: str, watch: Watch) -> Way:
        communities = {one.id: one for one in store.communities() if one.report}
        if not communities:
            return Way(why="The graph has no reports on communities yet: build it again on the Knowledge screen.")
        seen = overview(
            question, list(communities.values()), self._settings.reports, self._engine, self._reading, watch
        )
        held = {id_: index.chunks_of(communities[id_].entities, _OF_A_COMMUNITY) for id_, _ in seen.points}
        texts = {
            chunk.id: stems(chunk.searchable_text)
            for chunk in self._passages.get(list({id_ for ids in held.values() for id_ in ids}))
        }
        scores: dict[str, float] = {}
        because: dict[str, str] = {}
        for community, point in seen.points:
            said = stems(point.text)
            best = max(
                (id_ for id_ in held[community] if id_ in texts),
                key=lambda id_: self._reading.coverage(said, texts[id_]),
                default=None,
            )
            if best is not None and best not in scores:
                scores[best] = point.rating * self._reading.coverage(said, texts[best])
                because[best] = f"The report on {communities[community].title} rests on it: {point.text}"
        reports = list(dict.fromkeys(community for community, _ in seen.points))
        return Way(
            scores=_of_best(scores),
            share=_LESS,
            entities=_once(one for id_ in reports for one in index.named(communities[id_].entities[:_SHOWN_A_CHUNK])),
            because=because,
            said={
                "summary": seen.summary,
                "communities": [{"id": id_, "title": communities[id_].title} for id_ in reports],
            },
            why="" if scores else "No report says anything on the question.",
        )

    def _cypher(self, store: GraphStore, index: GraphIndex, question: str, asked: Sequence[int], watch: Watch) -> Way:
        own = [index.entities[at] for at in asked]
        given = cypher.ask(question, own, store, self._settings.timeout_s, self._engine, self._reading, watch)
        return self._led(store, index, own, given)

    def _led(self, store: GraphStore, index: GraphIndex, own: Sequence[Entity], given: cypher.Asked) -> Way:
        """The chunks that the rows of a query lead to."""
        scores: dict[str, float] = {}
        because: dict[str, str] = {}
        met: list[Entity] = []
        for rank, row in enumerate(given.rows):
            values = [*islice(cypher.texts(row), _VALUES)]
            entities = [index.entities[at] for value in values for at in index.lexicon.of(value)]
            met += entities
            chunks = [value for value in values if index.known(value)] or index.chunks_of(_ids(entities), 1)
            for chunk in chunks:
                scores.setdefault(chunk, 1 / (1 + _FALL * rank))
                because.setdefault(chunk, _short(" · ".join(one for one in values if one and not index.known(one))))
        entities = _once([*own, *met])[:_SHOWN]
        rows = [[*map(_short, row)] for row in given.rows[:_ROWS]]
        said = {"query": given.query, "rows": rows, "tried": list(given.tried)}
        return Way(
            scores=scores,
            share=_LESS,
            asked=_ids(own),
            entities=entities,
            relations=[
                one for one in store.neighbours(_ids(entities), limit=len(entities)).relations if one.chunk in scores
            ]
            if scores
            else [],
            because=because,
            said={**said, "columns": list(given.columns)},
            why=given.why if scores else given.why or "The query found nothing that leads to a chunk.",
        )

    def _fused(self, found: Way, hits: Sequence[Hit], where: SearchFilter) -> list[Hit]:
        """Both lists as one: each chunk has its share of the best score on either side, weighted."""
        weight = self._settings.weight * found.share
        known = {hit.chunk.id: hit for hit in hits}
        further = self._passages.get([id_ for id_ in found.scores if id_ not in known])
        there = [*known.values(), *(Hit(chunk=chunk, score=0.0) for chunk in further if where.admits(chunk))]
        best = max((hit.score for hit in hits), default=0.0) or 1.0
        fused = []
        for hit in there:
            share = found.scores.get(hit.chunk.id)
            score = weight * (share or 0.0) + (1 - weight) * hit.score / best
            scores = hit.scores if share is None else hit.scores | {"graph": round(share, 4)}
            fused.append(hit.model_copy(update={"score": score, "scores": scores}))
        return sorted(fused, key=lambda hit: -hit.score)


def _told(found: Way, hits: Sequence[Hit]) -> GraphFound:
    """What a way brought, cut down to what explains these hits."""
    shown = {hit.chunk.id for hit in hits}
    mentions = tuple((entity, chunk) for entity, chunk in found.mentions if chunk in shown)
    relations = found.relations[:_SHOWN]
    drawn = {entity for entity, _ in mentions} | {end for one in relations for end in (one.source, one.target)}
    first = sorted(found.entities, key=lambda one: one.id not in drawn and one.id not in found.asked)
    return GraphFound(
        hits=tuple(hits),
        entities=tuple({"id": one.id, "name": one.name} for one in first[: max(_SHOWN, len(drawn))]),
        asked=found.asked,
        relations=tuple(map(_drawn, relations)),
        mentions=mentions,
        because={chunk: why for chunk, why in found.because.items() if chunk in shown},
        said=found.said,
        why=found.why,
    )


def _together(ways: Sequence[Way]) -> Way:
    """The ways through several graphs as one; what one of them says of itself is kept where all do."""
    if len(ways) == 1:
        return ways[0]
    went = [way for way in ways if way.scores] or ways[:1]
    scores: dict[str, float] = {}
    because: dict[str, str] = {}
    for way in went:
        scores |= way.scores
        because |= way.because
    return Way(
        scores=scores,
        share=max(way.share for way in went),
        asked=tuple(id_ for way in went for id_ in way.asked),
        entities=_once(entity for way in went for entity in way.entities),
        relations=[relation for way in went for relation in way.relations],
        mentions=[mention for way in went for mention in way.mentions],
        because=because,
        said=went[0].said if len(went) == 1 else {"graphs": [way.said for way in went if way.said]},
        why=" ".join(dict.fromkeys(way.why for way in went if way.why)),
    )


def _chains(store: GraphStore, index: GraphIndex, question: str, asked: Sequence[int]) -> bool:
    """Whether the graph has relations one after another as the question tells of them."""
    own = [(index.entities[at].id, index.entities[at].name) for at in asked[:_MOST_NAMED]]
    return bool(_first_that_finds(store, cypher.chaining(question, own), _CHAIN_S))


def _first_that_finds(store: GraphStore, queries: Iterable[str], timeout_s: float) -> str:
    """The first of these queries that has a row; empty where none has."""
    for query in queries:
        try:
            if store.cypher(query, limit=1, timeout_s=timeout_s).rows:
                return query
        except QueryRefused:  # it took too long: the next one is smaller
            continue
    return ""


def _came_by(met: Sequence[Entity], asked: Sequence[Entity]) -> str:
    """Why the walk came to a chunk, by what it mentions."""
    own = {entity.id for entity in asked}
    named = ", ".join(entity.name for entity in met if entity.id in own)
    others = ", ".join(entity.name for entity in met if entity.id not in own)
    parts = [f"the question names {named}" if named else "", f"the walk came by {others}" if others else ""]
    return f"It is there because {' and '.join(filter(None, parts))}."


def _short(value: Any) -> Any:
    """The value, or the beginning of it as text where it is long."""
    text = str(value)
    return value if len(text) <= _CHARS else f"{text[:_CHARS]}…"


def _of_best(scores: Mapping[str, float]) -> dict[str, float]:
    best = max(scores.values(), default=0) or 1
    return {id_: score / best for id_, score in scores.items() if score > 0}


def _ids(entities: Iterable[Entity]) -> tuple[str, ...]:
    return tuple(entity.id for entity in entities)


def _once(entities: Iterable[Entity]) -> list[Entity]:
    return list({entity.id: entity for entity in entities}.values())


def _drawn(relation: Relation) -> dict[str, str]:
    return {"source": relation.source, "target": relation.target, "name": relation.name, "chunk": relation.chunk}


GRAPH = Technique(
    name="graph",
    label="knowledge graph",
    group="retrieve",
    summary="Goes from the question along entities and relations to the chunks that answer it.",
    settings=GraphSettings,
    verb=Graph.retrieve,
    signatures=(EXTRACT, REPORT, MAP, REDUCE, cypher.WRITE, cypher.REPAIR),
)
