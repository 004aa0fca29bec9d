"""What the steps of one run work with."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from rag_core.llm.engine import Watch
from rag_core.pipeline.state import RunState
from rag_core.techniques.agent import Agent
from rag_core.techniques.answer import Answer
from rag_core.techniques.base import Catalogue, Embedder, Listed
from rag_core.techniques.crag import Crag
from rag_core.techniques.expand import Expand
from rag_core.techniques.gate import Gate
from rag_core.techniques.graph.technique import Graph
from rag_core.techniques.heal import Heal
from rag_core.techniques.hybrid import Hybrid
from rag_core.techniques.hyde import Hyde
from rag_core.techniques.memory import Memory
from rag_core.techniques.multi_hop import MultiHop
from rag_core.techniques.multimodal import Multimodal
from rag_core.techniques.raptor.retrieving import Raptor
from rag_core.techniques.references import References
from rag_core.techniques.rerank import Rerank
from rag_core.techniques.rewrite import Rewrite
from rag_core.techniques.scan import Scan
from rag_core.techniques.self_correct import SelfCorrect
from rag_core.techniques.self_rag import SelfRag
from rag_core.techniques.sub_queries import SubQueries
from rag_core.techniques.validate import Validate
from rag_core.trace import Tracer


@dataclass(frozen=True)
class Tools:
    """The techniques of a run, wired for its plan. None is off."""

    tracer: Tracer
    watch: Watch
    catalogue: Catalogue
    embedder: Embedder
    rewrite: Rewrite | None
    gate: Gate | None
    scan: Scan
    hybrid: Hybrid
    references: References | None
    expand: Expand | None
    hyde: Hyde | None
    raptor: Raptor | None
    rerank: Rerank | None
    graph: Graph | None
    agent: Agent | None
    traversal: Graph | None  # the graph as a tool of the agent
    multi_hop: MultiHop | None
    sub_queries: SubQueries | None
    memory: Memory | None
    multimodal: Multimodal | None
    crag: Crag | None
    self_rag: SelfRag | None
    answer: Answer
    self_correct: SelfCorrect | None
    validate: Validate
    heal: Heal | None

    def searched(self, state: RunState) -> list[Listed]:
        """The documents that the question is asked of."""
        wanted = state.where.documents
        return [one for one in self.catalogue.documents() if one.id in wanted or not wanted]


Step = Callable[[RunState, Tools], RunState]
