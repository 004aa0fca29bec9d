"""What a web search gives. Whoever wrote it is a stranger: it leaves here as plain text that says nothing unseen."""

from __future__ import annotations

from typing import Any, Literal, Protocol

import httpx
from pydantic import Field

from rag_core.errors import RagError
from rag_core.types import Value

MAX_TITLE_CHARS = 200
MAX_TEXT_CHARS = 4_000
MAX_PAGE_CHARS = 20_000
MAX_URL_CHARS = 2_000


class WebResult(Value):
    """One page that a search found."""

    url: str = Field(description="http or https, with its host in ASCII.")
    title: str
    text: str = Field(description="What the search says of it, in one line.")
    page: str = Field(default="", description="What stands on it, in paragraphs; empty where it was not read.")
    provider: str


class WebSearch(Protocol):
    """Something that searches the web."""

    name: str

    def search(self, query: str, limit: int) -> list[WebResult]:
        """The best pages for a query, at most `limit`; the empty list where there are none.

        Raises:
            WebError: It could not be asked.
        """
        ...


class WebError(RagError):
    """The web could not be asked; `code` says in a word why."""

    def __init__(
        self, provider: str, code: Literal["unreachable", "timeout", "refused", "busy", "bad_reply"], reason: str
    ) -> None:
        super().__init__(f"{provider} {reason}.")
        self.provider, self.code = provider, code


def inert(text: str) -> str:
    """The text in one line, without characters that do not show: what they hide, a model would read."""
    seen = (c if c.isprintable() else " " * c.isspace() for c in text)
    return " ".join("".join(seen).split())


def safe_url(text: str) -> str | None:
    """The address of a web page; None for one that is none, or that shows another host than it leads to."""
    try:
        url = httpx.URL(text)
    except (httpx.InvalidURL, TypeError, ValueError):
        return None
    plain = url.scheme in ("http", "https") and url.host and not url.userinfo
    return str(url) if plain and len(str(url)) <= MAX_URL_CHARS else None


def results_of(provider: str, entries: Any, limit: int, *, text: str, url: str = "url") -> list[WebResult]:
    """The usable entries of a reply, each page once, in its order.

    Args:
        entries: A list of objects.
        text, url: Their fields for what the search says of a page, and for its address.

    Raises:
        WebError: It is no list.
    """
    if not isinstance(entries, list):
        raise WebError(provider, "bad_reply", "sent no list of results: check its address")
    found: dict[str, WebResult] = {}
    for entry in entries:
        if isinstance(entry, dict) and (result := _result(provider, entry, text, url)):
            found.setdefault(result.url, result)
    return list(found.values())[:limit]


def _result(provider: str, entry: dict[str, Any], text: str, url: str) -> WebResult | None:
    address = safe_url(entry.get(url) or "")
    said = inert(str(entry.get(text) or ""))[:MAX_TEXT_CHARS]
    if address is None or not said:
        return None
    title = inert(str(entry.get("title") or ""))[:MAX_TITLE_CHARS]
    return WebResult(url=address, title=title, text=said, provider=provider)
