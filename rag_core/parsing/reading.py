"""What is read of a document while several workers bring its pages, fail at some, or die of one."""

from __future__ import annotations

import threading
from collections import deque
from dataclasses import dataclass, field
from typing import Any

from rag_core.parsing.kept import KeptPages
from rag_core.parsing.records import FailedPage, FileFacts, PageBlocks, Parsed
from rag_core.parsing.structure import assemble

LOST_IN_A_ROW = 5
MAX_CHARS = 50_000_000
"""More text than any book has; what a document holds beyond it is not kept, since all of it is in memory at once."""


@dataclass(frozen=True)
class Span:
    """Pages for one worker to read, counted from 1. `lost` says why a page, now alone, cost its worker before."""

    pages: tuple[int, ...]
    lost: str | None = None


@dataclass
class Reading:
    """What is read of one document so far, and what is left to read. Safe to use from many threads.

    Args:
        span: How many pages a worker is given at a time.
        again: Whether a page that cost its worker is tried once more, alone and for its text.
        seconds: Time that workers may spend on the document, together.
    """

    facts: FileFacts
    span: int
    again: bool
    seconds: float
    kept: KeptPages | None = None
    pages: dict[int, PageBlocks] = field(default_factory=dict)
    failed: dict[int, str] = field(default_factory=dict)
    _settled: set[int] = field(default_factory=set)
    _left: deque[Span] = field(default_factory=deque)
    _lost_in_a_row: int = 0
    _spent: float = 0
    _chars: int = 0
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def __post_init__(self) -> None:
        numbers = range(1, self.facts.pages + 1)
        self._left.extend(
            Span(tuple(numbers[start : start + self.span])) for start in range(0, len(numbers), self.span)
        )

    @property
    def done(self) -> int:
        return len(self._settled)

    def next_span(self) -> Span | None:
        """Give the next pages to read; None when nothing is left to begin."""
        with self._lock:
            if self._spent > self.seconds:
                self._give_up(f"was not tried, since the document took longer than {self.seconds:g} s")
            return self._left.popleft() if self._left else None

    def spend(self, seconds: float) -> None:
        """Count the time that a worker had the document."""
        with self._lock:
            self._spent += seconds

    def take(self, span: Span, message: dict[str, Any]) -> None:
        """Keep what a worker says of one page of its span."""
        page = self._page(message)
        number, reason = message["number"], message.get("reason")
        if span.lost:
            reason = f"{span.lost}; only its text was read" if page else span.lost
        with self._lock:
            self._lost_in_a_row = self._lost_in_a_row if span.lost else 0
            self._chars += sum(len(block.text) for block in page.blocks) if page else 0
            if self._chars > MAX_CHARS:
                page, reason = None, f"was not kept: the pages before it hold {MAX_CHARS:,} characters"
            if page:
                self.pages[number] = page
            self._settle(number, reason)

    def lose(self, span: Span, reason: str) -> None:
        """Note that a worker was lost: to the first page of its span that it has said nothing of."""
        with self._lock:
            self._lost_in_a_row += 1
            unread = [number for number in span.pages if number not in self._settled]
            if not unread:
                return
            number, rest = unread[0], tuple(unread[1:])
            if rest:
                self._left.appendleft(Span(rest))
            if self.again and not span.lost:
                self._left.appendleft(Span((number,), lost=reason))
                return
            self._settle(number, span.lost or reason)
            if self._lost_in_a_row >= LOST_IN_A_ROW:
                self._give_up("was not tried, since several before it could not be read")

    def parsed(self) -> Parsed:
        return Parsed(
            pages=self.facts.pages,
            title=self.facts.title,
            page_sizes=self.facts.page_sizes,
            elements=assemble([self.pages[number] for number in sorted(self.pages)]),
            failed=tuple(FailedPage(page=number, reason=self.failed[number]) for number in sorted(self.failed)),
            ocr={number: page.ocr for number, page in sorted(self.pages.items()) if page.ocr},
        )

    def _page(self, message: dict[str, Any]) -> PageBlocks | None:
        if self.kept and "same" in message:
            return self.kept.get(message["same"], message["number"])
        page = PageBlocks.model_validate(message["page"]) if "page" in message else None
        if self.kept and page and message.get("digest") and not message.get("reason"):
            self.kept.add(message["digest"], page)
        return page

    def _settle(self, number: int, reason: str | None) -> None:
        self._settled.add(number)
        if reason:
            self.failed[number] = reason

    def _give_up(self, reason: str) -> None:
        while self._left:
            span = self._left.popleft()
            for number in span.pages:
                self._settle(number, span.lost or reason)
