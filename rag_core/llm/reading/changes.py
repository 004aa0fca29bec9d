"""What changed between two versions of a text, word by word, and whether anything changes still."""

from __future__ import annotations

import re
from collections.abc import Sequence
from difflib import SequenceMatcher
from typing import Literal, NamedTuple

_WORD = re.compile(r"\S+\s*")


class Change(NamedTuple):
    """A run of words that stayed, came or went, with the space after it."""

    kind: Literal["equal", "insert", "delete"]
    text: str


def changes(before: str, after: str) -> list[Change]:
    """The words of both texts in their order; where some take the place of others, those that went come first.

    All but the inserted ones, joined, are `before`; all but the deleted ones `after`, but for the space between words.
    """
    old, new = _WORD.findall(before), _WORD.findall(after)
    # Space is no change: the last word of one version has none after it.
    matcher = SequenceMatcher(None, [word.strip() for word in old], [word.strip() for word in new], autojunk=False)
    found: list[Change] = []
    for kind, old_from, old_to, new_from, new_to in matcher.get_opcodes():
        if kind == "equal":
            found.append(Change("equal", "".join(new[new_from:new_to])))
            continue
        if went := "".join(old[old_from:old_to]):
            found.append(Change("delete", went))
        if came := "".join(new[new_from:new_to]):
            found.append(Change("insert", came))
    return found


def settled(versions: Sequence[str]) -> bool:
    """Whether nothing changed twice in a row: the next version would be the same again."""
    return len(versions) > 2 and versions[-1].split() == versions[-2].split() == versions[-3].split()
