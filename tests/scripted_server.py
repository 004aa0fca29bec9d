"""Local HTTP servers for tests: one of them at a free port, with what its tests see of it."""

from __future__ import annotations

import select
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Generic, TypeVar

S = TypeVar("S")


class Handler(BaseHTTPRequestHandler, Generic[S]):
    """Answers requests from what the tests see of the server."""

    state: S

    def do_GET(self) -> None:
        self.get()

    def do_POST(self) -> None:
        self.post()

    def get(self) -> None:
        self.send_error(405)

    def post(self) -> None:
        self.send_error(405)

    def gone_within(self, seconds: float) -> bool:
        """Wait so long; whether who asked went away meanwhile."""
        return bool(seconds and select.select([self.connection], [], [], seconds)[0])

    def log_message(self, *_: Any) -> None:
        pass


@contextmanager
def served(
    handler: type[Handler[S]], seen: Callable[[str], S], *, host: str = "127.0.0.1", port: int = 0
) -> Iterator[S]:
    """Serve until the block ends.

    Args:
        seen: What the tests see of it, from its address.
    """
    own: type[Handler[S]] = type("Own", (handler,), {})
    httpd = ThreadingHTTPServer((host, port), own)
    httpd.daemon_threads = True
    own.state = seen(f"http://{host}:{httpd.server_address[1]}")
    threading.Thread(target=httpd.serve_forever, args=(0.02,), daemon=True).start()
    try:
        yield own.state
    finally:
        httpd.shutdown()
        httpd.server_close()
