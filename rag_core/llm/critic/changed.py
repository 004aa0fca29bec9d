"""Sentences changed so that they say something else: what the critic learns contradiction from, beside labelled claims.

All choices are drawn from the given generator: the same seed gives the same sentences.
"""

from __future__ import annotations

import re
from random import Random

_OPPOSITES = """increase decrease|increases decreases|increased decreased|increasing decreasing|higher lower|more less
greater smaller|high low|improve worsen|improves worsens|improved worsened|positive negative|up down|rise fall
rises falls|rose fell|grew shrank|gain loss|before after|above below|with without|promotes inhibits|promote inhibit
activates inhibits|activation inhibition|enhances reduces|enhanced reduced|enhance reduce|longer shorter
stronger weaker|early late|most least|all none|always never|better worse|larger smaller|upregulated downregulated
induces prevents|induced prevented|beneficial harmful|open closed|first last|men women|male female|young old
best worst|maximum minimum|faster slower|wider narrower|many few|accepted rejected|significant insignificant
presence absence|susceptible resistant|sensitive resistant|adults children"""
_PAIRS = [pair.split() for pair in re.split(r"[|\n]", _OPPOSITES)]
_OPPOSITE = {**{b: a for a, b in reversed(_PAIRS)}, **dict(reversed(_PAIRS))}
_VERB = re.compile(r"\b(?:is|are|was|were|has|have|had|can|could|will|would|does|do|did|may|should)\b(?! not)")
_NOT = re.compile(r"\b(?:not|no|never)\s")
_NUMBER = re.compile(r"(?<![\w.])\d{1,3}(?:,\d{3})+(?:\.\d+)?|(?<![\w.])\d+(?:\.\d+)?(?![\w.]*\w)")
_FACTORS = (0.1, 0.5, 0.8, 1.2, 1.5, 2, 10)
_YEARS = range(1900, 2100)
_OPENING = re.compile(
    r"^(?:However|Moreover|Furthermore|In addition|Thus|Therefore|Here|Finally|Conversely|Interestingly|In contrast),? "
)
_TAIL = re.compile(r"(?:,|;) (?=which|who|and|but|while|with|including|where|although|because)|;")
_LEAST_WORDS = 5


def shortened(sentence: str) -> str:
    """Its first part without brackets and opening words: it says less, and nothing else."""
    bare = re.sub(r"\s*\([^()]*\)", "", sentence)
    first = _TAIL.split(bare)[0]
    return _OPENING.sub("", first if len(first.split()) >= _LEAST_WORDS else bare).strip()


def negated(sentence: str) -> str | None:
    """With a 'not' more, or one less; None where there is no place for it."""
    if verb := _VERB.search(sentence):
        return f"{sentence[: verb.end()]} not{sentence[verb.end() :]}"
    return _NOT.sub("", sentence, count=1) if _NOT.search(sentence) else None


def turned(sentence: str, draw: Random) -> str | None:
    """With one word replaced by its opposite; None where none has one."""
    found = [match for match in re.finditer(r"[A-Za-z]+", sentence) if match.group().lower() in _OPPOSITE]
    if not found:
        return None
    match = draw.choice(found)
    return sentence[: match.start()] + _OPPOSITE[match.group().lower()] + sentence[match.end() :]


def miscounted(sentence: str, draw: Random) -> str | None:
    """With one number replaced by another; None where there is none."""
    found = list(_NUMBER.finditer(sentence))
    if not found:
        return None
    match = draw.choice(found)
    return sentence[: match.start()] + _other_number(match.group(), draw) + sentence[match.end() :]


def _other_number(printed: str, draw: Random) -> str:
    value, decimals = float(printed.replace(",", "")), len(printed.partition(".")[2])
    if not decimals and value in _YEARS:
        return str(int(value) + draw.choice([-10, -3, -2, -1, 1, 2, 3, 10]))
    other = f"{(value or 3) * draw.choice(_FACTORS):{',' if ',' in printed else ''}.{decimals}f}"
    return other if other != printed else str(int(value) + 1)
