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

Source: Asai et al. 2023, "Self-RAG", https://arxiv.org/abs/2310.11511
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Literal, NamedTuple

from pydantic import BaseModel, Field

from rag_core.errors import RagError
from rag_core.fan_out import fan_out
from rag_core.llm.engine import Engine, KeylessEngine, Watch
from rag_core.llm.likelihood import Scored
from rag_core.llm.quoting import quoted, without_tags
from rag_core.llm.reading.mending import quotable
from rag_core.llm.reading.reading import Reading
from rag_core.llm.reading.sentences import sentences
from rag_core.llm.reading.words import stems
from rag_core.llm.signature import ReplyError, Signature
from rag_core.techniques.base import Critic, Judged, Technique, TechniqueSettings
from rag_core.types import Chunk, Hit, Sentence, Support, Value

CriticName = Literal["model", "native", "trained"]
Judge = Literal["model", "native", "trained", "user"]
Decision = Literal["yes", "no", "continue"]
Shares = dict[str, float]
"""How probable each meaning of a reflection token is; empty where a reply has none of its kind."""

_RETRIEVE = {
    "[Retrieval]": "yes",
    "[Retrieve]": "yes",
    "[No Retrieval]": "no",
    "[Continue to Use Evidence]": "continue",
    "[Continue]": "continue",
}
_ISREL = {"[Relevant]": "relevant", "[Irrelevant]": "irrelevant"}
_ISSUP = {
    "[Fully supported]": "fully",
    "[Partially supported]": "partially",
    "[No support / Contradictory]": "none",
    "[No support]": "none",
    "[Contradictory]": "against",
}
_ISUSE = {f"[Utility:{use}]": str(use) for use in range(1, 6)}
_TOKEN = re.compile(
    "|".join(map(re.escape, [*_RETRIEVE, *_ISREL, *_ISSUP, *_ISUSE])) + r"|</?(?:s|p|paragraph)>", re.IGNORECASE
)
_SPOILT = str.maketrans("[]<>", "()()")
_LABELS: dict[str, Support] = {
    "fully": "fully_supported",
    "partially": "partially_supported",
    "none": "no_support",
    "against": "no_support",
}
_RANKS: tuple[Support, ...] = ("no_support", "partially_supported", "fully_supported")
_USE_WEIGHTS = (-1.0, -0.5, 0.0, 0.5, 1.0)
_AT_ONCE = 4
_NATIVE_MODEL = re.compile(r"self[-_ ]?rag", re.IGNORECASE)
_COVERED = 0.9
"""Without a model: an answer that takes up this share of the question's words needs no further segment."""
_LEAST_GAIN = 0.08
"""Without a model: the share of the question that a further segment must add."""


class SelfRagSettings(TechniqueSettings):
    """What a segment must be worth, and who judges it."""

    critic: Literal["auto", "model", "native", "trained"] = Field(
        default="auto",
        description="Who judges: the model in use; native, a model that was trained to write reflection tokens; or the "
        "small critic that comes with the app. auto: the model where there is one, else the small critic.",
    )
    isrel_threshold: float = Field(
        default=0.7, ge=0, le=1, description="Chunks that are less likely relevant are left out."
    )
    issup_min: Support = Field(
        default="partially_supported", description="Segments that their chunk holds less are rejected."
    )
    w_rel: float = Field(default=1.0, ge=0, le=5, description="What relevance counts for in a segment's score.")
    w_sup: float = Field(default=1.0, ge=0, le=5, description="What support counts for in it.")
    w_use: float = Field(default=0.5, ge=0, le=5, description="What usefulness counts for in it.")
    beam_width: int = Field(default=2, ge=1, le=5, description="Answers that are kept growing side by side.")
    max_segments: int = Field(default=3, ge=1, le=7, description="Segments of an answer, one or two sentences each.")
    passages: int = Field(default=5, ge=1, le=15, description="Chunks that are judged and written from, the best.")


class Isrel(Value):
    """Whether a chunk helps to answer the question."""

    chunk: str
    probability: float = Field(ge=0, le=1, description="p(relevant) / (p(relevant) + p(irrelevant)).")
    relevant: bool = Field(description="Whether that reaches the threshold.")
    by: Judge


class Issup(Value):
    """How far a chunk holds a sentence: one cell of the matrix."""

    chunk: str
    support: Support
    probability: float = Field(ge=0, le=1, description="p(fully) + 0.5 p(partially).")
    contradicted: float = Field(default=0.0, ge=0, le=1, description="That the chunk says otherwise.")
    by: CriticName


class Segment(Value):
    """A candidate: what could come next in an answer, from one chunk."""

    path: int = Field(description="Which answer of the beam it goes on with, from 0.")
    text: str
    isrel: Isrel
    issup: Issup | None = Field(default=None, description="None where it has no text.")
    isuse: tuple[float, ...] = Field(default=(), description="The probabilities of 1 to 5, of the answer with it.")
    retrieve: Decision = Field(default="no", description="What is to follow it.")
    score: float = 0.0
    rejected: str = Field(default="", description="Why it may not stay; empty where it may.")


class Path(Value):
    """An answer as far as it is written."""

    segments: tuple[Segment, ...] = ()
    ended: bool = False

    @property
    def text(self) -> str:
        return " ".join(segment.text for segment in self.segments)

    @property
    def score(self) -> float:
        """The mean of its segments' scores: a longer answer is not better for being longer."""
        return sum(segment.score for segment in self.segments) / max(1, len(self.segments))


class Reflection(Value):
    """All that was written and judged until now."""

    rounds: tuple[tuple[Segment, ...], ...] = Field(default=(), description="All candidates, segment by segment.")
    isrel: tuple[Isrel, ...] = Field(default=(), description="Of all chunks that were judged, in their order.")
    beam: tuple[Path, ...] = Field(default=(Path(),), description="The answers that are kept, best first.")

    def goes_on(self, settings: SelfRagSettings) -> bool:
        """Whether another segment follows."""
        return len(self.rounds) < settings.max_segments and any(not path.ended for path in self.beam)

    @property
    def retrieve(self) -> Decision:
        """What the next segment needs, as the best answer that goes on says; the first has been searched for."""
        growing = next((path for path in self.beam if not path.ended), None)
        if growing is None:
            return "no"
        return growing.segments[-1].retrieve if growing.segments else "continue"

    def query(self, question: str) -> str:
        """What to search for before the next segment; empty where the evidence is enough.

        As in the paper it is the question with what was written last.
        """
        if self.retrieve != "yes":
            return ""
        growing = next(path for path in self.beam if not path.ended)
        return f"{question} {growing.segments[-1].text}"

    @property
    def note(self) -> str:
        """What a reader must be told; mostly empty."""
        if self.isrel and not any(one.relevant for one in self.isrel):
            return "Self-RAG judged no chunk relevant."
        if self.rounds and not self.sentences:
            return "No segment had enough support: all were rejected."
        return ""

    @property
    def sentences(self) -> tuple[Sentence, ...]:
        """The best answer, each sentence citing the chunk that its segment was written from."""
        return tuple(
            Sentence(
                text=text,
                support=segment.issup.support,
                probability=segment.issup.probability,
                citations=(segment.issup.chunk,),
            )
            for segment in (self.beam[0].segments if self.beam else ())
            if segment.issup
            for text in sentences(segment.text)
        )


class Critique(Value):
    """An answer held against its evidence: the matrix of sentences and chunks."""

    critic: CriticName
    sentences: tuple[Sentence, ...] = Field(description="With their support; what holds them is cited first.")
    isrel: tuple[Isrel, ...] = Field(description="A chunk each, in the order of the evidence.")
    issup: tuple[tuple[Issup, ...], ...] = Field(description="A row a sentence, a cell a chunk, in the same order.")
    isuse: tuple[float, ...] = Field(description="The probabilities of 1 to 5.")

    @property
    def usefulness(self) -> int:
        """The most likely of 1 to 5."""
        return 1 + max(range(len(self.isuse)), key=self.isuse.__getitem__)


def segment_score(settings: SelfRagSettings, isrel: Isrel, issup: Issup, isuse: Sequence[float]) -> float:
    """What a segment is worth: the weighted sum of how relevant, supported and useful it is."""
    use = sum(weight * share for weight, share in zip(_USE_WEIGHTS, isuse, strict=True))
    return settings.w_rel * isrel.probability + settings.w_sup * issup.probability + settings.w_use * use


def grown(beam: Sequence[Path], candidates: Sequence[Segment], width: int) -> tuple[Path, ...]:
    """The best answers after one more segment, best first; those that nothing goes on with have ended.

    Args:
        candidates: Those that are not rejected.
    """
    further = [
        Path(segments=(*beam[segment.path].segments, segment), ended=segment.retrieve == "no") for segment in candidates
    ]
    went_on = {segment.path for segment in candidates}
    over = [path.model_copy(update={"ended": True}) for at, path in enumerate(beam) if at not in went_on]
    best: dict[str, Path] = {}
    for path in sorted([*further, *over], key=lambda path: -path.score):
        if path.segments:
            best.setdefault(path.text, path)
    return tuple(best.values())[:width]


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


class _Mark(NamedTuple):
    """A reflection token in a reply."""

    start: int
    end: int
    shares: Shares


def read_segment(reply: Scored) -> SegmentOutput:
    """Read a segment and its reflection tokens: `[Relevant] text [Fully supported] [Utility:5] [No Retrieval]`.

    Of a reply with several segments it is the first.
    """
    isrel = _mark(reply, _ISREL)
    begin = isrel.end if isrel else 0
    issup = _mark(reply, _ISSUP, begin)
    end = issup.start if issup else len(reply.text)
    isuse = _mark(reply, _ISUSE, begin)
    retrieve = _mark(reply, _RETRIEVE, issup.end if issup else begin)
    # A token between the words ends the segment too, where no judgement of its support does.
    ends = [mark.start for mark in (isuse, retrieve) if mark and reply.text[begin : mark.start].strip()]
    text = " ".join(_TOKEN.sub(" ", reply.text[begin : min([end, *ends])]).split())
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


def _mark(reply: Scored, tokens: Mapping[str, str], begin: int = 0) -> _Mark | None:
    """The first reflection token of a kind, from a place on."""
    said = reply.text.lower()
    found = [(at, -len(token), token) for token in tokens if (at := said.find(token.lower(), begin)) >= 0]
    if not found:
        return None
    start, length, _ = min(found)
    shares = dict.fromkeys(tokens.values(), 0.0)
    for token, share in reply.probabilities(start, list(tokens)).items():
        shares[tokens[token]] += share
    return _Mark(start, start - length, shares)


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
    isrel = _mark(reply, _ISREL)
    if isrel is None:
        raise ReplyError("it has no [Relevant] and no [Irrelevant]")
    issup: dict[int, Shares] = {}
    for line in re.finditer(r"^\W{0,3}(\d+)\b[^\[\n]*(?=\[)", reply.text, re.MULTILINE):
        if (mark := _mark(reply, _ISSUP, line.end())) and mark.start == line.end():
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
    mark = _mark(reply, _ISUSE)
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


class _Job(NamedTuple):
    """A candidate that is to be written: from which chunk, going on with which answer of the beam."""

    path: int
    written: str
    chunk: Chunk
    known: Isrel | None


class SelfRag:
    """Grows an answer segment by segment, and holds answers against their evidence."""

    def __init__(self, settings: SelfRagSettings, engine: Engine, reading: Reading, critic: Critic) -> None:
        self._settings = settings
        self._engine = engine
        self._reading = reading
        self._critic = critic
        self.critic: CriticName = _critic(settings, engine)
        """Who judges."""

    def extend(self, question: str, hits: Sequence[Hit], before: Reflection | None, watch: Watch) -> Reflection:
        """Write and judge the next segment.

        Args:
            hits: The evidence, best first; what `before.query` found since then is among it.
            before: What was written until now; None at first.

        Raises:
            RagError: No candidate could be written; one that fails spoils no other.
            Stopped: The run was stopped meanwhile.
        """
        before = before or Reflection()
        chunks = [hit.chunk for hit in hits[: self._settings.passages]]
        judged = {one.chunk: one for one in before.isrel}
        if self.critic == "trained":
            judged |= self._relevance(question, [chunk for chunk in chunks if chunk.id not in judged])
        asked = [chunk for chunk in chunks if chunk.id not in judged or chunk.id in _usable(judged.values())]
        jobs = [
            _Job(at, path.text, chunk, judged.get(chunk.id))
            for at, path in enumerate(before.beam)
            if not path.ended
            for chunk in asked
        ]
        outcomes = fan_out(
            lambda job: self._candidate(question, job, asked, watch),
            jobs,
            at_once=1 if self._engine.name == KeylessEngine.name else _AT_ONCE,
        )
        candidates = [outcome for outcome in outcomes if isinstance(outcome, Segment)]
        failed = [outcome for outcome in outcomes if isinstance(outcome, RagError)]
        if failed and not candidates:
            raise failed[0]
        for segment in candidates:
            judged.setdefault(segment.isrel.chunk, segment.isrel)
        usable = _usable(judged.values())
        checked = tuple(self._checked(segment, before.beam[segment.path], usable) for segment in candidates)
        may_stay = [segment for segment in checked if not segment.rejected]
        return Reflection(
            rounds=(*before.rounds, checked),
            isrel=tuple(judged.values()),
            beam=grown(before.beam, may_stay, self._settings.beam_width),
        )

    def critique(
        self,
        question: str,
        answer: Sequence[Sentence],
        chunks: Sequence[Chunk],
        watch: Watch,
        written: Reflection | None = None,
    ) -> Critique:
        """Hold every sentence of an answer against every chunk, and say how useful the answer is.

        A sentence that code computed keeps its support.

        Args:
            written: How the answer came about, where it was written here: what was judged then is not judged again.

        Raises:
            Stopped: The run was stopped meanwhile.
        """
        texts = [sentence.text for sentence in answer]
        isrel, matrix = self._matrix(question, texts, chunks, written, watch)
        supported = [
            sentence if sentence.cells or sentence.computed else self._supported(question, sentence, row, chunks)
            for sentence, row in zip(answer, matrix, strict=True)
        ]
        return Critique(
            critic=self.critic,
            sentences=tuple(supported),
            isrel=tuple(isrel),
            issup=tuple(matrix),
            isuse=self._use(question, " ".join(texts), watch),
        )

    def _candidate(self, question: str, job: _Job, chunks: Sequence[Chunk], watch: Watch) -> Segment:
        """What a chunk has to say next, with its reflection tokens."""
        chunk, passage = job.chunk, job.chunk.searchable_text
        plain = _without_tokens(passage)
        asked = SegmentInput(
            question=question,
            written=without_tags(_without_tokens(job.written)),
            passage=quoted(plain),
            paragraph=without_tags(plain, "paragraph"),
            statements=quotable(chunk),
        )
        signature = NATIVE_SEGMENT if self.critic == "native" else SEGMENT
        reply = self._engine.complete(signature, asked, self._reading, watch)
        if self.critic == "trained":
            reply = SegmentOutput(text=reply.text)
        isrel = self._isrel(chunk, reply.isrel) or job.known or self._relevance(question, [chunk])[chunk.id]
        if not reply.text:
            return Segment(path=job.path, text="", isrel=isrel)
        issup = self._issup(chunk.id, reply.issup)
        issup = issup or self._by_critic(chunk.id, self._critic.support([reply.text], [passage], question)[0][0])
        answer = f"{job.written} {reply.text}".strip()
        isuse = _uses(reply.isuse) or tuple(self._critic.usefulness(question, answer))
        return Segment(
            path=job.path,
            text=reply.text,
            isrel=isrel,
            issup=issup,
            isuse=isuse,
            retrieve=_decision(reply.retrieve) or self._next(question, answer, chunks),
            score=round(segment_score(self._settings, isrel, issup, isuse), 4),
        )

    def _checked(self, segment: Segment, path: Path, usable: set[str]) -> Segment:
        """The segment, with why it may not stay."""
        why = ""
        if segment.isrel.chunk not in usable:
            why = "Its chunk is irrelevant."
        elif segment.issup is None or _says_nothing_new(segment.text, path.text):
            why = "It says nothing new."
        elif _RANKS.index(segment.issup.support) < _RANKS.index(self._settings.issup_min):
            why = (
                "Its chunk does not hold it."
                if segment.issup.support == "no_support"
                else "Its chunk holds only a part."
            )
        return segment.model_copy(update={"rejected": why})

    def _next(self, question: str, answer: str, chunks: Sequence[Chunk]) -> Decision:
        """What follows where no model says: nothing once the answer takes up what was asked; else more from the
        chunks, where they have what is missing.
        """
        if self._reading.coverage(stems(question), stems(answer)) >= _COVERED:
            return "no"
        left = set(self._reading.missing(question, [answer]))
        return "continue" if any(left.intersection(stems(chunk.searchable_text)) for chunk in chunks) else "yes"

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
        if self.critic == "model" and texts:
            numbered = "\n".join(
                f"{number} {without_tags(_without_tokens(text))}" for number, text in enumerate(texts, start=1)
            )
            replies = fan_out(
                lambda chunk: self._engine.complete(
                    SUPPORT,
                    SupportInput(
                        question=question, statements=numbered, passage=quoted(_without_tokens(chunk.searchable_text))
                    ),
                    self._reading,
                    watch,
                ),
                chunks,
                at_once=_AT_ONCE,
            )
            for chunk, reply in zip(chunks, replies, strict=True):
                if isinstance(reply, RagError):
                    continue
                if one := self._isrel(chunk, reply.isrel):
                    isrel.setdefault(chunk.id, one)
                for number, text in enumerate(texts, start=1):
                    if cell := self._issup(chunk.id, reply.issup.get(number, {})):
                        cells.setdefault((text, chunk.id), cell)
        isrel |= self._relevance(question, [chunk for chunk in chunks if chunk.id not in isrel])
        left = [chunk for chunk in chunks if any((text, chunk.id) not in cells for text in texts)]
        if left:
            judged = self._critic.support(texts, [chunk.searchable_text for chunk in left], question)
            for text, row in zip(texts, judged, strict=True):
                for chunk, one in zip(left, row, strict=True):
                    cells.setdefault((text, chunk.id), self._by_critic(chunk.id, one))
        rows = [tuple(cells[text, chunk.id] for chunk in chunks) for text in texts]
        return [isrel[chunk.id] for chunk in chunks], rows

    def _supported(self, question: str, sentence: Sentence, row: Sequence[Issup], chunks: Sequence[Chunk]) -> Sentence:
        """The sentence with its support: that of its best chunk, or of all together, unless one says otherwise."""
        ranked = sorted(row, key=lambda cell: -cell.probability)
        if not ranked:
            return sentence.model_copy(update={"support": "no_support", "probability": 0.0})
        support, probability = ranked[0].support, ranked[0].probability
        if ranked[0].by == "trained":
            # A sentence that joins what two chunks say is held by neither alone.
            together = self._critic.answer_support(sentence.text, [chunk.searchable_text for chunk in chunks], question)
            probability = max(probability, together.supported)
            support = self._critic.to_support(probability)
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
        if self.critic == "trained":
            return tuple(self._critic.usefulness(question, answer))
        asked = UseInput(question=question, answer=without_tags(_without_tokens(answer)))
        reply = self._engine.complete(USE, asked, self._reading, watch)
        return _uses(reply.isuse) or tuple(self._critic.usefulness(question, answer))

    def _relevance(self, question: str, chunks: Sequence[Chunk]) -> dict[str, Isrel]:
        """The trained critic's judgement of chunks, by id."""
        if not chunks:
            return {}
        judged = self._critic.relevance(question, [chunk.searchable_text for chunk in chunks])
        return {
            chunk.id: self._at(chunk.id, float(probability), "trained")
            for chunk, probability in zip(chunks, judged, strict=True)
        }

    def _isrel(self, chunk: Chunk, shares: Shares) -> Isrel | None:
        both = shares.get("relevant", 0.0) + shares.get("irrelevant", 0.0)
        return self._at(chunk.id, shares["relevant"] / both, self.critic) if both else None

    def _at(self, chunk: str, probability: float, by: CriticName) -> Isrel:
        relevant = probability >= self._settings.isrel_threshold
        return Isrel(chunk=chunk, probability=probability, relevant=relevant, by=by)

    def _issup(self, chunk: str, shares: Shares) -> Issup | None:
        if not shares:
            return None
        return Issup(
            chunk=chunk,
            support=_LABELS[max(shares, key=shares.__getitem__)],
            probability=shares["fully"] + 0.5 * shares["partially"],
            contradicted=shares["against"],
            by=self.critic,
        )

    def _by_critic(self, chunk: str, judged: Judged) -> Issup:
        return Issup(
            chunk=chunk,
            support=self._critic.to_support(judged.supported),
            probability=judged.supported,
            contradicted=judged.contradicted,
            by="trained",
        )


def _critic(settings: SelfRagSettings, engine: Engine) -> CriticName:
    if engine.name == KeylessEngine.name:
        return "trained"
    if settings.critic != "auto":
        return settings.critic
    return "native" if _NATIVE_MODEL.search(engine.name) else "model"


def _usable(judged: Iterable[Isrel]) -> set[str]:
    """The relevant chunks; where there is none the best one, for no evidence at all is worse."""
    known = list(judged)
    relevant = {one.chunk for one in known if one.relevant}
    return relevant or {one.chunk for one in sorted(known, key=lambda one: -one.probability)[:1]}


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


def _without_tokens(text: str) -> str:
    """The text with reflection tokens of its own spoilt: a document cannot judge itself."""
    return _TOKEN.sub(lambda token: token[0].translate(_SPOILT), text)


def _says_nothing_new(text: str, written: str) -> bool:
    return set(stems(text)) <= set(stems(written))


def _uses(shares: Shares) -> tuple[float, ...]:
    return tuple(shares[str(use)] for use in range(1, 6)) if shares else ()


def _decision(shares: Shares) -> Decision | None:
    best = max(shares, key=shares.__getitem__, default=None)
    return best if best in ("yes", "no", "continue") else None


SELF_RAG = Technique(
    name="self_rag",
    label="Self-RAG",
    group="answer",
    summary="Writes the answer segment by segment, judges each, and keeps only what is held.",
    settings=SelfRagSettings,
    verb=SelfRag.extend,
    signatures=(SEGMENT, NATIVE_SEGMENT, SUPPORT, USE),
)
