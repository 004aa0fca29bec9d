"""Numbers as documents print them: grouped digits, brackets below zero, currencies, per cents, and scale words."""

from __future__ import annotations

import re
from dataclasses import dataclass
from decimal import Decimal

SCALES = {"thousand": 10**3, "million": 10**6, "billion": 10**9, "trillion": 10**12}
_SHORT = {"000": 10**3, "000s": 10**3, "k": 10**3, "m": 10**6, "mm": 10**6, "mn": 10**6, "bn": 10**9, "b": 10**9}
_CURRENCY = r"(?:US|C|CA|A|AU|HK|NZ|S)?\$|[€£¥₹₩]|(?:USD|EUR|GBP|JPY|CNY|RMB|INR|CHF)\b"

_PRINTED = re.compile(
    rf"""\s*(?P<minus>[-−–]|\()?\s*
    (?P<unit>{_CURRENCY})?\s*
    (?P<inner>[-−–]|\()?\s*\+?
    (?P<digits>\d{{1,3}}(?:[, \u00a0\u202f]\d{{2,3}})*[, \u00a0\u202f]\d{{3}}(?:\.\d+)?|\d+(?:\.\d+)?|\.\d+)
    \s*(?P<after>%|‰|€|£|bps|pp|ppts?|pts?|x|×)?\s*(?P<close>\))?\s*(?P<late>%)?
    \s*(?P<scale>thousand|million|billion|trillion|mn|bn|[kmb]\b)?
    \s*(?:±\s*[\d.]+)?(?:[*†‡§¹²³]|\s*\([a-z\d]{{1,2}}\))*\s*""",
    re.VERBOSE | re.IGNORECASE,
)
_WORDS = r"(?P<{0}>thousand|million|billion|trillion)s?"
_SCALE_NOTE = re.compile(
    rf"""\bin\s+(?:[\w$€£.]+\s+(?:of\s+)?){{0,3}}?{_WORDS.format("a")}\b
    |\(\s*(?:[^()]{{0,40}}\b)?{_WORDS.format("b")}\b[^()]*\)
    |^\s*{_WORDS.format("c")}\b
    |(?:[$€£]|\bdollars|\beuros?|\bUSD|\bEUR|\bGBP|\bRs\.?)\s*{_WORDS.format("d")}\b
    |{_WORDS.format("e")}\s+(?:of\s+)?(?:U\.?S\.?\s+)?(?:dollars|euros?|pounds|[$€£])
    |(?:[$€£]|['’])\s?(?P<short>000s?|k|mm?|mn|bn)\b""",
    re.VERBOSE | re.IGNORECASE,
)
_UNIT_NOTE = re.compile(
    rf"(?P<sign>{_CURRENCY})|(?P<dollars>\bdollars?\b)|(?P<euros>\beuros?\b)|(?P<pounds>\bpounds? sterling\b)"
    r"|(?P<share>%|\bper ?cent(?:age)?s?\b)",
    re.IGNORECASE,
)
_NAMED = {"dollars": "$", "euros": "€", "pounds": "£", "share": "%"}
NIL = re.compile(r"\s*(?:[$€£]\s*)?[-−–—]+\s*%?\s*|\s*nil\s*", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Quantity:
    """A number with what it counts."""

    value: Decimal
    """As printed: 30274 for "$ 30,274" in a table of millions."""
    unit: str = ""
    """A currency ("$", "€", "USD"), "%", "bps", "x"; empty where none is said."""
    scale: int = 1
    """What the printed value is to be multiplied by: 1000000 in a table "in millions"."""

    @property
    def amount(self) -> Decimal:
        """The value at its full size."""
        return self.value * self.scale


def parse_number(text: str) -> Quantity | None:
    """Read a cell that is one number: "$ (1,204.5)" is -1204.5 dollars, "12.5 %" is 12.5 per cent.

    Returns:
        None for words, dates, ranges, and for a dash, which means zero in one table and "not known" in another
        (`is_nil` tells it from words).
    """
    found = _PRINTED.fullmatch(text)
    if not found:
        return None
    bracket = "(" in (found["minus"], found["inner"])
    if bracket != bool(found["close"]):
        return None
    digits = re.sub(r"[^\d.]", "", found["digits"])
    below = bracket or bool(found["minus"] or found["inner"])
    unit = found["unit"] or found["after"] or found["late"] or ""
    return Quantity(Decimal(digits) * (-1 if below else 1), unit, _scale(found["scale"]))


def is_nil(text: str) -> bool:
    """Whether a cell is a dash or the like, where numbers are expected."""
    return bool(NIL.fullmatch(text))


def scale_in(text: str) -> int | None:
    """Give the factor that a caption, heading or note says: 1000000 for "(in millions, except per share)"."""
    found = _SCALE_NOTE.search(text)
    if not found:
        return None
    word = next((found[name] for name in "abcde" if found[name]), None)
    return _scale(word or found["short"])


def unit_in(text: str) -> str:
    """Give the currency or "%" that a caption, heading or note names; empty where it names none."""
    found = _UNIT_NOTE.search(text)
    if not found:
        return ""
    return found["sign"] or next(sign for name, sign in _NAMED.items() if found[name])


def _scale(word: str | None) -> int:
    given = (word or "").lower()
    return SCALES.get(given) or _SHORT.get(given) or 1
