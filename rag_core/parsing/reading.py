"""What is read of a document while pages come, fail, or cost their worker."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from rag_core.parsing.records import FailedPage, FileFacts, PageBlocks, Parsed
from rag_core.parsing.structure import assemble

LOST_IN_A_ROW = 5


@dataclass
class Reading:
    """What is read of one document so far.

    `lost` says why the page after `done` cost its worker, while it is tried once more for its text alone.
    """

    facts: FileFacts | None = None
    pages: list[PageBlocks] = field(default_factory=list)
    failed: list[FailedPage] = field(default_factory=list)
    done: int = 0
    lost: str | None = None
    lost_in_a_row: int = 0

    @property
    def page_count(self) -> int:
        return self.facts.pages if self.facts else 0

    @property
    def complete(self) -> bool:
        return self.facts is not None and self.done == self.facts.pages

    def take(self, message: dict[str, Any]) -> None:
        """Keep a worker's message: the facts of the file, or a page."""
        if "facts" in message:
            self.facts = FileFacts.model_validate(message["facts"])
            return
        reason = self.lost or message.get("reason")
        if "page" in message:
            self.pages.append(PageBlocks.model_validate(message["page"]))
            reason = reason and f"{reason}; only its text was read"
        self._next(reason)
        self.lost_in_a_row = self.lost_in_a_row if self.lost else 0
        self.lost = None

    def lose(self, reason: str, *, again: bool) -> None:
        """The next page cost its worker: try it once more where `again` says so, else name it."""
        self.lost_in_a_row += 1
        if again and self.lost is None:
            self.lost = reason
            return
        self._next(self.lost or reason)
        self.lost = None
        while self.lost_in_a_row >= LOST_IN_A_ROW and not self.complete:
            self._next("was not tried, since several before it could not be read")

    def parsed(self) -> Parsed:
        assert self.facts
        return Parsed(
            pages=self.facts.pages,
            title=self.facts.title,
            page_sizes=self.facts.page_sizes,
            elements=assemble(self.pages),
            failed=tuple(self.failed),
        )

    def _next(self, reason: str | None) -> None:
        self.done += 1
        if reason:
            self.failed.append(FailedPage(page=self.done, reason=reason))
