"""Text whose characters are wrong, because its font maps shapes to other characters than it shows.

Such text looks right on the page and is useless to search. Signs of it: replacement and private-use characters, words
that mix alphabets, and Latin letters with hardly a vowel among them.
"""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Iterable
from functools import lru_cache

UNKNOWN_SHARE = 0.1
MIXED_SHARE = 0.2
VOWEL_SHARE = 0.2
MIN_LETTERS = 150
MIN_WORDS = 20

_UNKNOWN = re.compile("[\ufffd\ue000-\uf8ff\U000f0000-\U0010ffff]")
_WORD = re.compile(r"[^\W\d_]{3,}")
_VOWELS = frozenset("aeiouy")
# Alphabets that share no words. Others (Han with kana, Latin with its extensions) do.
_ALPHABETS = frozenset(("LATIN", "GREEK", "CYRILLIC", "ARABIC", "HEBREW", "ARMENIAN", "THAI", "DEVANAGARI"))


def is_garbled(texts: Iterable[str]) -> bool:
    """Whether the text of a page is so improbable that its pixels tell more; false for a page of few letters."""
    text = unicodedata.normalize("NFKD", " ".join(texts)).lower()
    letters = sum(map(str.isalpha, text))
    unknown = len(_UNKNOWN.findall(text))
    if unknown >= MIN_WORDS and unknown > UNKNOWN_SHARE * (letters + unknown):
        return True
    words = _WORD.findall(text)
    if letters < MIN_LETTERS or len(words) < MIN_WORDS:
        return False
    alphabets = [_alphabets(word) for word in words]
    if sum(len(found) > 1 for found in alphabets) > MIXED_SHARE * len(words):
        return True
    latin = Counter("".join(word for word, found in zip(words, alphabets, strict=True) if found == {"LATIN"}))
    count = latin.total()
    return count > letters / 2 and sum(latin[vowel] for vowel in _VOWELS) < VOWEL_SHARE * count


def _alphabets(word: str) -> frozenset[str]:
    return frozenset(map(_alphabet, word)) & _ALPHABETS


@lru_cache(maxsize=10_000)
def _alphabet(letter: str) -> str:
    return unicodedata.name(letter, "").partition(" ")[0]
