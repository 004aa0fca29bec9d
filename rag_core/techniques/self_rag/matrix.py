"""The matrix: every sentence of an answer held against every chunk, and how useful the answer is."""

from __future__ import annotations

import re
from collections.abc import Sequence

from pydantic import BaseModel, Field

from rag_core.errors import RagError
from rag_core.fan_out import fan_out
from rag_core.llm.engine import Engine, Watch
from rag_core.llm.likelihood import Scored
from rag_core.llm.quoting import quoted, without_tags
from rag_core.llm.reading.reading import Reading
from rag_core.llm.reading.sentences import sentences
from rag_core.llm.signature import ReplyError, Signature
from rag_core.techniques.self_rag.judge import Judge
from rag_core.techniques.self_rag.reflection import Critique, Isrel, Issup, Reflection
from rag_core.techniques.self_rag.settings import AT_ONCE
from rag_core.techniques.self_rag.tokens import ISREL, ISSUP, ISUSE, Shares, mark_of, spoilt
from rag_core.types import Chunk, Sentence


class SupportInput(BaseModel):
    question: str
    statements: str = Field(description="The sentences of the answer, numbered from 1.")
    passage: str = Field(description="The evidence as the model reads it.")


class SupportOutput(BaseModel):
    """What was judged of one passage."""

    isrel: Shares = {}
    issup: dict[int, Shares] = Field(default={}, description="By the number of the sentence, from 1.")


def read_support(reply: Scored) -> SupportOutput:
    """Read `[Relevant]` and then a line a sentence: `2 [Partially supported]`."""
    isrel = mark_of(reply, ISREL)
    if isrel is None:
        raise ReplyError("it has no [Relevant] and no [Irrelevant]")
    issup: dict[int, Shares] = {}
    for line in re.finditer(r"^\W{0,3}(\d+)\b[^\[\n]*(?=\[)", reply.text, re.MULTILINE):
        if (mark := mark_of(reply, ISSUP, line.end())) and mark.start == line.end():
            issup[int(line[1])] = mark.shares
    return SupportOutput(isrel=isrel.shares, issup=issup)


def nothing_judged(_inputs: SupportInput, _reading: Reading) -> SupportOutput:
    """What is not judged here is judged by the trained critic."""
    return SupportOutput()


SUPPORT = Signature(
    name="self_rag.support",
    inputs=SupportInput,
    outputs=SupportOutput,
    prompt="""\
Judge a passage. On the first line: [Relevant] or [Irrelevant], whether it helps to answer the question.
Then a line for each sentence with its number and how far the passage, and nothing else, holds it:
1 [Fully supported] | [Partially supported] | [No support] | [Contradictory]

Question: {question}
{statements}

{passage}
""",
    keyless=nothing_judged,
    read_scored=read_support,
    max_tokens=400,
)


class UseInput(BaseModel):
    question: str
    answer: str


class UseOutput(BaseModel):
    isuse: Shares = {}


def read_use(reply: Scored) -> UseOutput:
    """Read `[Utility:4]`."""
    mark = mark_of(reply, ISUSE)
    if mark is None:
        raise ReplyError("it has no [Utility:1] to [Utility:5]")
    return UseOutput(isuse=mark.shares)


def no_use_judged(_inputs: UseInput, _reading: Reading) -> UseOutput:
    """What is not judged here is judged by the trained critic."""
    return UseOutput()


USE = Signature(
    name="self_rag.use",
    inputs=UseInput,
    outputs=UseOutput,
    prompt="""\
How useful is the answer to the one who asks? Reply with one token, from [Utility:1], no use at all, to [Utility:5],
complete and to the point.

Question: {question}
Answer:
<passage>
{answer}
</passage>
""",
    keyless=no_use_judged,
    read_scored=read_use,
    max_tokens=200,
)


class Matrix:
    """Holds answers against their evidence."""

    def __init__(self, judge: Judge, engine: Engine, reading: Reading) -> None:
        self._judge = judge
        self._engine = engine
        self._reading = reading

    def critique(
        self,
        question: str,
        answer: Sequence[Sentence],
        chunks: Sequence[Chunk],
        watch: Watch,
        written: Reflection | None = None,
    ) -> Critique:
        """As `SelfRag.critique` says; a sentence that code computed keeps its support."""
        texts = [sentence.text for sentence in answer]
        isrel, matrix = self._matrix(question, texts, chunks, written, watch)
        supported = [
            sentence if sentence.cells or sentence.computed else self._supported(question, sentence, row, chunks)
            for sentence, row in zip(answer, matrix, strict=True)
        ]
        return Critique(
            critic=self._judge.name,
            sentences=tuple(supported),
            isrel=tuple(isrel),
            issup=tuple(matrix),
            isuse=self._use(question, " ".join(texts), watch),
        )

    def _matrix(
        self,
        question: str,
        texts: Sequence[str],
        chunks: Sequence[Chunk],
        written: Reflection | None,
        watch: Watch,
    ) -> tuple[list[Isrel], list[tuple[Issup, ...]]]:
        """The chunks' relevance, and for each sentence its cells; what nobody else judged the trained critic does."""
        isrel, cells = _judged_before(written)
        if self._judge.name == "model" and texts:
            said = self._said(question, texts, chunks, watch)
            isrel, cells = said[0] | isrel, said[1] | cells
        isrel |= self._judge.relevance(question, [chunk for chunk in chunks if chunk.id not in isrel])
        left = [chunk for chunk in chunks if any((text, chunk.id) not in cells for text in texts)]
        if left:
            for text, row in zip(texts, self._judge.support(question, texts, left), strict=True):
                for cell in row:
                    cells.setdefault((text, cell.chunk), cell)
        rows = [tuple(cells[text, chunk.id] for chunk in chunks) for text in texts]
        return [isrel[chunk.id] for chunk in chunks], rows

    def _said(
        self, question: str, texts: Sequence[str], chunks: Sequence[Chunk], watch: Watch
    ) -> tuple[dict[str, Isrel], dict[tuple[str, str], Issup]]:
        """What the model says of chunks, by id, and of sentences and chunks; what it leaves out is not there."""
        numbered = "\n".join(f"{number} {without_tags(spoilt(text))}" for number, text in enumerate(texts, start=1))
        replies = fan_out(
            lambda chunk: self._engine.complete(
                SUPPORT,
                SupportInput(question=question, statements=numbered, passage=quoted(spoilt(chunk.searchable_text))),
                self._reading,
                watch,
            ),
            chunks,
            at_once=AT_ONCE,
        )
        isrel: dict[str, Isrel] = {}
        cells: dict[tuple[str, str], Issup] = {}
        for chunk, reply in zip(chunks, replies, strict=True):
            if isinstance(reply, RagError):
                continue
            if one := self._judge.isrel(chunk, reply.isrel):
                isrel[chunk.id] = one
            for number, text in enumerate(texts, start=1):
                if cell := self._judge.issup(chunk.id, reply.issup.get(number, {})):
                    cells.setdefault((text, chunk.id), cell)
        return isrel, cells

    def _supported(self, question: str, sentence: Sentence, row: Sequence[Issup], chunks: Sequence[Chunk]) -> Sentence:
        """The sentence with its support: that of its best chunk, or of all together, unless one says otherwise."""
        ranked = sorted(row, key=lambda cell: -cell.probability)
        if not ranked:
            return sentence.model_copy(update={"support": "no_support", "probability": 0.0})
        support, probability = ranked[0].support, ranked[0].probability
        if ranked[0].by == "trained":
            # A sentence that joins what two chunks say is held by neither alone.
            together = self._judge.critic.answer_support(
                sentence.text, [chunk.searchable_text for chunk in chunks], question
            )
            probability = max(probability, together.supported)
            support = self._judge.critic.to_support(probability)
        if max(cell.contradicted for cell in row) > probability:
            support = "no_support"
        holding = [cell.chunk for cell in ranked if cell.support != "no_support"]
        return sentence.model_copy(
            update={
                "support": support,
                "probability": probability,
                "citations": tuple(dict.fromkeys(holding)) or sentence.citations,
            }
        )

    def _use(self, question: str, answer: str, watch: Watch) -> tuple[float, ...]:
        if self._judge.name == "trained":
            return self._judge.isuse(question, answer, {})
        asked = UseInput(question=question, answer=without_tags(spoilt(answer)))
        reply = self._engine.complete(USE, asked, self._reading, watch)
        return self._judge.isuse(question, answer, reply.isuse)


def _judged_before(written: Reflection | None) -> tuple[dict[str, Isrel], dict[tuple[str, str], Issup]]:
    """What was judged while an answer was written: chunks, and sentences that are a segment of their own."""
    if written is None or not written.beam:
        return {}, {}
    segments = [segment for segment in written.beam[0].segments if segment.issup]
    cells = {
        (text, segment.issup.chunk): segment.issup
        for segment in segments
        if segment.issup
        for text in sentences(segment.text)
    }
    return {one.chunk: one for one in written.isrel}, cells
