"""The techniques, by name. A new one is its file, its test and one line here."""

from rag_core.techniques.answer import ANSWER_TECHNIQUE
from rag_core.techniques.auto import AUTO_TECHNIQUE
from rag_core.techniques.base import Technique
from rag_core.techniques.expand import EXPAND_TECHNIQUE
from rag_core.techniques.gate import GATE_TECHNIQUE
from rag_core.techniques.hybrid import HYBRID
from rag_core.techniques.hyde import HYDE_TECHNIQUE
from rag_core.techniques.multi_hop import MULTI_HOP
from rag_core.techniques.multimodal import MULTIMODAL
from rag_core.techniques.references import REFERENCES
from rag_core.techniques.rerank import RERANK_TECHNIQUE
from rag_core.techniques.rewrite import REWRITE_TECHNIQUE
from rag_core.techniques.scan import SCAN
from rag_core.techniques.sub_queries import SUB_QUERIES
from rag_core.techniques.validate import VALIDATE

TECHNIQUES: dict[str, Technique] = {
    technique.name: technique
    for technique in (
        AUTO_TECHNIQUE,
        REWRITE_TECHNIQUE,
        GATE_TECHNIQUE,
        SCAN,
        REFERENCES,
        HYBRID,
        EXPAND_TECHNIQUE,
        HYDE_TECHNIQUE,
        RERANK_TECHNIQUE,
        MULTI_HOP,
        SUB_QUERIES,
        MULTIMODAL,
        ANSWER_TECHNIQUE,
        VALIDATE,
    )
}
