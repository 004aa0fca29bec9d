"""Words as search and reading count them: lower case, without accents and stop words, stemmed."""

from __future__ import annotations

import re
import unicodedata
from functools import lru_cache

import Stemmer

_WORD = re.compile(r"[^\W_]+(?:[.,'’][^\W_]+)*")
STOP = frozenset(
    """a about above after again against all am an and any are as at be because been before being below between both
    but by can could did do does doing down during each few for from further had has have having he her here hers him
    his how i if in into is it its itself just me more most my no nor not of off on once only or other our ours out
    over own s same she should so some such t than that the their theirs them then there these they this those through
    to too under until up very was we were what when where which while who whom why will with would you your""".split()
)
_stemmer = Stemmer.Stemmer("english", 0)


def words(text: str) -> list[str]:
    """The words of a text in order, lower case, accents folded: 'Zürich’s 1,200' -> ['zurich', '1,200']."""
    plain = unicodedata.normalize("NFKD", text.lower())
    plain = "".join(mark for mark in plain if not unicodedata.combining(mark))
    return [word.replace("’", "'").removesuffix("'s") for word in _WORD.findall(plain)]


@lru_cache(maxsize=200_000)
def stem(word: str) -> str:
    return _stemmer.stemWord(word)


def stems(text: str) -> list[str]:
    """The content words of a text in order, stemmed; stop words are left out."""
    return [stem(word) for word in words(text) if word not in STOP]
