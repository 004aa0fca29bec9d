"""A collection with a few shelves, to ask questions of."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from rag_core.llm.engine import Engine, KeylessEngine
from rag_core.llm.reading.reading import Reading
from rag_core.pipeline.plan import PRESETS, Plan
from rag_core.pipeline.run import Run
from rag_core.pipeline.runner import Collaborators, Request, run
from rag_core.stores.graph.facts import GraphStore
from rag_core.techniques.raptor.retrieving import Summaries
from rag_core.types import Chunk, Hit
from tests.fakes import Documents, WordVectors, a_hit

BARE = PRESETS["simple"].off("validate")
QUESTION = "In which town was the director of Silent Harbour born?"
FILM = a_hit("Silent Harbour is a 1950 drama film. It was directed by Anton Vesely.", id_="film")
TOWN = a_hit("Anton Vesely was a film director born in Kolin.", id_="town")
ELSE = a_hit("Nothing of this is of any use.", id_="else")


class Library:
    """A collection that finds what stands on the first shelf whose name is in the query.

    Searches for anything but the whole question wait for each other at `parts`.
    """

    def __init__(
        self,
        shelves: Mapping[str, Sequence[Hit] | Exception],
        parts: threading.Barrier | None = None,
        whole: str = QUESTION,
    ) -> None:
        self.shelves = shelves
        self.parts = parts
        self.whole = whole
        self.asked: list[str] = []

    def hybrid(self, query: str, vector: object, **_: object) -> list[Hit]:
        self.asked.append(query)
        if self.parts and query != self.whole:
            self.parts.wait(60)
        found = next((hits for word, hits in self.shelves.items() if word in query), [ELSE])
        if isinstance(found, Exception):
            raise found
        return list(found)

    def document(self, document: str) -> Iterator[Chunk]:
        return iter([FILM.chunk, TOWN.chunk])


class There:
    """Chunks by id."""

    def __init__(self, chunks: Mapping[str, Chunk]) -> None:
        self.chunks = chunks

    def get(self, ids: Sequence[str]) -> list[Chunk]:
        return [self.chunks[id_] for id_ in ids if id_ in self.chunks]


def ask(
    question: str,
    plan: Plan,
    library: Library,
    engine: Engine | None = None,
    *,
    graphs: Sequence[GraphStore] = (),
    there: Mapping[str, Chunk] | None = None,
    summaries: Summaries | None = None,
    **how: Any,
) -> Run:
    with_ = Collaborators(
        library,
        Documents(),
        WordVectors(),
        Reading(WordVectors()),
        engine or KeylessEngine(),
        passages=There(there or {}),
        graphs=lambda: graphs,
        summaries=summaries,
    )
    return run(Request(question=question, plan=plan, collection="Films"), with_, **how)


def spans(told: Run, name: str) -> list[dict]:
    return [span.attributes for span in told.spans if span.name == name]
