"""CRAG: judge what was retrieved and, where it is not good enough, correct it before the answer is written.

Every chunk is scored. Correct, where one is good enough: they are cut down to the strips (1 to 3 sentences) that help.
Incorrect, where none comes near: they go, and the web is asked. Ambiguous, in between: both. The web hears keywords of
the question and nothing else, and only where that is switched on. A chunk that is relevant by itself is never dropped.
Costs two model calls, and two more and a search where the web is asked; without a model the critic's time.

Source: Yan et al. 2024, "Corrective Retrieval Augmented Generation", https://arxiv.org/abs/2401.15884
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import accumulate
from typing import Literal
from uuid import NAMESPACE_URL, uuid5

import httpx
from pydantic import BaseModel, Field

from rag_core.llm.engine import Engine, Watch
from rag_core.llm.quoting import quoted
from rag_core.llm.reading.reading import Reading
from rag_core.llm.reading.sentences import sentences
from rag_core.llm.reading.words import stems
from rag_core.llm.signature import Signature
from rag_core.techniques.base import Critic, Technique, TechniqueSettings
from rag_core.types import Chunk, Hit, Value
from rag_core.web.results import MAX_TEXT_CHARS, WebError, WebResult, WebSearch, inert

Verdict = Literal["correct", "ambiguous", "incorrect"]
Rule = Literal["best", "share"]

_PASSAGE_CHARS = 1_200
"""Of a chunk that is judged: some 256 tokens."""
_QUERY_CHARS, _QUERY_WORDS = 300, 16
"""The providers take 400 characters and 50 words."""
_LEAST_S = 3.0
"""Seconds of a run's budget below which the web is not asked."""


class CragSettings(TechniqueSettings):
    """When what was retrieved is corrected, and how."""

    candidates: int = Field(default=10, ge=1, le=60, description="First chunks that are judged; others are set aside.")
    relevance_threshold: float = Field(
        default=0.7, ge=0, le=1, description="A chunk counts as relevant above this score."
    )
    rule: Rule = Field(
        default="best",
        description="What the verdict goes by: the score of the best chunk, since one is often all that a question "
        "needs, or the share of relevant chunks.",
    )
    upper: float = Field(default=0.7, ge=0, le=1, description="Correct: the best score, or the share, is above it.")
    lower: float = Field(default=0.3, ge=0, le=1, description="Incorrect: the best score, or the share, is below it.")
    refine: bool = Field(default=True, description="Cut chunks down to the sentences that help.")
    strip_sentences: int = Field(default=3, ge=1, le=3, description="Sentences of a strip, at most.")
    strip_threshold: float = Field(default=0.5, ge=0, le=1, description="Strips are kept above this score.")
    max_strips: int = Field(default=60, ge=5, le=200, description="Strips that are judged; the closest ones.")
    web: bool = Field(default=False, description="Ask the web where documents fail: words of the question go out.")
    web_results: int = Field(default=5, ge=1, le=10, description="Pages that a web search is asked for.")
    web_passages: int = Field(default=3, ge=1, le=10, description="Of these, the most that are used.")


class JudgeInput(BaseModel):
    question: str
    passages: str = Field(description="The passages as the model reads them, numbered from 1.")
    texts: list[str] = Field(description="The same, in the same order.")


class Judged(BaseModel):
    """A passage by its number, from 1, and how relevant it is, 0 to 1."""

    passage: int
    score: float = Field(ge=0, le=1)


class JudgeOutput(BaseModel):
    judged: list[Judged] = Field(description='[{"passage": number, "score": 0 to 1}], one for every passage.')


class QueryInput(BaseModel):
    question: str


class QueryOutput(BaseModel):
    query: str = Field(min_length=1, description="The keywords to search for.")


def left_to_the_critic(_inputs: JudgeInput, _reading: Reading) -> JudgeOutput:
    """No judgement: a `Crag` has its critic in the place of this."""
    return JudgeOutput(judged=[])


def keywords_of(inputs: QueryInput, _reading: Reading) -> QueryOutput:
    """The content words of the question, in its order."""
    found = [word.strip(".,;:?!()\"“”'") for word in inputs.question.split() if stems(word)]
    return QueryOutput(query=" ".join(dict.fromkeys(found)) or inputs.question)


JUDGE = Signature(
    name="crag.judge",
    inputs=JudgeInput,
    outputs=JudgeOutput,
    prompt="""\
Judge how well each passage helps to answer the question: 1 holds the answer, 0.8 a part of it, 0.4 is about the same
things without helping, 0 is about something else. Judge every passage, by its number.

{passages}

Question: {question}
""",
    keyless=left_to_the_critic,
    max_tokens=2048,
)

QUERY = Signature(
    name="crag.query",
    inputs=QueryInput,
    outputs=QueryOutput,
    prompt="""\
Write a web search query for the question: keywords only, the fewest that will do. Keep names, numbers and years. Leave
out what only makes sense beside the documents that it was asked of ("in this report").

Question: {question}
""",
    keyless=keywords_of,
    max_tokens=200,
)


class Evaluated(Value):
    """What was retrieved, judged."""

    verdict: Verdict
    share: float = Field(ge=0, le=1, description="Of the judged chunks, those that are relevant.")
    hits: tuple[Hit, ...] = Field(description="As they came, with 'crag' (0..1) among their scores.")
    unjudged: tuple[Hit, ...] = Field(default=(), description="Those behind them.")


class Strip(Value):
    """One to three sentences of a chunk, or a whole table."""

    chunk: str = Field(description="Id of its chunk.")
    text: str
    score: float | None = Field(description="0..1; None where too many others were closer.")
    kept: bool


class WebPage(Value):
    """A page that the web search found."""

    url: str
    title: str
    score: float = Field(ge=0, le=1)
    chunk: str = Field(description="Id of the chunk that it became; empty where it is not used.")


class Corrected(Value):
    """What the answer is to be written from, and how it came to that."""

    verdict: Verdict
    share: float
    hits: tuple[Hit, ...] = Field(description="The evidence, best first; `text` of each is what helps.")
    aside: tuple[Hit, ...] = Field(description="What was retrieved and is not used, in its order.")
    strips: tuple[Strip, ...] = Field(default=(), description="Chunk by chunk, in their order.")
    query: str = Field(default="", description="What the web was asked; empty where it was not.")
    provider: str = Field(default="", description="Who was asked.")
    pages: tuple[WebPage, ...] = Field(default=(), description="In the order of the search.")
    notes: tuple[str, ...] = Field(default=(), description="What could not be done, a sentence each.")


class Crag:
    """Judges and corrects what was retrieved."""

    def __init__(
        self, settings: CragSettings, engine: Engine, reading: Reading, critic: Critic, web: WebSearch | None
    ) -> None:
        """Make a corrector.

        Args:
            web: None where nothing that searches the web is set up.
        """
        self._settings = settings
        self._engine = engine
        self._reading = reading
        self._web = web

        def judged(inputs: JudgeInput, _reading: Reading) -> JudgeOutput:
            scores = critic.relevance(inputs.question, inputs.texts)
            return JudgeOutput(judged=[Judged(passage=at, score=score) for at, score in enumerate(scores, start=1)])

        self._judge = replace(JUDGE, keyless=judged)

    def evaluate(self, question: str, hits: Sequence[Hit], watch: Watch) -> Evaluated:
        """Judge the first hits; where there is none the verdict is 'incorrect'.

        Args:
            hits: Best first.
        """
        judged, unjudged = hits[: self._settings.candidates], hits[self._settings.candidates :]
        scores = self._scores(question, [hit.chunk.searchable_text for hit in judged], watch)
        return Evaluated(
            verdict=self._verdict(scores),
            share=self._share(scores),
            hits=tuple(_scored(hit, score) for hit, score in zip(judged, scores, strict=True)),
            unjudged=tuple(unjudged),
        )

    def overruled(self, evaluated: Evaluated, relevant: Mapping[str, bool], verdict: Verdict | None) -> Evaluated:
        """What was judged, with what the user says instead.

        Args:
            relevant: Chunk id -> whether it helps.
            verdict: That on all of it; None where it follows from the chunks.
        """
        scores = [float(relevant.get(hit.chunk.id, hit.scores["crag"])) for hit in evaluated.hits]
        return evaluated.model_copy(
            update={
                "verdict": verdict or self._verdict(scores),
                "share": self._share(scores),
                "hits": tuple(_scored(hit, score) for hit, score in zip(evaluated.hits, scores, strict=True)),
            }
        )

    def correct(self, question: str, evaluated: Evaluated, watch: Watch) -> Corrected:
        """Refine the evidence, leave out what does not help and, unless the verdict is 'correct', ask the web.

        Where nothing would be left the documents' chunks stay as they came, and a note says so.
        """
        used: Sequence[Hit] = evaluated.hits
        if evaluated.verdict == "incorrect":
            used = [hit for hit in used if self.relevant(hit.scores["crag"])]
        web = _Web() if evaluated.verdict == "correct" else self._asked(question, watch)
        hits, strips = self._refined(question, [*used, *web.hits], watch)
        notes = list(web.notes)
        if not hits and evaluated.hits:
            hits = list(evaluated.hits)
            notes.append("Nothing that helps was found: the passages stay as they were retrieved.")
        there = {hit.chunk.id for hit in hits}
        retrieved = (*evaluated.hits, *evaluated.unjudged)
        return Corrected(
            verdict=evaluated.verdict,
            share=evaluated.share,
            hits=tuple(self._ranked(hits)),
            aside=tuple(hit for hit in retrieved if hit.chunk.id not in there),
            strips=tuple(strips),
            query=web.query,
            provider=web.provider,
            pages=tuple(page if page.chunk in there else page.model_copy(update={"chunk": ""}) for page in web.pages),
            notes=tuple(notes),
        )

    def relevant(self, score: float) -> bool:
        """Whether a chunk with this score counts as relevant."""
        return score > self._settings.relevance_threshold

    def _share(self, scores: Sequence[float]) -> float:
        return sum(map(self.relevant, scores)) / len(scores) if scores else 0.0

    def _verdict(self, scores: Sequence[float]) -> Verdict:
        found = max(scores, default=0.0) if self._settings.rule == "best" else self._share(scores)
        if found > self._settings.upper:
            return "correct"
        return "incorrect" if found < self._settings.lower else "ambiguous"

    def _scores(self, question: str, texts: Sequence[str], watch: Watch) -> list[float]:
        """How relevant each text is, 0..1; what a model leaves out the critic judges."""
        if not texts:
            return []
        asked = _judge_input(question, texts)
        reply = self._engine.complete(self._judge, asked, self._reading, watch)
        scores = {judged.passage: judged.score for judged in reply.judged}
        if left_out := [number for number in range(1, len(texts) + 1) if number not in scores]:
            missing = _judge_input(question, [texts[number - 1] for number in left_out])
            own = self._judge.keyless(missing, self._reading).judged
            scores |= {number: judged.score for number, judged in zip(left_out, own, strict=True)}
        return [scores[number] for number in range(1, len(texts) + 1)]

    def _refined(self, question: str, hits: Sequence[Hit], watch: Watch) -> tuple[list[Hit], list[Strip]]:
        """The hits cut down to their strips that help, without pages of the web that have none; and all strips."""
        if not self._settings.refine:
            return list(hits), []
        cut = [(hit.chunk, text) for hit in hits for text in strips_of(hit.chunk, self._settings.strip_sentences)]
        scores = self._strip_scores(question, [text for _, text in cut], watch)
        strips = [
            Strip(chunk=chunk.id, text=text, score=score, kept=(score or 0.0) > self._settings.strip_threshold)
            for (chunk, text), score in zip(cut, scores, strict=True)
        ]
        refined = [self._cut_down(hit, [strip for strip in strips if strip.chunk == hit.chunk.id]) for hit in hits]
        return [hit for hit in refined if hit], strips

    def _cut_down(self, hit: Hit, strips: Sequence[Strip]) -> Hit | None:
        """The hit with only the strips that are kept; None for a page of the web that has none.

        A document's chunk stays whole beside them, since it is what is cited, and where it has none: what a second hop
        goes to has little to do with the question by itself. A page of the web is cited by its address: its chunk is
        what was kept of it.
        """
        kept = " ".join(strip.text for strip in strips if strip.kept)
        if hit.chunk.url:
            return hit.model_copy(update={"chunk": hit.chunk.model_copy(update={"text": kept})}) if kept else None
        return hit.model_copy(update={"refined": kept}) if kept and not all(strip.kept for strip in strips) else hit

    def _strip_scores(self, question: str, texts: Sequence[str], watch: Watch) -> list[float | None]:
        """A score for each strip; where there are too many, None for those that are the least close."""
        judged = list(range(len(texts)))
        if len(texts) > self._settings.max_strips:
            closeness = self._reading.closeness(question, texts)
            judged = sorted(sorted(judged, key=lambda at: -closeness[at])[: self._settings.max_strips])
        scores = dict(zip(judged, self._scores(question, [texts[at] for at in judged], watch), strict=True))
        return [scores.get(at) for at in range(len(texts))]

    def _asked(self, question: str, watch: Watch) -> _Web:
        """What the web says, the best first, or why it says nothing."""
        if not self._settings.web:
            return _Web(notes=("The web was not asked: it is switched off.",))
        if self._web is None:
            return _Web(notes=("The web was not asked: set up SearXNG, Tavily, Brave or ddgs for it.",))
        if watch.left_s() < _LEAST_S:
            return _Web(notes=("The web was not asked: there was no time left for it.",))
        written = self._engine.complete(QUERY, QueryInput(question=question), self._reading, watch).query
        query = " ".join(inert(written).split()[:_QUERY_WORDS])[:_QUERY_CHARS]
        asked = _Web(query=query, provider=self._web.name)
        try:
            results = self._web.search(query, self._settings.web_results)
        except WebError as error:
            return asked.model_copy(update={"notes": (str(error),)})
        hits, pages = self._selected(question, results, watch)
        notes = () if hits else (f"{self._web.name} found nothing that helps.",)
        return asked.model_copy(update={"hits": tuple(hits), "pages": tuple(pages), "notes": notes})

    def _selected(self, question: str, results: Sequence[WebResult], watch: Watch) -> tuple[list[Hit], list[WebPage]]:
        """The results that help as evidence, the best first; and all of them, in their order."""
        scores = self._scores(question, [f"{result.title}\n{result.text}" for result in results], watch)
        best = sorted(zip(results, scores, strict=True), key=lambda one: -one[1])[: self._settings.web_passages]
        hits = [_scored(self._as_hit(one), score) for one, score in best if score > self._settings.strip_threshold]
        used = {hit.chunk.id for hit in hits}
        pages = [
            WebPage(url=one.url, title=one.title, score=score, chunk=id_ if (id_ := _web_id(one)) in used else "")
            for one, score in zip(results, scores, strict=True)
        ]
        return hits, pages

    def _as_hit(self, result: WebResult) -> Hit:
        """A page as evidence. It is named by its host: a title is a stranger's text, to be quoted like the rest."""
        text = result.page or result.text
        chunk = Chunk(
            id=_web_id(result),
            document=result.url,
            name=httpx.URL(result.url).host,
            caption=result.title,
            text=text if self._settings.refine else text[:MAX_TEXT_CHARS],
            source=result.url,
            url=result.url,
        )
        return Hit(chunk=chunk, score=0.0)

    def _ranked(self, hits: Sequence[Hit]) -> list[Hit]:
        """What is relevant among the documents, then the web, then the rest; scores fall."""

        def group(hit: Hit) -> int:
            if hit.chunk.url:
                return 1
            return 0 if self.relevant(hit.scores["crag"]) else 2

        ranked = sorted(hits, key=group)
        falling = accumulate((hit.score for hit in ranked), min)
        return [hit.model_copy(update={"score": score}) for hit, score in zip(ranked, falling, strict=True)]


class _Web(Value):
    """What asking the web came to."""

    hits: tuple[Hit, ...] = ()
    query: str = ""
    provider: str = ""
    pages: tuple[WebPage, ...] = ()
    notes: tuple[str, ...] = ()


def strips_of(chunk: Chunk, sentences_each: int) -> list[str]:
    """The chunk's text in strips of so many sentences, in order; a table or figure is one, with what is said of it."""
    if chunk.kind != "text":
        return [chunk.searchable_text]
    found = sentences(chunk.text)
    return [" ".join(found[at : at + sentences_each]) for at in range(0, len(found), sentences_each)]


def _judge_input(question: str, texts: Sequence[str]) -> JudgeInput:
    cut = [text[:_PASSAGE_CHARS] for text in texts]
    passages = "\n".join(f"[{number}]\n{quoted(text)}" for number, text in enumerate(cut, start=1))
    return JudgeInput(question=question, passages=passages, texts=cut)


def _scored(hit: Hit, score: float) -> Hit:
    own = {} if hit.chunk.url is None else {"score": score}
    return hit.model_copy(update={"scores": hit.scores | {"crag": score}, **own})


def _web_id(result: WebResult) -> str:
    return str(uuid5(NAMESPACE_URL, result.url))


CRAG = Technique(
    name="crag",
    label="correct what was found",
    group="check",
    summary="Judges what was retrieved, keeps what helps and asks the web where that is not enough.",
    settings=CragSettings,
    verb=Crag.correct,
    signatures=(JUDGE, QUERY),
)
