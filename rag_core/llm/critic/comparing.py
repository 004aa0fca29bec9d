"""Comparing claims with passages: what the features are made of, embedded once and kept for a while."""

from __future__ import annotations

import math
from collections import OrderedDict
from collections.abc import Iterable, Sequence
from functools import lru_cache
from threading import Lock

import numpy as np

from rag_core.llm.critic.features import Evidence, Words, coverage, features_of
from rag_core.llm.critic.statement import statement
from rag_core.llm.reading.reading import Reading
from rag_core.llm.reading.sentences import sentences

_WORDS_KEPT = 2_000
"""Sentences whose word vectors are kept: about 40 MB."""
_LONGEST = 60
"""Words of a sentence: longer ones are mostly tables and lists, and are cut into pieces of this length."""

Pair = tuple[str, tuple[str, ...]]
"""A claim and the passages that it is held against, together."""


class Comparing:
    """Describes claims beside passages. Safe for threads."""

    def __init__(self, reading: Reading, common: str) -> None:
        """Wire it.

        Args:
            common: Stems of general English, the commonest first.
        """
        self._reading = reading
        self._rarity = rarity_in(common)
        self._words: OrderedDict[str, Words] = OrderedDict()
        self._lock = Lock()

    def read(self, texts: Iterable[str]) -> None:
        """Embed texts and their sentences ahead, all at once: faster, where many are to be judged."""
        given = list(dict.fromkeys(texts))
        if not given:
            return
        parts = [part for text in given for part in _split(text)]
        self._reading.vectors([*given, *parts])
        self._words_of(parts)

    def features(self, pairs: Sequence[Pair]) -> list[dict[str, float]]:
        """What the heads look at, for each claim beside its passages; empty where one side has no words."""
        if not pairs:
            return []
        self._reading.vectors(
            list(dict.fromkeys(text for claim, given in pairs for text in (claim, *given, *_split(*given))))
        )
        held = [
            self._evidence(claim, passages) if statement(claim).stems and _split(*passages) else None
            for claim, passages in pairs
        ]
        near = [[one.sentences[row].text for row in one.nearest] if one else [] for one in held]
        words = self._words_of(
            [text for (claim, _), texts in zip(pairs, near, strict=True) if texts for text in (claim, *texts)]
        )
        return [
            features_of(statement(claim), words[claim], one, [words[text] for text in texts], self._rarity)
            if one
            else {}
            for (claim, _), one, texts in zip(pairs, held, near, strict=True)
        ]

    def _evidence(self, claim: str, passages: tuple[str, ...]) -> Evidence:
        said = statement(claim)
        parts = tuple(statement(part) for part in _split(*passages))
        vectors = self._reading.vectors([claim, *(part.text for part in parts)])
        of_claim, of_parts = vectors[0], vectors[1:]
        both = of_parts[1:] + of_parts[:-1]
        return Evidence(
            sentences=parts,
            closeness=of_parts @ of_claim,
            pairs=both @ of_claim / np.linalg.norm(both, axis=1),
            passage=float(self._reading.closeness(claim, passages).max()),
            coverage=np.array([coverage(said.stems, part.stems, self._rarity) for part in parts]),
        )

    def _words_of(self, texts: Sequence[str]) -> dict[str, Words]:
        with self._lock:
            known = {text: self._words[text] for text in texts if text in self._words}
        missing = [text for text in dict.fromkeys(texts) if text not in known]
        known.update(zip(missing, (Words(*found) for found in self._reading.words_in_context(missing)), strict=True))
        with self._lock:
            self._words.update({text: known[text] for text in missing})
            while len(self._words) > _WORDS_KEPT:
                self._words.popitem(last=False)
        return known


class Rarity:
    """How rare a stem is in general English: 0 for the commonest, 1 for one that is not among the common ones."""

    def __init__(self, common: str) -> None:
        stems = common.split()
        last = math.log(2 + len(stems))
        self._known = {stem: math.log(2 + rank) / last for rank, stem in enumerate(stems)}

    def __call__(self, stem: str) -> float:
        return self._known.get(stem, 1.0)


@lru_cache(maxsize=4)
def rarity_in(common: str) -> Rarity:
    """The rarity of stems beside these common ones: a critic is made for every run, the table once."""
    return Rarity(common)


@lru_cache(maxsize=2_000)
def _split(*passages: str) -> tuple[str, ...]:
    """The sentences of passages that have words, none of them longer than is looked at."""
    parts = []
    for sentence in (part for passage in passages for part in sentences(passage)):
        words = sentence.split()
        pieces = [" ".join(words[start : start + _LONGEST]) for start in range(0, len(words), _LONGEST)]
        parts += [piece for piece in pieces if any(map(str.isalnum, piece))]
    return tuple(parts)
