"""What every answer of this server carries and every request is held to.

Plain ASGI classes: they pass web sockets and event streams through untouched.
"""

from __future__ import annotations

from urllib.parse import urlsplit

import streamlit as st
from starlette import status
from starlette.datastructures import Headers, MutableHeaders
from starlette.middleware import Middleware
from starlette.middleware.trustedhost import TrustedHostMiddleware
from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send
from starlette.websockets import WebSocketClose

# The hash is that of the one inline script in the index.html of the pinned Streamlit. `blob:` carries the components,
# 'wasm-unsafe-eval' the diagrams. 'unsafe-inline' for scripts must stay out: with it, a srcdoc frame could run code.
CONTENT_SECURITY_POLICY = "; ".join(
    [
        "default-src 'self'",
        "img-src 'self' data: blob:",
        "style-src 'self' 'unsafe-inline'",
        "connect-src 'self'",
        "font-src 'self' data:",
        "object-src 'none'",
        "base-uri 'none'",
        "form-action 'self'",
        "frame-ancestors 'none'",
        "frame-src 'none'",
        "worker-src 'self' blob:",
        "script-src 'self' blob: 'wasm-unsafe-eval' 'sha256-THxz9J9+wf7rhwR2YkXJoSZ13UCmYyC+3lNDv2+8ugA='",
    ]
)

SAFETY_HEADERS = {
    "content-security-policy": CONTENT_SECURITY_POLICY,
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
    "x-dns-prefetch-control": "off",  # an address of the web that is shown is looked up when it is clicked on
    "cross-origin-resource-policy": "same-origin",
}


class SafetyHeaders:
    """Adds the headers above to every HTTP answer."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        async def send_with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                MutableHeaders(scope=message).update(SAFETY_HEADERS)
            await send(message)

        await self._app(scope, receive, send_with_headers if scope["type"] == "http" else send)


class SameOrigin:
    """Refuses another site's page: its sockets and all but GET and HEAD, unless the Origin is this host."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        # Reading is left to the browser, which shows another site's page no answer; what a socket says it would.
        acts = scope["type"] == "websocket" or (scope["type"] == "http" and scope["method"] not in ("GET", "HEAD"))
        if not acts or _from_here(Headers(scope=scope)):
            await self._app(scope, receive, send)
        elif scope["type"] == "http":
            refusal = JSONResponse({"error": "This request came from another site's page."}, status_code=403)
            await refusal(scope, receive, send)
        else:
            await WebSocketClose(status.WS_1008_POLICY_VIOLATION)(scope, receive, send)


def _from_here(headers: Headers) -> bool:
    origin = headers.get("origin")
    # No Origin: not a browser, so nobody's cookies and nobody's page.
    return origin is None or urlsplit(origin).netloc == headers.get("host")


def safety() -> list[Middleware]:
    """The middleware of the application, outermost first."""
    return [
        Middleware(SafetyHeaders),
        Middleware(TrustedHostMiddleware, allowed_hosts=list(st.get_option("server.allowedHosts")) or ["*"]),
        Middleware(SameOrigin),
    ]
