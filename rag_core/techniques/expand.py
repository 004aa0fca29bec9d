"""Expand: search also for what the passages may say instead of the question's words.

With a model: synonyms and related terms. Without one: the words that are frequent in the best first hits and rare
elsewhere (RM3, weighted by rarity), and the other form of acronyms that those hits introduce. The terms join the words
side of a second search; its vector stays the question's own. Costs one search, and with a model one call.

Source: Abdul-Jaleel et al. 2004, "UMass at TREC 2004: Novelty and HARD" (RM3),
https://trec.nist.gov/pubs/trec13/papers/umass.novelty.hard.pdf
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Sequence

from pydantic import BaseModel, Field

from rag_core.llm.engine import Engine, Watch
from rag_core.llm.reading.acronyms import acronyms_of
from rag_core.llm.reading.reading import Reading
from rag_core.llm.reading.words import stems, words
from rag_core.llm.signature import Signature
from rag_core.techniques.base import Technique, TechniqueSettings
from rag_core.types import Hit, Value

_LEAST_PASSAGES = 2
"""A word of one passage alone says what that passage is about, not what the question is about."""


class ExpandSettings(TechniqueSettings):
    """How far a question is widened."""

    passages: int = Field(default=8, ge=2, le=30, description="First hits that terms are taken from.")
    terms: int = Field(default=6, ge=1, le=20, description="Terms that are added.")
    weight: float = Field(
        default=0.3, ge=0, le=1, description="How much the widened search counts beside the question's own."
    )


class Scored(Value):
    """A passage and how well the first search found it."""

    text: str
    score: float


class ExpandInput(BaseModel):
    question: str
    terms: int
    passages: list[Scored] = Field(description="The first hits, best first.")


class ExpandOutput(BaseModel):
    terms: list[str] = Field(description="Synonyms and related terms, the most useful first.")


def terms_of_first_hits(inputs: ExpandInput, reading: Reading) -> ExpandOutput:
    """Other forms of acronyms, then the words of the relevance model."""
    texts = [passage.text for passage in inputs.passages]
    scores = [passage.score for passage in inputs.passages]
    weights = relevance_model([stems(text) for text in texts], scores)
    asked = set(stems(inputs.question))
    spread = Counter(stem for text in texts for stem in set(stems(text)))
    best = sorted(
        (stem for stem in weights if stem not in asked and spread[stem] >= _LEAST_PASSAGES and not stem.isdigit()),
        key=lambda stem: (-weights[stem] * reading.idf(stem), stem),
    )
    written = _as_written(texts)
    terms = [*_other_forms(inputs.question, texts), *(written[stem] for stem in best)]
    return ExpandOutput(terms=list(dict.fromkeys(terms))[: inputs.terms])


def relevance_model(documents: Sequence[Sequence[str]], scores: Sequence[float]) -> dict[str, float]:
    """How likely each word is in a text about the question: `P(w|R) = sum over d of P(w|d) P(d|q)`.

    Args:
        documents: The words of each.
        scores: How well each was found, 0 or more; their shares are `P(d|q)`.
    """
    total = sum(scores)
    model: defaultdict[str, float] = defaultdict(float)
    for document, score in zip(documents, scores, strict=True):
        share = score / total if total else 1 / len(documents)
        for word, count in Counter(document).items():
            model[word] += count / len(document) * share
    return dict(model)


def _as_written(texts: Sequence[str]) -> dict[str, str]:
    """The most frequent form of each stem."""
    forms: defaultdict[str, Counter[str]] = defaultdict(Counter)
    for text in texts:
        for word in words(text):
            for stem in stems(word):
                forms[stem][word] += 1
    return {stem: counts.most_common(1)[0][0] for stem, counts in forms.items()}


def _other_forms(question: str, texts: Sequence[str]) -> list[str]:
    """The long forms of the question's acronyms, and the acronyms of its long forms."""
    plain = " ".join(words(question))
    found = []
    for short, long in acronyms_of("\n".join(texts)).items():
        has_short = re.search(rf"(?<!\w){re.escape(short)}(?!\w)", question) is not None
        has_long = " ".join(words(long)) in plain
        if has_short != has_long:
            found.append(long if has_short else short)
    return found


EXPAND = Signature(
    name="expand.terms",
    inputs=ExpandInput,
    outputs=ExpandOutput,
    prompt="""\
Give up to {terms} terms that passages answering the question may use instead of its own words, or beside them:
synonyms, spelt-out acronyms, technical terms. No words of the question, no guesses at the answer.

Question: {question}
""",
    keyless=terms_of_first_hits,
)


class Expanded(Value):
    """A question for the words side of a search, and what was added to it."""

    query: str
    terms: tuple[str, ...]


class Expand:
    """Widens questions."""

    def __init__(self, settings: ExpandSettings, engine: Engine, reading: Reading) -> None:
        self._settings = settings
        self._engine = engine
        self._reading = reading

    @property
    def weight(self) -> float:
        """How much the widened search counts beside the question's own, 0..1."""
        return self._settings.weight

    def expand(self, question: str, hits: Sequence[Hit], watch: Watch) -> Expanded:
        """Add terms to a question.

        Args:
            hits: Of a first search, best first.

        Returns:
            At most `terms` new terms; the question as it is where there are none.
        """
        passages = [
            Scored(text=hit.chunk.searchable_text, score=max(0.0, hit.score)) for hit in hits[: self._settings.passages]
        ]
        asked = ExpandInput(question=question, terms=self._settings.terms, passages=passages)
        reply = self._engine.complete(EXPAND, asked, self._reading, watch)
        said = set(words(question))
        new = [term for term in map(str.strip, reply.terms) if not set(words(term)) <= said]
        terms = tuple(dict.fromkeys(new))[: self._settings.terms]
        return Expanded(query=" ".join([question, *terms]), terms=terms)


EXPAND_TECHNIQUE = Technique(
    name="expand",
    label="expand",
    group="retrieve",
    summary="Searches also for synonyms and related terms.",
    settings=ExpandSettings,
    verb=Expand.expand,
    signatures=(EXPAND,),
)
