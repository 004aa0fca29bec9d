"""Self-RAG: the answer grows segment by segment, each judged by reflection tokens, and only what is held may stay.

    [Retrieve]  after a segment: whether it needs new evidence (yes), the same (continue) or nothing more (no)
    [ISREL]     for each chunk: relevant or irrelevant; irrelevant ones are left out
    [ISSUP]     for each sentence and chunk: fully, partially or not supported
    [ISUSE]     for the answer: useful from 1 to 5

Each relevant chunk gives one candidate for the next segment; a beam keeps the answers whose segments score best. A
model writes the tokens into its reply, a Self-RAG model of itself, any other because it is asked to; their
probabilities are those of the endpoint's log-probabilities, else 1 for the token that stands there. What a reply
leaves out, and everything where there is no model, is judged by the trained critic. Costs a model call a candidate:
`passages` for the first segment, up to `beam_width` times the relevant ones for each further; then one a chunk for the
matrix of sentences and chunks, and one for the use.

    settings    what a segment must be worth, and who judges it
    tokens      reflection tokens, and what a reply says with them
    segment     writing the next segment
    judge       who judges: the reply, else the trained critic
    beam        what a segment is worth, whether it may stay, which answers are kept
    matrix      every sentence against every chunk, and the use of the answer
    reflection  what was written and judged
    technique   the class with its verb

Source: Asai et al. 2023, "Self-RAG", https://arxiv.org/abs/2310.11511
"""

from rag_core.techniques.base import Technique
from rag_core.techniques.self_rag.beam import grown, segment_score
from rag_core.techniques.self_rag.matrix import SUPPORT, USE, read_support
from rag_core.techniques.self_rag.reflection import Critique, Isrel, Issup, Path, Reflection, Segment
from rag_core.techniques.self_rag.segment import NATIVE_SEGMENT, SEGMENT, read_segment
from rag_core.techniques.self_rag.settings import SelfRagSettings
from rag_core.techniques.self_rag.technique import SelfRag

__all__ = [
    "SELF_RAG",
    "Critique",
    "Isrel",
    "Issup",
    "Path",
    "Reflection",
    "Segment",
    "SelfRag",
    "SelfRagSettings",
    "grown",
    "read_segment",
    "read_support",
    "segment_score",
]

SELF_RAG = Technique(
    name="self_rag",
    label="Self-RAG",
    group="answer",
    summary="Writes the answer segment by segment, judges each, and keeps only what is held.",
    settings=SelfRagSettings,
    verb=SelfRag.extend,
    signatures=(SEGMENT, NATIVE_SEGMENT, SUPPORT, USE),
)
