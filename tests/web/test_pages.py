import ipaddress
import socket
import time

import pytest

from rag_core.web.pages import MAX_PAGE_BYTES, Address, Page, PageError, WithPages, fetch, is_public
from rag_core.web.results import WebResult
from tests.web_server import Reply, WebServer, web_server

HERE = ipaddress.ip_address("127.0.0.1")


def here(address: Address) -> bool:
    """127.0.0.1 stands for the public internet; the rest of loopback for what must not be reached."""
    return address == HERE


@pytest.mark.parametrize(
    ("address", "public"),
    [
        ("93.184.215.14", True),
        ("2606:2800:21f:cb07:6820:80da:af6b:8b2c", True),
        ("127.0.0.1", False),
        ("127.8.8.8", False),
        ("0.0.0.0", False),
        ("10.1.2.3", False),
        ("172.16.0.1", False),
        ("192.168.1.1", False),
        ("169.254.169.254", False),
        ("100.64.0.1", False),
        ("224.0.0.1", False),
        ("255.255.255.255", False),
        ("::", False),
        ("::1", False),
        ("fe80::1", False),
        ("fd00::1", False),
        ("ff02::1", False),
        ("::ffff:127.0.0.1", False),
        ("::ffff:93.184.215.14", False),
        ("64:ff9b::7f00:1", False),
        ("2002:7f00:1::", False),
        ("2001:0:1::1", False),
    ],
)
def test_what_is_of_the_public_internet(address: str, public: bool) -> None:
    assert is_public(ipaddress.ip_address(address)) is public


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost", "2130706433", "0x7f.1", "127.1"])
def test_this_machine_is_not_connected_to_however_its_address_is_written(host: str) -> None:
    with web_server() as server:
        server.at["/"] = Reply(b"secret")
        port = server.url.rpartition(":")[2]
        with pytest.raises(PageError):
            fetch(f"http://{host}:{port}/", 2)
    assert server.asked == []


def test_a_name_with_one_private_address_is_not_connected_to(monkeypatch: pytest.MonkeyPatch) -> None:
    both = [(socket.AF_INET, socket.SOCK_STREAM, 6, "", (address, 80)) for address in ("93.184.215.14", "10.0.0.1")]
    monkeypatch.setattr(socket, "getaddrinfo", lambda *_, **__: both)
    with pytest.raises(PageError, match="public internet"):
        fetch("http://rebound.example/", 2)


def test_a_page_is_fetched_with_its_type_and_encoding() -> None:
    with web_server() as server:
        server.at["/a"] = Reply(b"caf\xe9", headers={"content-type": "text/plain; charset=ISO-8859-1"})
        page = fetch(f"{server.url}/a", 5, allowed=here)
    assert page == Page(f"{server.url}/a", "text/plain", "iso-8859-1", b"caf\xe9")
    assert server.asked[0].headers["accept-encoding"] == "identity"
    assert "cookie" not in server.asked[0].headers


def test_a_redirect_is_followed_and_one_into_a_private_network_is_not() -> None:
    with web_server() as server, web_server("127.0.0.2") as inner:
        server.at |= {"/old": moved("/new"), "/new": Reply(b"<p>Here.</p>"), "/in": moved(f"{inner.url}/secret")}
        inner.at["/secret"] = Reply(b"secret")
        assert fetch(f"{server.url}/old", 5, allowed=here).body == b"<p>Here.</p>"
        with pytest.raises(PageError, match="public internet"):
            fetch(f"{server.url}/in", 5, allowed=here)
    assert inner.asked == []


@pytest.mark.parametrize("location", ["file:///etc/passwd", "javascript:alert(1)", "ftp://a.example/", "http://[", ""])
def test_a_redirect_to_what_is_no_web_page_ends_there(location: str) -> None:
    with web_server() as server:
        server.at["/"] = moved(location)
        with pytest.raises(PageError):
            fetch(f"{server.url}/", 5, allowed=here)


def test_redirects_in_a_circle_end() -> None:
    with web_server() as server:
        server.at["/"] = moved("/")
        with pytest.raises(PageError, match="leads on"):
            fetch(f"{server.url}/", 5, allowed=here)
    assert len(server.asked) == 4


@pytest.mark.parametrize(
    "reply",
    [
        Reply(b"%PDF-1.7", headers={"content-type": "application/pdf"}),
        Reply(b"{}", headers={"content-type": "application/json"}),
        Reply(b"text", headers={}),
        Reply(b"text", headers={"content-type": "text"}),
        Reply(b"\x1f\x8b\x08", headers={"content-type": "text/html", "content-encoding": "gzip"}),
        Reply(status=404),
        Reply(status=500),
    ],
)
def test_what_is_no_plain_page_of_text_is_not_read(reply: Reply) -> None:
    with web_server() as server:
        server.at["/"] = reply
        with pytest.raises(PageError):
            fetch(f"{server.url}/", 5, allowed=here)


@pytest.mark.parametrize("reply", [Reply(pause_s=30), Reply(b" " * 400, drips="head"), Reply(b" " * 400, drips="body")])
def test_a_page_that_takes_too_long_is_given_up_in_time(reply: Reply) -> None:
    with web_server() as server:
        server.at["/"] = reply
        began = time.monotonic()
        with pytest.raises(PageError, match="too long"):
            fetch(f"{server.url}/", 0.5, allowed=here)
    assert time.monotonic() - began < 9


def test_a_huge_page_is_read_as_far_as_the_limit() -> None:
    with web_server() as server:
        server.at["/"] = Reply(b"x" * 5_000_000)
        assert len(fetch(f"{server.url}/", 5, allowed=here).body) == MAX_PAGE_BYTES


def test_results_get_the_text_of_their_pages_and_keep_what_was_said_of_the_others() -> None:
    with web_server() as server:
        server.at["/good"] = Reply(b"<p>The whole page.</p>")
        found = WithPages(Scripted(server), lambda page: page.body.decode(), 5, allowed=here).search("rate", 5)
    assert [(one.text, one.page) for one in found] == [("said", "<p>The whole page.</p>"), ("said", "")]


def moved(location: str) -> Reply:
    return Reply(status=302, headers={"location": location})


class Scripted:
    """A search that finds a page that is there and one that is not."""

    name = "scripted"

    def __init__(self, server: WebServer) -> None:
        self._server = server

    def search(self, query: str, limit: int) -> list[WebResult]:
        pages = ("good", "gone")
        return [WebResult(url=f"{self._server.url}/{page}", title="T", text="said", provider="s") for page in pages]
