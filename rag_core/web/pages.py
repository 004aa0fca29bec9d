"""The pages that a search found, fetched as text and as nothing else; only where the settings ask for it.

Their addresses come from strangers. So what a name leads to is looked up once, held to be public, and connected to as
looked up; no proxy is used, which would look it up again. All of it, redirects too, has one clock and one size.
"""

from __future__ import annotations

import ipaddress
import logging
import re
import socket
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

import httpcore
import httpx

from rag_core.errors import RagError
from rag_core.fan_out import fan_out
from rag_core.web.results import MAX_PAGE_CHARS, WebResult, WebSearch, safe_url

MAX_PAGE_BYTES = 1_000_000
"""What a page has beyond them is not read."""
MAX_REDIRECTS = 3
MEDIA_TYPES = ("text/html", "application/xhtml+xml", "text/plain")
_AT_ONCE = 3
_MOVED = (301, 302, 303, 307, 308)
_CHARSET = re.compile(r"charset\s*=\s*[\"']?([\w.:-]+)", re.IGNORECASE | re.ASCII)
_GLOBAL_V6 = ipaddress.ip_network("2000::/3")

log = logging.getLogger(__name__)

Address = ipaddress.IPv4Address | ipaddress.IPv6Address


class PageError(RagError):
    """A page could not be read."""

    def __init__(self, url: str, reason: str) -> None:
        super().__init__(f"{url} was not read: {reason}.")
        self.url, self.reason = url, reason


@dataclass(frozen=True, slots=True)
class Page:
    """What a server sent."""

    url: str
    media_type: str
    encoding: str
    """As the server names it; empty where it does not."""
    body: bytes


def is_public(address: Address) -> bool:
    """Whether an address is of the public internet, and not of this machine, a private network or a way into one."""
    if isinstance(address, ipaddress.IPv4Address):
        return address.is_global and not address.is_multicast
    # Mapped, 6to4, Teredo and NAT64 addresses lead to the IPv4 address that is within them.
    return address in _GLOBAL_V6 and address.is_global and address.sixtofour is None and address.teredo is None


def fetch(url: str, timeout_s: float, *, allowed: Callable[[Address], bool] = is_public) -> Page:
    """Fetch a page.

    Args:
        allowed: Which addresses may be connected to.

    Raises:
        PageError: It cannot be reached or may not be, it takes too long, or it is not text.
    """
    until, asked = time.monotonic() + timeout_s, url
    for _ in range(MAX_REDIRECTS + 1):
        answer = _answer(asked, until, allowed)
        if isinstance(answer, Page):
            return answer
        asked = answer
    raise PageError(url, f"it leads on more than {MAX_REDIRECTS} times")


class WithPages:
    """A search whose results have the text of their pages, but for pages that cannot be read."""

    def __init__(
        self,
        search: WebSearch,
        read: Callable[[Page], str],
        timeout_s: float,
        *,
        allowed: Callable[[Address], bool] = is_public,
    ) -> None:
        """Wrap a search.

        Args:
            read: Gives the text that a reader of the page sees. Raises PageError.
            timeout_s: For each page.
        """
        self.name = search.name
        self._search = search
        self._read = read
        self._timeout_s = timeout_s
        self._allowed = allowed

    def search(self, query: str, limit: int) -> list[WebResult]:
        """See `WebSearch.search`."""
        found = self._search.search(query, limit)
        whole = fan_out(self._with_page, found, at_once=_AT_ONCE)
        return [said if isinstance(result, RagError) else result for said, result in zip(found, whole, strict=True)]

    def _with_page(self, result: WebResult) -> WebResult:
        try:
            text = self._read(fetch(result.url, self._timeout_s, allowed=self._allowed))
        except PageError as error:
            log.info("%s", error)
            raise
        return result.model_copy(update={"page": text[:MAX_PAGE_CHARS]})


def _answer(url: str, until: float, allowed: Callable[[Address], bool]) -> Page | str:
    """The page, or the address that it is now at."""
    headers = {"User-Agent": "Ragscope", "Accept": ", ".join(MEDIA_TYPES), "Accept-Encoding": "identity"}
    try:
        with (
            httpcore.ConnectionPool(network_backend=_Guarded(url, until, allowed)) as pool,
            pool.stream("GET", url, headers=list(headers.items())) as response,
        ):
            given = {name.decode("latin-1").lower(): value.decode("latin-1") for name, value in response.headers}
            if response.status in _MOVED:
                return _moved(url, given.get("location", ""))
            if response.status != httpx.codes.OK:
                raise PageError(url, f"the server answered {response.status}")
            media_type, encoding = _media(given.get("content-type", ""))
            if media_type not in MEDIA_TYPES or given.get("content-encoding", "identity") != "identity":
                raise PageError(url, "it is no plain page of text")
            return Page(url, media_type, encoding, _start(response.iter_stream()))
    except httpcore.TimeoutException as error:
        raise PageError(url, "it took too long") from error
    except (httpcore.NetworkError, httpcore.ProtocolError, httpcore.UnsupportedProtocol, OSError) as error:
        raise PageError(url, "it cannot be reached") from error


def _moved(url: str, location: str) -> str:
    try:
        moved = safe_url(str(httpx.URL(url).join(location)))
    except (httpx.InvalidURL, ValueError):
        moved = None
    if moved is None:
        raise PageError(url, "it leads to what is no web page")
    return moved


def _media(content_type: str) -> tuple[str, str]:
    """'text/html; charset=utf-8' -> ('text/html', 'utf-8')."""
    media_type, _, rest = content_type.partition(";")
    named = _CHARSET.search(rest)
    return media_type.strip().lower(), named[1].lower() if named else ""


def _start(blocks: Iterable[bytes]) -> bytes:
    body = bytearray()
    for block in blocks:
        body += block
        if len(body) >= MAX_PAGE_BYTES:
            break
    return bytes(body[:MAX_PAGE_BYTES])


class _Guarded(httpcore.NetworkBackend):
    """Connects to addresses that are allowed, and to the very ones that were looked up."""

    def __init__(self, url: str, until: float, allowed: Callable[[Address], bool]) -> None:
        self._url = url
        self._until = until
        self._allowed = allowed
        self._inner = httpcore.SyncBackend()

    def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,
        local_address: str | None = None,
        socket_options: Any = None,
    ) -> httpcore.NetworkStream:
        """See `httpcore.NetworkBackend`."""
        try:
            found = {str(entry[4][0]) for entry in socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)}
        except (OSError, UnicodeError) as error:
            raise httpcore.ConnectError(str(error)) from error
        addresses = [ipaddress.ip_address(address) for address in sorted(found)]
        if not all(map(self._allowed, addresses)):
            raise PageError(self._url, "its address is not of the public internet")
        # IPv4 first: machines that lack a way out by IPv6 are many, the other kind is rare.
        for address in sorted(addresses, key=lambda one: one.version):
            try:
                stream = self._inner.connect_tcp(str(address), port, _left(self._until))
            except httpcore.ConnectError:
                continue
            return _Timed(stream, self._until)
        raise httpcore.ConnectError(host)


class _Timed(httpcore.NetworkStream):
    """A connection that ends in time, however slowly the other side drips."""

    def __init__(self, inner: httpcore.NetworkStream, until: float) -> None:
        self._inner = inner
        self._until = until

    def read(self, max_bytes: int, timeout: float | None = None) -> bytes:
        return self._inner.read(max_bytes, _left(self._until))

    def write(self, buffer: bytes, timeout: float | None = None) -> None:
        self._inner.write(buffer, _left(self._until))

    def start_tls(
        self, ssl_context: Any, server_hostname: str | None = None, timeout: float | None = None
    ) -> httpcore.NetworkStream:
        return _Timed(self._inner.start_tls(ssl_context, server_hostname, _left(self._until)), self._until)

    def close(self) -> None:
        self._inner.close()

    def get_extra_info(self, info: str) -> Any:
        return self._inner.get_extra_info(info)


def _left(until: float) -> float:
    left = until - time.monotonic()
    if left <= 0:
        raise httpcore.ReadTimeout("The time is up.")
    return left
