"""Writing the next segment: what a model, or a Self-RAG model of itself, is asked, and how its reply is read."""

from __future__ import annotations

from pydantic import BaseModel, Field

from rag_core.llm.likelihood import Scored
from rag_core.llm.reading.reading import Reading
from rag_core.llm.reading.words import stems
from rag_core.llm.signature import ReplyError, Signature
from rag_core.techniques.self_rag.tokens import ISREL, ISSUP, ISUSE, RETRIEVE, Shares, mark_of, without_tokens

_LEAST_GAIN = 0.08
"""Without a model: the share of the question that a further segment must add."""


class SegmentInput(BaseModel):
    question: str
    written: str = Field(description="The answer as far as it is written.")
    passage: str = Field(description="The evidence as the model reads it.")
    paragraph: str = Field(description="The same as a Self-RAG model reads it.")
    statements: list[str] = Field(description="What can be quoted of it.")


class SegmentOutput(BaseModel):
    """The segment and its reflection tokens."""

    text: str
    isrel: Shares = {}
    issup: Shares = {}
    isuse: Shares = {}
    retrieve: Shares = {}


def read_segment(reply: Scored) -> SegmentOutput:
    """Read a segment and its reflection tokens: `[Relevant] text [Fully supported] [Utility:5] [No Retrieval]`.

    Of a reply with several segments it is the first.
    """
    isrel = mark_of(reply, ISREL)
    begin = isrel.end if isrel else 0
    issup = mark_of(reply, ISSUP, begin)
    end = issup.start if issup else len(reply.text)
    isuse = mark_of(reply, ISUSE, begin)
    retrieve = mark_of(reply, RETRIEVE, issup.end if issup else begin)
    # A token between the words ends the segment too, where no judgement of its support does.
    ends = [mark.start for mark in (isuse, retrieve) if mark and reply.text[begin : mark.start].strip()]
    text = without_tokens(reply.text[begin : min([end, *ends])])
    if not isrel and not issup:
        raise ReplyError("it has no [Relevant] and no [Fully supported]")
    if not text and not (isrel and isrel.shares["irrelevant"] > isrel.shares["relevant"]):
        raise ReplyError("it has no segment")
    return SegmentOutput(
        text=text,
        isrel=isrel.shares if isrel else {},
        issup=issup.shares if issup else {},
        isuse=isuse.shares if isuse else {},
        retrieve=retrieve.shares if retrieve else {},
    )


def segment_by_quoting(inputs: SegmentInput, reading: Reading) -> SegmentOutput:
    """The statement that is closest to the question and, after the first segment, says more of it; else nothing."""
    asked, held = stems(inputs.question), stems(inputs.written)
    new = [text for text in inputs.statements if text not in inputs.written]
    covered = reading.coverage(asked, held)
    gains = {text: reading.coverage(asked, [*held, *stems(text)]) - covered for text in new}
    if held:
        new = [text for text in new if gains[text] >= _LEAST_GAIN]
    closeness = reading.closeness(inputs.question, new)
    worth = {text: gains[text] + float(close) for text, close in zip(new, closeness, strict=True)}
    return SegmentOutput(text=max(worth, key=worth.__getitem__, default=""))


SEGMENT = Signature(
    name="self_rag.segment",
    inputs=SegmentInput,
    outputs=SegmentOutput,
    prompt="""\
Go on with an answer: write its next one or two sentences from the passage alone, with reflection tokens around them,
in exactly this form:
[Relevant] the sentences [Fully supported] [Utility:5] [No Retrieval]

First token: [Relevant], or [Irrelevant] where the passage does not help to answer the question; then write no more.
After the sentences: [Fully supported], [Partially supported] or [No support], by what the passage says of them;
[Utility:1] to [Utility:5], by how well the answer with them serves the one who asks; and what comes next:
[No Retrieval] the answer is whole, [Continue to Use Evidence] these passages may say more, [Retrieval] it needs others.
Keep names, numbers and units as they stand. Do not repeat what is written already.

Question: {question}
Written already:
<passage>
{written}
</passage>

{passage}
""",
    keyless=segment_by_quoting,
    read_scored=read_segment,
    max_tokens=400,
)

NATIVE_SEGMENT = Signature(
    name="self_rag.native",
    inputs=SegmentInput,
    outputs=SegmentOutput,
    prompt="""\
### Instruction:
{question}

### Response:
{written}[Retrieval]<paragraph>{paragraph}</paragraph>""",
    keyless=segment_by_quoting,
    read_scored=read_segment,
    max_tokens=400,
)
