"""A local web server that answers from a script: what a search engine, or a page, does at each call."""

from __future__ import annotations

import json
import time
from contextlib import AbstractContextManager, suppress
from dataclasses import dataclass, field
from typing import Any, Literal
from urllib.parse import parse_qs, urlsplit

from tests.scripted_server import Handler, served


@dataclass(frozen=True)
class Reply:
    """One answer. With `pause_s` it waits before it begins; what drips comes so slowly that no silence is long."""

    body: bytes = b""
    status: int = 200
    headers: dict[str, str] = field(default_factory=lambda: {"content-type": "text/html"})
    pause_s: float = 0
    drips: Literal["", "head", "body"] = ""


def as_json(data: Any, status: int = 200) -> Reply:
    return Reply(json.dumps(data).encode(), status, {"content-type": "application/json"})


@dataclass(frozen=True)
class Asked:
    """A request as it came."""

    method: str
    path: str
    query: dict[str, str]
    headers: dict[str, str]
    body: bytes


@dataclass
class WebServer:
    """What the tests see of it: where it is, what it was asked, and what it says at which path."""

    url: str
    at: dict[str, Reply] = field(default_factory=dict)
    asked: list[Asked] = field(default_factory=list)


def web_server(host: str = "127.0.0.1") -> AbstractContextManager[WebServer]:
    """Serve until the block ends; what has no reply is not found."""
    return served(_Handler, WebServer, host=host)


class _Handler(Handler[WebServer]):
    def get(self) -> None:
        parts = urlsplit(self.path)
        body = self.rfile.read(int(self.headers.get("content-length", 0)))
        query = {name: values[0] for name, values in parse_qs(parts.query).items()}
        headers = {name.lower(): value for name, value in self.headers.items()}
        self.state.asked.append(Asked(self.command, parts.path, query, headers, body))
        reply = self.state.at.get(parts.path, Reply(status=404))
        with suppress(BrokenPipeError, ConnectionResetError):
            self._send(reply)

    post = get

    def _send(self, reply: Reply) -> None:
        if self.gone_within(reply.pause_s):
            return
        self.send_response(reply.status)
        for name, value in reply.headers.items():
            self.send_header(name, value)
        self.send_header("content-length", str(len(reply.body)))
        if reply.drips == "head":
            self._drip(b"x-more: 1\r\n")
        self.end_headers()
        if reply.drips == "body":
            self._drip(b"x")
        self.wfile.write(reply.body)

    def _drip(self, piece: bytes) -> None:
        self.flush_headers()
        for _ in range(200):
            self.wfile.write(piece)
            time.sleep(0.05)
