"""What one sentence says, as the critic compares it: its words, numbers, names, negations and directions."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise

from rag_core.llm.reading.names import names_of
from rag_core.llm.reading.words import STOP, stem, words

_NUMBER = re.compile(
    r"(?<![\w.])(?P<digits>\d{1,3}(?:,\d{3})+(?:\.\d+)?|\d+(?:\.\d+)?)"
    r"(?:\s*(?P<share>%|percent\b|per cent\b)|\s*(?P<scale>thousand|million|billion|trillion|bn\b|[kmb]\b))?",
    re.IGNORECASE,
)
_SCALES = {"thousand": 1e3, "k": 1e3, "million": 1e6, "m": 1e6, "billion": 1e9, "bn": 1e9, "b": 1e9, "trillion": 1e12}
# 'one' is left out: it mostly counts nothing.
_SPELT = {
    **{
        word: float(count) for count, word in enumerate("two three four five six seven eight nine ten".split(), start=2)
    },
    **{
        word: 10.0 * tens
        for tens, word in enumerate("twenty thirty forty fifty sixty seventy eighty ninety".split(), 2)
    },
    **{"half": 0.5, "eleven": 11.0, "twelve": 12.0, "dozen": 12.0, "hundred": 100.0},
}
_NEGATIONS = frozenset(
    """no not never none neither nor without cannot lack lacks lacked lacking absent absence fail fails failed failure
    unable unaffected unchanged deny denies denied hardly barely false incorrect independent independently""".split()
)
_NEGATION_REACH = 4
"""Words after a negation whose direction it turns round."""
_HEDGES = frozenset(
    """may might could possibly perhaps suggest suggests suggested likely unlikely probably potential potentially appear
    appears seem seems unclear unknown hypothesis hypothesized whether investigate investigated examined aim aimed
    sought objective determine evaluate assess study""".split()
)
_UP = """increase rise grow growth high higher more great greater elevate enhance promote induce activate stimulate
    upregulate up improve gain accelerate boost raise large larger strengthen augment facilitate positive beneficial
    support cause enable express add expand strong stronger better best above over long longer most major warm hot win
    accept approve open start begin presence present"""
_DOWN = """decrease decline reduce reduction low lower less fewer inhibit suppress downregulate down impair loss lose
    slow slower prevent block attenuate diminish weaken drop fall fell shrink harm negative disrupt delete deplete
    deficit limit small smaller poor worse worst below under short shorter least minor cool cold lost reject close stop
    end abolish abrogate antagonize protect absence hamper deficiency"""
_DIRECTIONS = {**{stem(word): 1 for word in _UP.split()}, **{stem(word): -1 for word in _DOWN.split()}}


@dataclass(frozen=True, slots=True)
class Number:
    """A number as a text gives it."""

    value: float
    """At its full size: 1.2e9 for '1.2 billion'."""
    printed: float
    """As printed, without its scale."""
    decimals: int
    share: bool
    """Whether it is a percentage."""

    def agrees_with(self, given: Number) -> bool:
        """Whether `given` is this number, or rounds to it."""
        if self.share != given.share and self.share:
            return False
        same = math.isclose(self.value, given.value) or math.isclose(self.printed, given.printed)
        return same or (self.decimals < given.decimals and math.isclose(round(given.value, self.decimals), self.value))


@dataclass(frozen=True)
class Statement:
    """One sentence, or one claim, taken apart."""

    text: str
    words: tuple[str, ...]
    stems: frozenset[str]
    bigrams: frozenset[tuple[str, str]]
    numbers: tuple[Number, ...]
    names: frozenset[str]
    """The words of its names, lower case."""
    negated: bool
    hedged: bool
    directions: tuple[tuple[str, int], ...]
    """Stems that say more (1) or less (-1), turned round where a negation stands before them."""


@lru_cache(maxsize=50_000)
def statement(text: str) -> Statement:
    """Take a sentence apart."""
    said = tuple(words(text))
    content = [stem(word) for word in said if word not in STOP]
    return Statement(
        text=text,
        words=said,
        stems=frozenset(content),
        bigrams=frozenset(pairwise(content)),
        numbers=tuple(_numbers(text, said)),
        names=frozenset(word for name in names_of(text) for word in words(name) if word not in STOP),
        negated=any(map(_negates, said)),
        hedged=any(word in _HEDGES for word in said),
        directions=tuple(_directions(said)),
    )


def _numbers(text: str, said: Sequence[str]) -> Iterator[Number]:
    for match in _NUMBER.finditer(text):
        printed = float(match["digits"].replace(",", ""))
        scale = _SCALES.get((match["scale"] or "").lower(), 1.0)
        decimals = len(match["digits"].partition(".")[2])
        yield Number(printed * scale, printed, decimals, share=bool(match["share"]))
    for word in said:
        if word in _SPELT:
            yield Number(_SPELT[word], _SPELT[word], 0, share=False)


def _directions(said: Sequence[str]) -> Iterator[tuple[str, int]]:
    for at, word in enumerate(said):
        if sign := _DIRECTIONS.get(stem(word)):
            turned = any(map(_negates, said[max(0, at - _NEGATION_REACH) : at]))
            yield stem(word), -sign if turned else sign


def _negates(word: str) -> bool:
    return word in _NEGATIONS or word.endswith("n't")
