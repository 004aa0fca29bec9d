"""Quoting: the statements that answer a question best, and those that go on with them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from rag_core.llm.reading.asked import Kind, kind_asked, specifics_of, subject_of, values, without_orders
from rag_core.llm.reading.names import names_of
from rag_core.llm.reading.reading import Reading
from rag_core.llm.reading.statements import Statement
from rag_core.llm.reading.words import stems

_CANDIDATES = 24
"""Statements whose vectors are compared: each costs 1.5 ms, and more found no further answer on three sets."""
_AS_GOOD = 0.3
"""What a statement may lie below the best and still be said."""
_NEXT, _GAIN, _BRIDGE = 0.15, 0.7, 0.2
"""What speaks for one as the next to be said (`_worth`). All weights here were tuned on half of XQuAD's questions."""
_NEW = 0.34
"""The share of a statement's words that must not have been said."""
_ABSENT, _UNKNOWN = 0.25, 0.12
"""What it costs the fit that no name or year asked for stands in the evidence, or one of them in no chunk at all."""


@dataclass(frozen=True)
class Quote:
    """A statement with what it is ranked by, and how well it fits the question: 0..1."""

    statement: Statement
    score: float
    fit: float


def ranked_quotes(question: str, candidates: Sequence[Statement], reading: Reading) -> list[Quote]:
    """The statements that say most of what was asked, best first; those with the fewest of its words are left out.

    Args:
        candidates: The statements of all passages, the best passage first.
    """
    known = set(stems(question))
    told = {one.text: one for one in reversed(candidates) if not one.said <= known}.values()
    asked, kind = subject_of(question), kind_asked(question)
    by_words = {one: _by_words(one, question, asked, kind, reading) for one in told}
    promising = sorted(by_words, key=lambda one: by_words[one], reverse=True)[:_CANDIDATES]
    closeness = reading.closeness(without_orders(question), [one.text for one in promising])
    quotes = [
        Quote(
            one,
            score=by_words[one] + 0.6 * float(close),
            fit=0.5 * float(close) + 0.5 * reading.coverage(asked, one.said | one.around),
        )
        for one, close in zip(promising, closeness, strict=True)
    ]
    return sorted(quotes, key=lambda quote: quote.score, reverse=True)


def _by_words(one: Statement, question: str, asked: Sequence[str], kind: Kind | None, reading: Reading) -> float:
    """What speaks for a statement before its vector is known: its words, those around it, a value of the kind asked."""
    around = one.said | one.around | frozenset(stems(one.before))
    return (
        0.4 * reading.coverage(asked, one.said)
        + 0.3 * reading.coverage(asked, around)
        + 0.15 * (kind is None or bool({*values(kind, one.text)} - {*values(kind, question)}))
        - 0.03 * one.passage
        - 0.3 * (not one.is_sentence and not one.row)
    )


def fit_of_all(question: str, ranked: Sequence[Quote], evidence: Sequence[Statement], reading: Reading) -> float:
    """How well the best statement fits, less where names and years of the question stand nowhere: up to 1."""
    held = {stem for one in evidence for stem in one.said | one.around}
    specifics = specifics_of(question)
    absent = [one for one in specifics if not one <= held]
    unknown = any(not reading.occurs(stem) for one in absent for stem in one)
    return max(quote.fit for quote in ranked) - _ABSENT * len(absent) / max(1, len(specifics)) - _UNKNOWN * unknown


def belonging(
    question: str, ranked: Sequence[Quote], reading: Reading, max_sentences: int, max_words: int
) -> list[Statement]:
    """The best statement and those that go on with it, within the limits, passage by passage as they stand there.

    A statement that begins with 'It' or 'This' brings the one before it, which has its subject.
    """
    best, asked = ranked[0].statement, subject_of(question)
    # What a second hop goes over: names that the best statement brings in.
    bridges = {stem for name in names_of(best.text) for stem in stems(name)} - set(stems(question))
    chosen = [best]
    if best.subject and max_sentences > 1 and best.words + best.subject.words <= max_words:
        chosen.append(best.subject)
    while len(chosen) < max_sentences:
        left = max_words - sum(one.words for one in chosen)
        worth = {
            quote.statement: _worth(quote, chosen, asked, bridges, reading)
            for quote in ranked
            if quote.statement.words <= left and _is_new(quote.statement, chosen)
        }
        following = max(worth, key=lambda one: worth[one], default=None)
        if following is None or worth[following] < ranked[0].score - _AS_GOOD:
            break
        chosen.append(following)
    order = list(dict.fromkeys(one.passage for one in chosen))
    return sorted(chosen, key=lambda one: (order.index(one.passage), one.place))


def _worth(
    quote: Quote, chosen: Sequence[Statement], asked: Sequence[str], bridges: set[str], reading: Reading
) -> float:
    """Its score, and more where it is next to one said, about a name one brought in, or says what none said."""
    one = quote.statement
    said = {stem for other in chosen for stem in other.said | other.around}
    gain = reading.coverage(asked, said | one.said | one.around) - reading.coverage(asked, said)
    is_next = any(one.passage == other.passage and abs(one.place - other.place) == 1 for other in chosen)
    return quote.score + _NEXT * is_next + _GAIN * gain + _BRIDGE * bool(bridges & one.around)


def _is_new(one: Statement, chosen: Sequence[Statement]) -> bool:
    said = {stem for other in chosen for stem in other.said}
    return len(one.said - said) >= _NEW * len(one.said)
