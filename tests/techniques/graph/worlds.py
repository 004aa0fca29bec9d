"""Small collections with a graph."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from rag_core.llm.engine import Engine, KeylessEngine
from rag_core.llm.reading.reading import Reading
from rag_core.stores.graph.embedded import EmbeddedGraph
from rag_core.stores.graph.facts import GraphStore
from rag_core.techniques.graph.communities import Reporter
from rag_core.techniques.graph.extraction import Extractor
from rag_core.techniques.graph.technique import Graph, GraphFound, GraphSettings
from rag_core.types import Chunk, Hit, SearchFilter
from tests.fakes import Watch, WordVectors, a_chunk

READING = Reading(WordVectors())
DEAL = a_chunk(
    "On 3 August InnovateCorp announced an agreement to acquire all shares of DataWeave Inc., a maker of software.",
    id_="deal",
    document="report",
    page=8,
)
LAUNCH = a_chunk(
    "DataWeave, an InnovateCorp company, today launched QuantumLeap Analytics in Cambridge.",
    id_="launch",
    document="press",
)
LEDGER = a_chunk("The Ledgerline suite was written by Tomás Herrera for Halcyon Bank.", id_="ledger", document="press")
NEWS = (DEAL, LAUNCH, LEDGER)
QUESTION = "What new product was launched by the company that InnovateCorp acquired?"


class There:
    """Chunks by id."""

    def __init__(self, chunks: Sequence[Chunk]) -> None:
        self.chunks = {chunk.id: chunk for chunk in chunks}

    def get(self, ids: Sequence[str]) -> list[Chunk]:
        return [self.chunks[id_] for id_ in ids if id_ in self.chunks]


def a_graph(folder: Path, chunks: Sequence[Chunk] = NEWS, *, reports: bool = False) -> GraphStore:
    """The graph of these chunks, read without a model."""
    graph = EmbeddedGraph(folder / "graph.lbug")
    extractor = Extractor(KeylessEngine(), READING, Watch())
    for document in dict.fromkeys(chunk.document for chunk in chunks):
        graph.replace(document, [extractor.extract(chunk) for chunk in chunks if chunk.document == document])
    if reports:
        graph.save_communities(list(Reporter(KeylessEngine(), READING, Watch()).communities(graph)))
    return graph


def found(
    graph: GraphStore | None,
    question: str = QUESTION,
    *,
    chunks: Sequence[Chunk] = NEWS,
    hits: Sequence[Hit] = (),
    where: SearchFilter | None = None,
    engine: Engine | None = None,
    **settings: object,
) -> GraphFound:
    """What the technique makes of a question."""
    made = GraphSettings.model_validate(settings)
    technique = Graph(made, lambda: [graph] if graph else [], There(chunks), engine or KeylessEngine(), READING)
    return technique.retrieve(question, hits, where or SearchFilter(), Watch())
