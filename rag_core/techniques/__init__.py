"""The techniques, by name. A new one is its file, its test and one line here."""

from typing import Any

from rag_core.llm.signature import Signature
from rag_core.techniques.agent import AGENT
from rag_core.techniques.answer import ANSWER_TECHNIQUE
from rag_core.techniques.auto import AUTO_TECHNIQUE
from rag_core.techniques.base import Technique
from rag_core.techniques.crag import CRAG
from rag_core.techniques.describe import DESCRIBE
from rag_core.techniques.expand import EXPAND_TECHNIQUE
from rag_core.techniques.gate import GATE_TECHNIQUE
from rag_core.techniques.graph.technique import GRAPH
from rag_core.techniques.heal import HEAL_TECHNIQUE
from rag_core.techniques.hybrid import HYBRID
from rag_core.techniques.hyde import HYDE_TECHNIQUE
from rag_core.techniques.memory import MEMORY_TECHNIQUE
from rag_core.techniques.multi_hop import MULTI_HOP
from rag_core.techniques.multimodal import MULTIMODAL
from rag_core.techniques.raptor import RAPTOR
from rag_core.techniques.references import REFERENCES
from rag_core.techniques.rerank import RERANK_TECHNIQUE
from rag_core.techniques.rewrite import REWRITE_TECHNIQUE
from rag_core.techniques.route import ROUTE_TECHNIQUE
from rag_core.techniques.scan import SCAN
from rag_core.techniques.self_correct import SELF_CORRECT
from rag_core.techniques.self_rag import SELF_RAG
from rag_core.techniques.sub_queries import SUB_QUERIES
from rag_core.techniques.validate import VALIDATE

TECHNIQUES: dict[str, Technique] = {
    technique.name: technique
    for technique in (
        AUTO_TECHNIQUE,
        REWRITE_TECHNIQUE,
        GATE_TECHNIQUE,
        ROUTE_TECHNIQUE,
        SCAN,
        REFERENCES,
        HYBRID,
        EXPAND_TECHNIQUE,
        HYDE_TECHNIQUE,
        RAPTOR,
        RERANK_TECHNIQUE,
        GRAPH,
        AGENT,
        MULTI_HOP,
        SUB_QUERIES,
        MEMORY_TECHNIQUE,
        MULTIMODAL,
        CRAG,
        SELF_RAG,
        ANSWER_TECHNIQUE,
        SELF_CORRECT,
        VALIDATE,
        HEAL_TECHNIQUE,
    )
}

SIGNATURES: tuple[Signature[Any, Any], ...] = (
    *(signature for technique in TECHNIQUES.values() for signature in technique.signatures),
    DESCRIBE,
)
"""Everything that an engine is asked, at questions and at indexing."""
