"""Answer: write the answer from the evidence, every sentence citing what holds it.

With a model the answer is written and streamed; without one it is quoted: the sentences and table rows that say most
of what was asked, by meaning and by rare words, and what goes on with them. Where documents contradict each other the
answer says so, and where nothing fits the question it is refused. Costs one model call, or the embedding of some twenty
sentences.

Source: Gao et al. 2023, "Enabling Large Language Models to Generate Text with Citations",
https://arxiv.org/abs/2305.14627
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from pydantic import BaseModel, Field

from rag_core.llm.engine import Engine, Watch
from rag_core.llm.quoting import quoted
from rag_core.llm.reading.asked import kind_asked, points_at
from rag_core.llm.reading.both import OfBoth, said_of_both
from rag_core.llm.reading.conflicts import Conflict, conflict_among, holders
from rag_core.llm.reading.quotes import belonging, fit_of_all, ranked_quotes
from rag_core.llm.reading.reading import Reading
from rag_core.llm.reading.sentences import sentences
from rag_core.llm.reading.statements import Statement, statements
from rag_core.llm.signature import ReplyError, Signature
from rag_core.techniques.base import Technique, TechniqueSettings
from rag_core.types import ChunkKind, Hit, Sentence, Value

NOT_FOUND = "NOT IN THE PASSAGES"

_CITED = re.compile(r"\s*\[(\d+(?:\s*,\s*\d+)*)\]")
_CONFIDENCE = re.compile(r"\n?\s*\**confidence\**\s*:\s*\**\s*([01](?:\.\d+)?)\s*\**\s*$", re.IGNORECASE)
_HALF_CONFIDENCE = re.compile(r"\n\s*\**c(?:o(?:n(?:f(?:i[^\n]*)?)?)?)?$", re.IGNORECASE)

# Calibrated on questions asked of their own corpora and of foreign ones (XQuAD, HotpotQA, RGB, the demo's).
_LEAST_FIT, _LEAST_FIT_POINTED = 0.33, 0.08
# What fits less is no side of a conflict: much else is alike in form.
_LEAST_SPOKEN = 0.5


class AnswerSettings(TechniqueSettings):
    """How the answer is written."""

    passages: int = Field(default=8, ge=1, le=30, description="Chunks of evidence that the answer is written from.")
    max_sentences: int = Field(default=3, ge=1, le=12, description="Sentences that an answer by quoting may have.")
    max_words: int = Field(default=85, ge=15, le=400, description="Words that an answer by quoting may have.")


class Passage(Value):
    """One numbered piece of evidence."""

    text: str
    kind: ChunkKind = "text"
    heading: str = Field(default="", description="What it stands under: its section and caption.")


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
    computed: str = Field(default="", description="What code counted; empty for what is written or quoted.")


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
    """The statements that answer best and belong together, or that the documents disagree, or nothing."""
    candidates = [
        one
        for number, passage in enumerate(inputs.evidence)
        for one in statements(passage.text, number, passage.heading, table=passage.kind == "table")
    ]
    ranked = ranked_quotes(inputs.question, candidates, reading)
    if not ranked or fit_of_all(inputs.question, ranked, candidates, reading) < _least_fit(inputs.question):
        return AnswerOutput(sentences=[], confidence=0.0, found=False)
    confidence = round(min(1.0, max(0.0, ranked[0].fit)), 3)
    near = [one.statement for one in ranked if one.fit >= _LEAST_SPOKEN]
    if conflict := conflict_among(near, inputs.question, kind_asked(inputs.question)):
        return AnswerOutput(sentences=_disagreement(conflict, near), confidence=confidence / 2)
    if of_both := said_of_both(inputs.question, [one.statement for one in ranked]):
        return AnswerOutput(sentences=_yes_or_no(of_both), confidence=confidence)
    quotes = belonging(inputs.question, ranked, reading, inputs.max_sentences, inputs.max_words)
    return AnswerOutput(sentences=[_quoted(one) for one in quotes], confidence=confidence)


def _least_fit(question: str) -> float:
    """How well the evidence must fit. What is asked of the look or a place of a page shares few words with its text."""
    return _LEAST_FIT_POINTED if points_at(question) else _LEAST_FIT


def _disagreement(conflict: Conflict, near: Sequence[Statement]) -> list[CitedSentence]:
    """That the documents disagree, then what each side says; the value that more passages have comes first."""
    sides = []
    for statement, value in ((conflict.one, conflict.value), (conflict.other, conflict.other_value)):
        passages = {one.passage for one in holders(value, near)} | {statement.passage}
        sides.append((value, statement, sorted(passages)))
    sides.sort(key=lambda side: len(side[2]), reverse=True)
    counted = "; ".join(f"{value}: {_passages(len(passages))}" for value, _, passages in sides)
    said = f"The documents disagree: {' or '.join(value for value, _, _ in sides)}."
    head = CitedSentence(text=said, passages=tuple(one.passage + 1 for _, one, _ in sides), computed=counted)
    return [head, *(_quoted(one) for _, one, _ in sides)]


def _yes_or_no(of_both: OfBoth) -> list[CitedSentence]:
    """'Yes' where the same is said of both; else of which it is said, and what is said of the other instead."""
    told = [name for name, says in zip(of_both.names, of_both.says, strict=True) if says]
    said = "Yes, that is said of both." if len(told) == 2 else f"No, that is said of {told[0]} alone."
    counted = "; ".join(
        f"{name}: {'said' if says else 'not said'}" for name, says in zip(of_both.names, of_both.says, strict=True)
    )
    cited = tuple(dict.fromkeys(one.passage + 1 for one in of_both.statements))
    quotes = dict.fromkeys(of_both.statements)
    return [CitedSentence(text=said, passages=cited, computed=counted), *map(_quoted, quotes)]


def _quoted(one: Statement) -> CitedSentence:
    return CitedSentence(text=one.text, passages=(one.passage + 1,))


def _passages(count: int) -> str:
    return "1 passage" if count == 1 else f"{count} passages"


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
            evidence=[_as_evidence(hit) for hit in used],
            max_sentences=self._settings.max_sentences,
            max_words=self._settings.max_words,
        )
        reply = self._engine.complete(ANSWER, asked, self._reading, watch, stream=True)
        cited = tuple(
            Sentence(
                text=sentence.text,
                computed=sentence.computed,
                citations=tuple(used[number - 1].chunk.id for number in sentence.passages if 0 < number <= len(used)),
            )
            for sentence in reply.sentences
        )
        return Answered(sentences=cited, confidence=reply.confidence, found=reply.found and bool(cited))


def _as_evidence(hit: Hit) -> Passage:
    chunk = hit.chunk
    heading = "\n".join(part for part in (" › ".join(chunk.section), chunk.caption) if part)
    return Passage(text=hit.text, kind=chunk.kind, heading=heading)


def _as_passage(number: int, hit: Hit) -> str:
    chunk = hit.chunk
    where = " › ".join([chunk.name, *([f"page {chunk.page}"] if chunk.page else []), *chunk.section])
    text = "\n".join(part for part in (where, chunk.caption, hit.text) if part)
    return f"[{number}]\n{quoted(text)}"


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
