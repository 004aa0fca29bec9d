"""Communities: entities that have more to do with each other than with others, and a report on each.

Leiden makes them, level by level from the coarsest; a model writes the reports, or the central sentences of their
relations are taken. What has not changed keeps its id and its report, so that an update pays only for what it touched.

Sources: Traag et al. 2019, "From Louvain to Leiden", https://doi.org/10.1038/s41598-019-41695-z; Nenkova and
Vanderwende 2005, "The Impact of Frequency on Summarization" (SumBasic), for reports without a model.
"""

from __future__ import annotations

import hashlib
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np
from graspologic_native import hierarchical_leiden  # pyright: ignore[reportAttributeAccessIssue]  # no types
from pydantic import BaseModel, Field

from rag_core.errors import Stopped
from rag_core.llm.engine import Engine, KeylessEngine, Watch
from rag_core.llm.quoting import without_tags
from rag_core.llm.reading.reading import Reading
from rag_core.llm.reading.words import stems
from rag_core.llm.signature import Signature
from rag_core.stores.graph.facts import Community, Edges, GraphStore, Subgraph
from rag_core.techniques.graph.local import names_of, said

_LARGEST = 60
"""Entities of a community that is not taken apart any further; a report on more says nothing of each."""
_LEAST = 3
"""Entities that a report is worth."""
_SEED = 42
_SENTENCES, _LEAST_WORDS = 4, 6
_TITLE = 3
_REPORT_CHARS = 8_000


class ReportInput(BaseModel):
    entities: list[str] = Field(description="The most connected first.")
    evidence: list[str] = Field(description="What passages say of their relations.")
    quoted: str = Field(description="Both, as the model reads them.")


class ReportOutput(BaseModel):
    title: str = Field(min_length=1, description="What the entities have in common: a few words with their names.")
    report: str = Field(min_length=1, description="What matters about them and how they stand to each other.")


def report_of_central_sentences(inputs: ReportInput, _: Reading) -> ReportOutput:
    """The sentences with the words that most of the others have too; each counts less once it was said."""
    report = " ".join(_central(inputs.evidence, _SENTENCES))
    return ReportOutput(title=", ".join(inputs.entities[:_TITLE]), report=report or ", ".join(inputs.entities))


def _central(sentences: Sequence[str], most: int) -> list[str]:
    """So many sentences in their order, chosen as SumBasic does."""
    said_in = {sentence: stems(sentence) for sentence in dict.fromkeys(sentences)}
    counted = Counter(stem for found in said_in.values() for stem in set(found))
    weights = {stem: count / max(1, counted.total()) for stem, count in counted.items()}
    chosen: list[str] = []
    left = {sentence: found for sentence, found in said_in.items() if len(found) >= _LEAST_WORDS} or said_in.copy()

    def worth(sentence: str) -> float:
        return sum(weights[stem] for stem in left[sentence]) / max(1, len(left[sentence]))

    while left and len(chosen) < most:
        best = max(left, key=worth)
        chosen.append(best)
        for stem in set(left.pop(best)):
            weights[stem] **= 2
    return [sentence for sentence in said_in if sentence in chosen]


REPORT = Signature(
    name="graph.report",
    inputs=ReportInput,
    outputs=ReportOutput,
    prompt="""\
Write a report of at most 150 words on a group of entities: what they are, how they are related, and what matters about
them. Use only what is said here. Keep names and numbers as they stand.

<passage>
{quoted}
</passage>
""",
    keyless=report_of_central_sentences,
)


def communities_of(edges: Edges, largest: int = _LARGEST) -> list[Community]:
    """The communities of a graph at every level, the coarsest first, without titles and reports.

    The same graph has the same ones with the same ids; entities that nothing relates to others belong to none.

    Args:
        largest: Entities of a community that is not taken apart any further, where it can be.
    """
    sources, targets, weights = edges.related
    if not len(sources):
        return []
    pairs = [(str(i), str(j), float(w)) for i, j, w in zip(sources, targets, weights, strict=True)]
    found = hierarchical_leiden(pairs, max_cluster_size=largest, seed=_SEED)
    inside: defaultdict[tuple[int, int], list[int]] = defaultdict(list)
    parents: dict[tuple[int, int], int | None] = {}
    for one in found:
        inside[one.level, one.cluster].append(int(one.node))
        parents[one.level, one.cluster] = one.parent_cluster
    degree = np.zeros(len(edges.entities))
    np.add.at(degree, sources, weights)
    np.add.at(degree, targets, weights)
    ids = {
        key: _community_id(key[0], sorted(edges.entities[at] for at in members), float(degree[members].sum()))
        for key, members in inside.items()
    }
    return [
        Community(
            id=ids[key],
            level=key[0],
            parent=ids.get((key[0] - 1, parent)) if (parent := parents[key]) is not None else None,
            entities=tuple(edges.entities[at] for at in sorted(members, key=lambda at: (-degree[at], at))),
            rank=float(degree[members].sum()),
        )
        for key, members in sorted(inside.items())
    ]


def _community_id(level: int, entities: Sequence[str], weight: float) -> str:
    return hashlib.sha256("\n".join([f"{level} {weight:.3f}", *entities]).encode()).hexdigest()[:32]


class Reporter:
    """Writes the reports."""

    def __init__(self, engine: Engine, reading: Reading, watch: Watch) -> None:
        self._engine = engine
        self._reading = reading
        self._watch = watch

    def communities(self, store: GraphStore) -> Iterator[Community]:
        """The communities of a graph with their reports: as far as they are there first, then the coarsest first.

        One that is as before keeps its report; one that another engine wrote comes once more, written anew, where there
        is a model now.

        Raises:
            GraphError: The store is out.
            Stopped: The work was stopped meanwhile.
        """
        any_will_do = self._engine.name == KeylessEngine.name
        before = {one.id: one for one in store.communities() if one.report}
        todo: list[Community] = []
        for community in communities_of(store.edges()):
            if known := before.get(community.id):
                yield known
                due = not any_will_do and known.made_by != self._engine.name
            elif not (due := len(community.entities) >= _LEAST):
                yield community
            if due:
                todo.append(community)
        for community in todo:
            if self._watch.stopped():
                raise Stopped("The work on the graph was stopped.")
            yield self._reported(community, store.neighbours(community.entities, limit=len(community.entities)))

    def _reported(self, community: Community, around: Subgraph) -> Community:
        names = names_of(around.entities)
        order = {id_: at for at, id_ in enumerate(community.entities)}
        relations = sorted(around.relations, key=lambda one: order.get(one.source, len(order)))
        entities = [names[id_] for id_ in community.entities if id_ in names]
        evidence = list(dict.fromkeys(one.description or said(one, names).strip() for one in relations))
        asked = ReportInput(
            entities=entities,
            evidence=evidence,
            quoted=without_tags("\n".join([", ".join(entities), *evidence]))[:_REPORT_CHARS],
        )
        made = self._engine.complete(REPORT, asked, self._reading, self._watch)
        return replace(community, title=made.title, report=made.report, made_by=self._engine.name)
