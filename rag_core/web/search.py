"""Four ways to search the web: a SearXNG of one's own, Tavily and Brave by key, and ddgs without one.

Only the query goes out. None of them follows a redirect: a key must not go where it was not meant to.
"""

from __future__ import annotations

import html
import json
import math
import time
from importlib import import_module
from importlib.util import find_spec
from typing import Any

import httpx

from rag_core.errors import SettingsError
from rag_core.settings import Settings
from rag_core.web.results import WebError, WebResult, WebSearch, inert, results_of

MAX_REPLY_BYTES = 2_000_000
_SPENT = (402, 429, 432, 433)
"""HTTP statuses that say that a limit is reached; the last two are Tavily's own."""


class SearXNG:
    """Asks a SearXNG; its settings.yml must have `json` among `search.formats`.

    Source: https://docs.searxng.org/dev/search_api.html
    """

    name = "SearXNG"

    def __init__(self, base_url: str, timeout_s: float) -> None:
        self._url = f"{base_url.rstrip('/')}/search"
        self._timeout_s = timeout_s

    def search(self, query: str, limit: int) -> list[WebResult]:
        """See `WebSearch.search`."""
        refused = "has the format json switched off: add it to search.formats in its settings.yml"
        params = {"q": query, "format": "json"}
        reply = _reply(self.name, "GET", self._url, self._timeout_s, refused, params=params)
        return results_of(self.name, reply.get("results"), limit, text="content")


class Tavily:
    """Asks Tavily.

    Source: https://docs.tavily.com/documentation/api-reference/endpoint/search
    """

    name = "Tavily"

    def __init__(self, key: str, timeout_s: float, *, base_url: str = "https://api.tavily.com") -> None:
        self._headers = {"Authorization": f"Bearer {key}"}
        self._timeout_s = timeout_s
        self._url = f"{base_url}/search"

    def search(self, query: str, limit: int) -> list[WebResult]:
        """See `WebSearch.search`."""
        refused = "refused the key: check TAVILY_API_KEY"
        asked = {"query": query, "max_results": limit}
        reply = _reply(self.name, "POST", self._url, self._timeout_s, refused, headers=self._headers, json=asked)
        return results_of(self.name, reply.get("results"), limit, text="content")


class Brave:
    """Asks Brave Search.

    Source: https://api-dashboard.search.brave.com/app/documentation/web-search
    """

    name = "Brave"

    def __init__(self, key: str, timeout_s: float, *, base_url: str = "https://api.search.brave.com") -> None:
        self._headers = {"X-Subscription-Token": key, "Accept": "application/json"}
        self._timeout_s = timeout_s
        self._url = f"{base_url}/res/v1/web/search"

    def search(self, query: str, limit: int) -> list[WebResult]:
        """See `WebSearch.search`."""
        refused = "refused the key: check BRAVE_API_KEY"
        params = {"q": query, "count": limit, "text_decorations": "false", "result_filter": "web"}
        reply = _reply(self.name, "GET", self._url, self._timeout_s, refused, headers=self._headers, params=params)
        web = reply.get("web", {"results": []})  # there is none where nothing was found
        found = results_of(self.name, web.get("results") if isinstance(web, dict) else None, limit, text="description")
        # Its texts come escaped, as they would stand in a page.
        return [
            one.model_copy(update={"title": inert(html.unescape(one.title)), "text": inert(html.unescape(one.text))})
            for one in found
        ]


class Ddgs:
    """Asks DuckDuckGo by ddgs, where that is installed.

    Source: https://github.com/deedy5/ddgs
    """

    name = "ddgs"

    def __init__(self, timeout_s: float) -> None:
        self._timeout_s = timeout_s

    def search(self, query: str, limit: int) -> list[WebResult]:
        """See `WebSearch.search`."""
        # By name: an option that is not among the requirements.
        ddgs, failures = import_module("ddgs"), import_module("ddgs.exceptions")
        try:
            # One engine: the others would each hear the question, and each take its time.
            search = ddgs.DDGS(timeout=math.ceil(self._timeout_s))
            entries = search.text(query, max_results=limit, backend="duckduckgo")
        except failures.TimeoutException as error:
            raise _late(self.name, self._timeout_s) from error
        except failures.DDGSException as error:
            if "No results" in str(error):
                return []
            raise WebError(self.name, "unreachable", "cannot reach DuckDuckGo: check the network") from error
        return results_of(self.name, entries, limit, url="href", text="body")


def web_search(settings: Settings) -> WebSearch | None:
    """What the environment names to search the web, or else the first that is set up; None where none is.

    Raises:
        SettingsError: What it names is not set up.
    """
    wait = settings.web_timeout_s
    ways = {
        "searxng": (SearXNG(settings.searxng_url, wait) if settings.searxng_url else None, "RAGSCOPE_SEARXNG_URL"),
        "tavily": (Tavily(settings.tavily_api_key, wait) if settings.tavily_api_key else None, "TAVILY_API_KEY"),
        "brave": (Brave(settings.brave_api_key, wait) if settings.brave_api_key else None, "BRAVE_API_KEY"),
        "ddgs": (Ddgs(wait) if find_spec("ddgs") else None, "`pip install ddgs`"),
    }
    if settings.web_provider == "auto":
        return next((search for search, _ in ways.values() if search), None)
    search, needed = ways[settings.web_provider]
    if search is None:
        raise SettingsError("RAGSCOPE_WEB_PROVIDER", settings.web_provider, f"set up with {needed} first")
    return search


def _reply(provider: str, method: str, url: str, timeout_s: float, refused: str, **sent: Any) -> dict[str, Any]:
    """The JSON object that a search replies with.

    Args:
        refused: What to do where it answers 401 or 403, as the end of a sentence.
        sent: Parameters, headers and JSON of the request.
    """
    try:
        status, body = _body(provider, method, url, timeout_s, sent)
    except httpx.TimeoutException as error:
        raise _late(provider, timeout_s) from error
    except (httpx.HTTPError, httpx.InvalidURL) as error:
        raise WebError(provider, "unreachable", "cannot be reached: check its address and the network") from error
    if status in (401, 403):
        raise WebError(provider, "refused", refused)
    if status in _SPENT:
        raise WebError(provider, "busy", "takes no more searches now: wait, or see to its limit")
    if status != httpx.codes.OK:
        raise WebError(provider, "bad_reply", f"answered with status {status}: check its address, or try later")
    try:
        reply = json.loads(body)
    except (ValueError, RecursionError) as error:
        raise WebError(provider, "bad_reply", "sent something that is no JSON: check its address") from error
    return reply if isinstance(reply, dict) else {}


def _body(provider: str, method: str, url: str, timeout_s: float, sent: dict[str, Any]) -> tuple[int, bytes]:
    """Status and body. The time is for all of it: a reply that drips ends too."""
    body = bytearray()
    with httpx.Client(timeout=timeout_s) as client:
        until = time.monotonic() + timeout_s
        with client.stream(method, url, **sent) as response:
            for block in response.iter_bytes():
                body += block
                if len(body) > MAX_REPLY_BYTES:
                    what = f"sent more than {MAX_REPLY_BYTES:,} bytes: check its address"
                    raise WebError(provider, "bad_reply", what)
                if time.monotonic() > until:
                    raise _late(provider, timeout_s)
    return response.status_code, bytes(body)


def _late(provider: str, timeout_s: float) -> WebError:
    return WebError(provider, "timeout", f"took longer than {timeout_s:g} seconds: try later, or allow it more")
