"""Heal: where the check of an answer found issues, search for what they need and mend the answer with it.

Each attempt begins with the best version until now: a query for its issues, what that finds, a healed answer, which is
checked again. A version that scores lower is kept and not shown. Without a model the query is what the answer leaves
out of the question or what its unsupported sentences say, and healing drops these and quotes from the new chunks. Costs
a search, a check and two model calls an attempt.

Source: Gao et al. 2023, "RARR: Researching and Revising What Language Models Say, Using Language Models",
https://arxiv.org/abs/2210.08726
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from pydantic import BaseModel, Field

from rag_core.llm.engine import Engine, Watch
from rag_core.llm.quoting import without_tags
from rag_core.llm.reading.changes import settled
from rag_core.llm.reading.mending import HELD, CitedText, as_sentences, evidence_of, mended, numbered, quotable
from rag_core.llm.reading.names import names_of
from rag_core.llm.reading.reading import Reading
from rag_core.llm.reading.words import stems, words
from rag_core.llm.signature import Signature
from rag_core.techniques.base import Technique, TechniqueSettings
from rag_core.types import Hit, Sentence, Value

_SENTENCE = re.compile(r"\bsentence (\d+)\b", re.IGNORECASE)


class HealSettings(TechniqueSettings):
    """How long an answer is healed."""

    max_healing: int = Field(default=3, ge=1, le=8, description="Attempts, at most.")
    quality_target: float = Field(
        default=0.85, ge=0, le=1, description="An answer whose self-check is this good needs no healing."
    )
    passages: int = Field(default=4, ge=1, le=15, description="New chunks that an attempt heals with.")
    max_quotes: int = Field(
        default=2, ge=1, le=5, description="Without a model: sentences that an attempt quotes, at most."
    )


class QueryInput(BaseModel):
    question: str
    answer: str = Field(description="Its sentences, numbered from 1, with their support.")
    issues: list[str]
    tried: list[str] = Field(description="Queries that were searched already.")
    sentences: list[str]
    supported: list[float] = Field(description="For each sentence, the probability that it is supported.")


class QueryOutput(BaseModel):
    query: str = Field(description="A few words, unlike those tried; empty where no search can help.")


class HealInput(BaseModel):
    question: str
    answer: str = Field(description="Its sentences, numbered from 1, with their support.")
    issues: list[str]
    issues_text: str = Field(description="The same as the model reads them, numbered from 1.")
    evidence: str = Field(
        description="The passages as the model reads them, numbered from 1: those cited, then the new."
    )
    sentences: list[str]
    supported: list[float] = Field(description="For each sentence, the probability that it is supported.")
    cited: int = Field(description="How many of the passages are not new.")
    new: list[list[str]] = Field(description="For each new passage, best first, what of it can be quoted.")
    max_quotes: int


class IssueHealed(BaseModel):
    """An issue by its number, and the passages by theirs, from 1."""

    issue: int
    passages: list[int] = Field(default=[])


class HealOutput(BaseModel):
    sentences: list[CitedText] = Field(
        min_length=1, description='[{"text": sentence, "passages": [numbers of those that hold it]}], the whole answer'
    )
    healed: list[IssueHealed] = Field(
        default=[], description='[{"issue": number, "passages": [numbers of those that healed it]}]'
    )


def query_for_issues(inputs: QueryInput, reading: Reading) -> QueryOutput:
    """What the held sentences leave out of the question, else what an unsupported one says; none that was tried."""
    held = [text for text, share in zip(inputs.sentences, inputs.supported, strict=True) if share >= HELD]
    missing = set(reading.missing(inputs.question, held))
    left_out = [word for word in dict.fromkeys(words(inputs.question)) if missing.intersection(stems(word))]
    queries = [" ".join(dict.fromkeys([*names_of(inputs.question), *left_out]))] if left_out else []
    queries += [text for text in inputs.sentences if text not in held]
    return QueryOutput(query=next((query for query in queries if query not in inputs.tried), ""))


def healed_by_quoting(inputs: HealInput, reading: Reading) -> HealOutput:
    """Unsupported sentences go, quotes of the new passages come; each issue with the quotes that speak of it."""
    answer = mended(inputs.question, inputs.sentences, inputs.supported, inputs.new, reading, inputs.max_quotes)
    quotes = [
        CitedText(text=one.text, passages=[inputs.cited + number for number in one.passages])
        for one in answer
        if one.passages
    ]
    by_text = {quote.text: quote for quote in quotes}
    stayed = {one.text for one in answer}
    healed: list[IssueHealed] = []
    for number, issue in enumerate(inputs.issues, start=1):
        named = _SENTENCE.search(issue)
        at = int(named[1]) - 1 if named else -1
        if 0 <= at < len(inputs.sentences):
            if inputs.sentences[at] not in stayed:
                healed.append(IssueHealed(issue=number, passages=quotes[0].passages if quotes else []))
        elif speak := [quote for quote in quotes if set(stems(issue)).intersection(stems(quote.text))]:
            passages = [passage for quote in speak for passage in quote.passages]
            healed.append(IssueHealed(issue=number, passages=passages))
    return HealOutput(sentences=[by_text.get(one.text, one) for one in answer], healed=healed)


QUERY = Signature(
    name="heal.query",
    inputs=QueryInput,
    outputs=QueryOutput,
    prompt="""\
An answer has issues. Give one search query that would find what they need, unlike those that were tried.
Keep names, numbers and units as they stand.

Question: {question}
Answer:
<passage>
{answer}
</passage>
Issues: {issues}
Tried: {tried}
""",
    keyless=query_for_issues,
    max_tokens=200,
)

HEAL = Signature(
    name="heal.heal",
    inputs=HealInput,
    outputs=HealOutput,
    prompt="""\
Heal an answer of its issues with the passages and nothing else. Leave sentences that are right word for word as they
are, in their order; correct or drop those that no passage holds; add what is missing. Keep names, numbers and units as
they stand.

Question: {question}
Answer:
<passage>
{answer}
</passage>
Issues:
{issues_text}

{evidence}
""",
    keyless=healed_by_quoting,
)


class Healing(Value):
    """An issue that a version healed."""

    issue: str
    chunks: tuple[str, ...] = Field(description="Ids of the new chunks that did; empty where a sentence was dropped.")


class Healed(Value):
    """A healed answer, not yet checked."""

    sentences: tuple[Sentence, ...]
    healed: tuple[Healing, ...] = ()


class Version(Value):
    """An answer as it was checked. The first is the draft."""

    sentences: tuple[Sentence, ...]
    quality: float
    issues: tuple[str, ...] = Field(description="What is still to be healed.")
    query: str = Field(default="", description="What was searched for to come to it.")
    new: tuple[str, ...] = Field(default=(), description="Ids of the chunks that this found and nothing before.")
    healed: tuple[Healing, ...] = Field(default=(), description="Issues of the version that it began with.")

    @property
    def text(self) -> str:
        return " ".join(sentence.text for sentence in self.sentences)


def best_version(versions: Sequence[Version]) -> Version:
    """The one to show: that of the best quality, the earliest of those."""
    return max(versions, key=lambda version: version.quality)


def heals_on(versions: Sequence[Version], settings: HealSettings) -> bool:
    """Whether another attempt follows.

    Args:
        versions: The draft and then one an attempt.
    """
    attempts = len(versions) - 1
    if attempts >= settings.max_healing or best_version(versions).quality >= settings.quality_target:
        return False
    return not settled([version.text for version in versions])


class Heal:
    """Mends answers with what was searched for their issues."""

    def __init__(self, settings: HealSettings, engine: Engine, reading: Reading) -> None:
        self._settings = settings
        self._engine = engine
        self._reading = reading

    def query(self, question: str, version: Version, tried: Sequence[str], watch: Watch) -> str:
        """What to search for; empty where nothing can help. A model may name what was tried all the same.

        Args:
            version: The best one until now.
            tried: All queries of the run.
        """
        asked = QueryInput(
            question=question,
            answer=_with_support(version.sentences),
            issues=list(version.issues),
            tried=list(tried),
            sentences=[sentence.text for sentence in version.sentences],
            supported=_supported(version.sentences),
        )
        return self._engine.complete(QUERY, asked, self._reading, watch).query.strip()

    def heal(self, question: str, version: Version, hits: Sequence[Hit], new: Sequence[Hit], watch: Watch) -> Healed:
        """Mend a version.

        Args:
            version: The best one until now.
            hits: The evidence that it was written from.
            new: What was found for its issues and is not among that, best first.

        Returns:
            Sentences that stayed as they were keep their citations; the others cite what the engine says holds them.
            An issue counts as healed by a new chunk only where a sentence that is new cites that.
        """
        chunks = evidence_of(version.sentences, hits, 0)
        found = [hit.chunk for hit in new[: self._settings.passages]]
        reply = self._engine.complete(
            HEAL,
            HealInput(
                question=question,
                answer=_with_support(version.sentences),
                issues=list(version.issues),
                issues_text="\n".join(f"{number} {issue}" for number, issue in enumerate(version.issues, start=1)),
                evidence=numbered([*chunks, *found]),
                sentences=[sentence.text for sentence in version.sentences],
                supported=_supported(version.sentences),
                cited=len(chunks),
                new=[quotable(chunk) for chunk in found],
                max_quotes=self._settings.max_quotes,
            ),
            self._reading,
            watch,
        )
        shown = [*chunks, *found]
        sentences = as_sentences(reply.sentences, version.sentences, shown) or list(version.sentences)
        stayed = {sentence.text for sentence in version.sentences}
        cited = {id_ for sentence in sentences if sentence.text not in stayed for id_ in sentence.citations}
        brought = {
            number: chunk.id for number, chunk in enumerate(shown, start=1) if chunk in found and chunk.id in cited
        }
        dropped = len({sentence.text for sentence in sentences} & stayed) < len(stayed)
        healed = [
            Healing(
                issue=version.issues[one.issue - 1],
                chunks=tuple(dict.fromkeys(brought[number] for number in one.passages if number in brought)),
            )
            for one in reply.healed
            if 0 < one.issue <= len(version.issues)
        ]
        return Healed(sentences=tuple(sentences), healed=tuple(one for one in healed if one.chunks or dropped))


def _supported(answer: Sequence[Sentence]) -> list[float]:
    """For each sentence how likely it is supported; one that was not checked is left alone."""
    return [1.0 if sentence.probability is None else sentence.probability for sentence in answer]


def _with_support(answer: Sequence[Sentence]) -> str:
    return "\n".join(
        f"{number} {without_tags(one.text)} ({(one.support or 'not checked').replace('_', ' ')})"
        for number, one in enumerate(answer, start=1)
    )


HEAL_TECHNIQUE = Technique(
    name="heal",
    label="heal",
    group="check",
    summary="Searches for what the check of an answer found wrong or missing, and mends it.",
    settings=HealSettings,
    verb=Heal.heal,
    signatures=(QUERY, HEAL),
)
