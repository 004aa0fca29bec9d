"""The techniques, by name. A new one is its file, its test and one line here."""

from rag_core.techniques.answer import ANSWER_TECHNIQUE
from rag_core.techniques.base import Technique
from rag_core.techniques.hybrid import HYBRID
from rag_core.techniques.multimodal import MULTIMODAL
from rag_core.techniques.references import REFERENCES
from rag_core.techniques.scan import SCAN
from rag_core.techniques.validate import VALIDATE

TECHNIQUES: dict[str, Technique] = {
    technique.name: technique for technique in (SCAN, REFERENCES, HYBRID, MULTIMODAL, ANSWER_TECHNIQUE, VALIDATE)
}
