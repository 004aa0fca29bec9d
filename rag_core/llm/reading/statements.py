"""What of a passage can be quoted: whole sentences, and rows of tables with the headings that name their cells."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import zip_longest

from rag_core.llm.reading.sentences import sentences
from rag_core.llm.reading.words import stems

_TRAILS_OFF = ("...", "…")
_JOINED_WORDS = 40
_HEADING_WORDS = 12
_POINTS_BACK = re.compile(
    r"^[\"“]?(?:it|its|he|his|she|her|they|their|this|these|those|that|such|both|there)\b", re.IGNORECASE
)


@dataclass(frozen=True)
class Statement:
    """One thing that can be quoted.

    Args:
        passage: The passage's number, from 0.
        place: Its place among the passage's statements, from 0.
        before: The statement before it in its passage; empty for a row, which stands for itself.
        around: Stems of what it stands under: headings, caption, the head of its table.
        row: Whether it is a row of a table.
    """

    text: str
    passage: int
    place: int
    before: str = ""
    around: frozenset[str] = frozenset()
    row: bool = False
    said: frozenset[str] = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "said", frozenset(stems(self.text)))

    @property
    def words(self) -> int:
        return len(self.text.split())

    @property
    def subject(self) -> Statement | None:
        """The statement before it, where its subject stands there: 'It was founded in 2009.'"""
        if not self.before or not _POINTS_BACK.match(self.text):
            return None
        return Statement(self.before, self.passage, self.place - 1, around=self.around)

    @property
    def is_sentence(self) -> bool:
        """Whether it ends as a sentence does; headings and fragments are close to much and say nothing."""
        return not self.row and ends_as_sentence(self.text) and "|" not in self.text


def ends_as_sentence(text: str) -> bool:
    return text[-1] in ".!?…”\"')。"


def statements(text: str, passage: int, heading: str = "", *, table: bool = False) -> Iterator[Statement]:
    """The statements of a passage in its order.

    Args:
        table: The text is rows of cells parted by `|`, the first of them the head.
    """
    around = frozenset(stems(heading))
    if table:
        yield from _rows(text, passage, around)
        return
    before, under, found = "", around, _joined(text)
    for place, (sentence, following) in enumerate(zip_longest(found, found[1:])):
        if _is_heading(sentence, following):
            before, under = "", around | frozenset(stems(sentence))
            continue
        yield Statement(sentence, passage, place, before, under)
        before = sentence


def _is_heading(text: str, following: str | None) -> bool:
    """A few words without a full stop over a sentence: close to a question about it, and saying nothing."""
    if following is None or ends_as_sentence(text) or len(text.split()) > _HEADING_WORDS:
        return False
    return ends_as_sentence(following)


def _joined(text: str) -> list[str]:
    """The sentences of more than two words; what trails off goes together with what follows, as in search snippets."""
    found: list[str] = []
    for sentence in sentences(text):
        words = len(sentence.split())
        if found and found[-1].endswith(_TRAILS_OFF) and len(found[-1].split()) + words <= _JOINED_WORDS:
            found[-1] = f"{found[-1]} {sentence}"
        elif words > 2 or sentence.endswith(_TRAILS_OFF):
            found.append(sentence)
    return [sentence for sentence in found if len(sentence.split()) > 2]


def _rows(text: str, passage: int, around: frozenset[str]) -> Iterator[Statement]:
    rows = [row for row in text.splitlines() if row.strip()]
    if len(rows) < 2:
        yield from (Statement(row, passage, 0, around=around, row=True) for row in rows)
        return
    head = [cell.strip() for cell in rows[0].split("|")]
    under = around | frozenset(stems(rows[0]))
    for place, row in enumerate(rows[1:]):
        yield Statement(_named([cell.strip() for cell in row.split("|")], head), passage, place, around=under, row=True)


def _named(cells: list[str], head: list[str]) -> str:
    """'Cloud — Q3 2023: 30; Q3 2022: 25'."""
    if len(cells) < 2 or len(head) != len(cells):
        return " | ".join(cells)
    named = [f"{name}: {cell}" if name else cell for name, cell in zip(head[1:], cells[1:], strict=True) if cell]
    return f"{cells[0]} — {'; '.join(named)}"
