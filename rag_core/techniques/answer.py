"""Answer: write the answer from the evidence, every sentence citing what holds it.

With a model the answer is written and streamed; without one it is quoted: the sentences and table rows that are
closest to the question, by meaning and by rare words, and cover it together. Costs one model call, or the embedding
of some twenty sentences.

Source: Gao et al. 2023, "Enabling Large Language Models to Generate Text with Citations",
https://arxiv.org/abs/2305.14627
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from pydantic import BaseModel, Field

from rag_core.llm.engine import Engine, Watch
from rag_core.llm.quoting import quoted
from rag_core.llm.reading.reading import Reading
from rag_core.llm.reading.sentences import sentences
from rag_core.llm.reading.words import stems
from rag_core.llm.signature import ReplyError, Signature
from rag_core.techniques.base import Technique, TechniqueSettings
from rag_core.types import ChunkKind, Hit, Sentence, Value

NOT_FOUND = "NOT IN THE PASSAGES"

_CITED = re.compile(r"\s*\[(\d+(?:\s*,\s*\d+)*)\]")
_CONFIDENCE = re.compile(r"\n?\s*\**confidence\**\s*:\s*\**\s*([01](?:\.\d+)?)\s*\**\s*$", re.IGNORECASE)
_HALF_CONFIDENCE = re.compile(r"\n\s*\**c(?:o(?:n(?:f(?:i[^\n]*)?)?)?)?$", re.IGNORECASE)

# Candidates whose vectors are compared: more cost time (1.5 ms each) and changed no answer of the demo questions.
_CANDIDATES = 24
# Below both, nothing that was found speaks of what was asked.
_LEAST_COVERED, _LEAST_CLOSE = 0.40, 0.45


class AnswerSettings(TechniqueSettings):
    """How the answer is written."""

    passages: int = Field(default=8, ge=1, le=30, description="Chunks of evidence that the answer is written from.")
    max_sentences: int = Field(default=3, ge=1, le=12, description="Sentences that an answer by quoting may have.")
    max_words: int = Field(default=60, ge=15, le=400, description="Words that an answer by quoting may have.")


class Passage(Value):
    """One numbered piece of evidence."""

    text: str
    kind: ChunkKind = "text"


class AnswerInput(BaseModel):
    question: str
    passages: str = Field(description="The evidence as the model reads it, numbered from 1.")
    evidence: list[Passage] = Field(description="The same, in the same order.")
    max_sentences: int
    max_words: int


class CitedSentence(Value):
    """A sentence and the numbers of the passages that hold it, from 1."""

    text: str
    passages: tuple[int, ...] = ()


class AnswerOutput(BaseModel):
    sentences: list[CitedSentence]
    confidence: float | None = Field(default=None, ge=0, le=1)
    found: bool = Field(default=True, description="Whether the passages hold an answer.")


def read_reply(text: str) -> AnswerOutput:
    """Read a model's reply: sentences with `[n]` after them and a last line `CONFIDENCE: 0.8`."""
    confidence = _CONFIDENCE.search(text)
    body = text[: confidence.start()] if confidence else text
    if not body.strip():
        raise ReplyError("it has no answer")
    stated = min(1.0, float(confidence.group(1))) if confidence else None
    if NOT_FOUND.lower() in body.lower():
        return AnswerOutput(sentences=[], confidence=stated, found=False)
    return AnswerOutput(sentences=_cited_sentences(body), confidence=stated)


def shown_reply(text: str) -> str:
    """What of a reply under way its reader may see: the answer, without the line on confidence."""
    return _HALF_CONFIDENCE.sub("", _CONFIDENCE.sub("", text))


def _cited_sentences(body: str) -> list[CitedSentence]:
    """Sentences with the marks that follow each; a mark belongs to the sentence before it, full stop or not."""
    # Marks move in front of their full stop, so that cutting into sentences keeps them together.
    joined = re.sub(r"([.!?])((?:\s*\[\d+(?:\s*,\s*\d+)*\])+)", lambda m: f"{m.group(2).strip()}{m.group(1)}", body)
    cited = []
    for sentence in sentences(joined):
        numbers = [int(number) for mark in _CITED.findall(sentence) for number in re.split(r"\s*,\s*", mark)]
        if text := _CITED.sub("", sentence).strip():
            cited.append(CitedSentence(text=text, passages=tuple(dict.fromkeys(numbers))))
    return cited


def answer_by_quoting(inputs: AnswerInput, reading: Reading) -> AnswerOutput:
    """The sentences that answer best: each close to the question, together covering its rare words."""
    asked = stems(inputs.question)
    candidates = _best_by_words(inputs.evidence, asked, reading)
    if not candidates:
        return AnswerOutput(sentences=[], confidence=0.0, found=False)
    closeness = reading.closeness(inputs.question, [text for text, _, _ in candidates])
    scores = [
        0.5 * float(close) + 0.5 * covered - 0.02 * number - _stub_penalty(text)
        for (text, number, covered), close in zip(candidates, closeness, strict=True)
    ]
    ranked = sorted(range(len(candidates)), key=scores.__getitem__, reverse=True)
    best = ranked[0]
    all_covered = reading.coverage(asked, [stem for text, _, _ in candidates for stem in stems(text)])
    if all_covered < _LEAST_COVERED and max(closeness) < _LEAST_CLOSE:
        return AnswerOutput(sentences=[], confidence=0.0, found=False)
    chosen = _covering([best, *ranked[1:]], candidates, scores, asked, reading, inputs)
    return AnswerOutput(
        sentences=[CitedSentence(text=candidates[at][0], passages=(candidates[at][1] + 1,)) for at in chosen],
        confidence=round(min(1.0, max(0.0, scores[best])), 3),
    )


def _best_by_words(evidence: Sequence[Passage], asked: list[str], reading: Reading) -> list[tuple[str, int, float]]:
    """`(sentence, index of its passage, share of the question that it covers)`, the most promising first."""
    found: dict[str, tuple[str, int, float]] = {}
    for number, passage in enumerate(evidence):
        for text in _statements(passage):
            found.setdefault(text, (text, number, reading.coverage(asked, stems(text))))
    return sorted(found.values(), key=lambda row: row[2] - 0.03 * row[1], reverse=True)[:_CANDIDATES]


def _statements(passage: Passage) -> list[str]:
    """What can be quoted: sentences, or of a table its rows, each with the header that names its cells."""
    if passage.kind != "table":
        return [sentence for sentence in sentences(passage.text) if len(sentence.split()) > 2]
    rows = [row for row in passage.text.splitlines() if row.strip()]
    if len(rows) < 2:
        return rows
    header = [cell.strip() for cell in rows[0].split("|")]
    return [_row_as_text(header, [cell.strip() for cell in row.split("|")]) for row in rows[1:]]


def _row_as_text(header: list[str], cells: list[str]) -> str:
    if len(cells) < 2 or len(header) != len(cells):
        return " | ".join(cells)
    named = [f"{name}: {cell}" if name else cell for name, cell in zip(header[1:], cells[1:], strict=True) if cell]
    return f"{cells[0]} — {'; '.join(named)}"


def _stub_penalty(text: str) -> float:
    """Headings and fragments are close to a question without saying anything."""
    return 0.0 if text[-1] in ".!?…”\"')。" or "—" in text else 0.3


def _covering(
    ranked: list[int],
    candidates: list[tuple[str, int, float]],
    scores: list[float],
    asked: list[str],
    reading: Reading,
    inputs: AnswerInput,
) -> list[int]:
    """The best candidate and those after it that say something more of what was asked, within the limits."""
    chosen, held, length = [ranked[0]], set(stems(candidates[ranked[0]][0])), len(candidates[ranked[0]][0].split())
    for at in ranked[1:]:
        if len(chosen) == inputs.max_sentences or scores[at] < 0.6 * scores[ranked[0]]:
            break
        said = set(stems(candidates[at][0]))
        gain = reading.coverage(asked, held | said) - reading.coverage(asked, held)
        words = len(candidates[at][0].split())
        if gain > 0.08 and length + words <= inputs.max_words:
            chosen.append(at)
            held |= said
            length += words
    return chosen


ANSWER = Signature(
    name="answer.generate",
    inputs=AnswerInput,
    outputs=AnswerOutput,
    prompt=f"""\
Answer the question from the passages below and from nothing else, in at most {{max_words}} words where that is enough.
After every sentence cite the passages that hold it: [1], or [2][3].
Keep names, numbers and units as they stand. Do not repeat the question.
If the passages do not hold the answer, write only: {NOT_FOUND}
On a last line write CONFIDENCE: and a number from 0 to 1.

{{passages}}

Question: {{question}}
""",
    keyless=answer_by_quoting,
    read=read_reply,
    shown=shown_reply,
)


class Answered(Value):
    """An answer as the pipeline goes on with it."""

    sentences: tuple[Sentence, ...]
    confidence: float | None
    found: bool


class Answer:
    """Writes the answer to a question from hits."""

    def __init__(self, settings: AnswerSettings, engine: Engine, reading: Reading) -> None:
        self._settings = settings
        self._engine = engine
        self._reading = reading

    def generate(self, question: str, hits: Sequence[Hit], watch: Watch) -> Answered:
        """Write the answer; without hits there is none.

        Returns:
            Sentences whose citations are ids of the given chunks, the strongest first.
        """
        used = hits[: self._settings.passages]
        if not used:
            return Answered(sentences=(), confidence=0.0, found=False)
        asked = AnswerInput(
            question=question,
            passages="\n".join(_as_passage(number, hit) for number, hit in enumerate(used, start=1)),
            evidence=[Passage(text=hit.chunk.text, kind=hit.chunk.kind) for hit in used],
            max_sentences=self._settings.max_sentences,
            max_words=self._settings.max_words,
        )
        reply = self._engine.complete(ANSWER, asked, self._reading, watch, stream=True)
        cited = tuple(
            Sentence(
                text=sentence.text,
                citations=tuple(used[number - 1].chunk.id for number in sentence.passages if 0 < number <= len(used)),
            )
            for sentence in reply.sentences
        )
        return Answered(sentences=cited, confidence=reply.confidence, found=reply.found and bool(cited))


def _as_passage(number: int, hit: Hit) -> str:
    chunk = hit.chunk
    where = " › ".join([chunk.name, *([f"page {chunk.page}"] if chunk.page else []), *chunk.section])
    text = f"{chunk.caption}\n{chunk.text}".strip()
    return f"[{number}] {where}\n{quoted(text)}"


ANSWER_TECHNIQUE = Technique(
    name="answer",
    label="answer",
    group="answer",
    summary="Writes the answer from the evidence and cites it.",
    settings=AnswerSettings,
    always=True,
    verb=Answer.generate,
    signatures=(ANSWER,),
)
