"""Names of entities, to be found again in a question however they are written there."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Sequence

from rag_core.llm.reading.words import STOP, words

_LONGEST = 12
_SURELY = 3
"""Words of a name that is taken for one without a capital."""
_IN_BRACKETS = re.compile(r"\((\w+)\)")


def key_of(name: str) -> str:
    """A name without case, accents and punctuation: 'Ștefan I. Nenițescu' -> 'stefan i nenitescu'."""
    return " ".join(words(name))


class Lexicon:
    """Entities by the names that they have."""

    def __init__(self, named: Iterable[tuple[int, Sequence[str]]]) -> None:
        """Take in `(position, names)` of each entity."""
        found: defaultdict[str, list[int]] = defaultdict(list)
        for position, names in named:
            for key in dict.fromkeys(map(key_of, names)):
                if key:
                    found[key].append(position)
        self._found = dict(found)

    def of(self, name: str) -> Sequence[int]:
        """The entities of that name; several where it is ambiguous."""
        return self._found.get(key_of(name), ())

    def shared(self) -> Iterable[Sequence[int]]:
        """Entities that have a name in common."""
        return (positions for positions in self._found.values() if len(positions) > 1)

    def named_in(self, question: str) -> list[tuple[str, Sequence[int]]]:
        """`(name, entities)` that a question speaks of: the longest names first, none inside another.

        A short name counts where it has a capital, or where the question has none at all; 'song' in 'Netflix (Song)'
        only says which Netflix.
        """
        asked = [
            (key, mark.lstrip("(\"'“‘")[:1].isupper() or mark[:1].isdigit())
            for mark in question.split()
            for key in words(mark)
        ]
        aside = {key for bracket in _IN_BRACKETS.findall(question) for key in words(bracket)}
        in_small = not any(capital for _, capital in asked[1:])  # as many write into a search box
        taken = [False] * len(asked)
        found = []
        for length in range(min(_LONGEST, len(asked)), 0, -1):
            for start in range(len(asked) - length + 1):
                span = slice(start, start + length)
                keys = [key for key, _ in asked[span]]
                name = " ".join(keys)
                if (
                    name not in self._found
                    or any(taken[span])
                    or not (in_small or length >= _SURELY or any(capital for _, capital in asked[span]))
                    or all(key in STOP for key in keys)
                    or (length == 1 and keys[0] in aside)
                ):
                    continue
                taken[span] = [True] * length
                found.append((name, self._found[name]))
        return found
