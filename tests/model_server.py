"""A local server that speaks the OpenAI protocol (and enough of Ollama's) from a script: what to do at each call."""

from __future__ import annotations

import json
import math
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, suppress
from dataclasses import dataclass, field
from itertools import zip_longest
from typing import Any

from tests.scripted_server import Handler, served


@dataclass(frozen=True)
class Turn:
    """One call's behaviour: a status, then the pieces of a streamed reply."""

    pieces: Sequence[str] = ()
    status: int = 200
    headers: dict[str, str] = field(default_factory=dict)
    pause_s: float = 0
    cut: bool = False
    endless: bool = False
    likely: Sequence[dict[str, float]] = ()
    """For each piece the probabilities of what could have stood there, given where they are asked for."""
    until: threading.Event | None = None
    """The last piece waits for it."""


def says(text: str, *, pause_s: float = 0, until: threading.Event | None = None) -> Turn:
    """A good reply, in pieces of a few characters."""
    return Turn([text[at : at + 7] for at in range(0, len(text), 7)], pause_s=pause_s, until=until)


@dataclass
class ModelServer:
    """What the tests see of it: where it is, what it was asked, and what it does when the script is over."""

    base_url: str
    models: list[str]
    script: list[Turn | Callable[[str], Turn]] = field(default_factory=list)
    then: Turn | Callable[[str], Turn] = field(default_factory=lambda: says("I do not know. [1]\nCONFIDENCE: 0.1"))
    key: str | None = None
    refuses: str = ""
    """A field that no request may have."""
    asked: list[dict[str, Any]] = field(default_factory=list)

    def next_turn(self, prompt: str) -> Turn:
        turn = self.script.pop(0) if self.script else self.then
        return turn(prompt) if callable(turn) else turn


def model_server(*, models: Sequence[str] = ("scripted",), port: int = 0) -> AbstractContextManager[ModelServer]:
    """Serve on loopback until the block ends."""
    return served(_Handler, lambda url: ModelServer(base_url=f"{url}/v1", models=list(models)), port=port)


class _Handler(Handler[ModelServer]):
    def get(self) -> None:
        state = self.state
        if state.key and self.headers.get("authorization") != f"Bearer {state.key}":
            self._reply(401, {"error": {"message": "wrong key"}})
        elif self.path.endswith("/models"):
            self._reply(200, {"data": [{"id": model} for model in state.models]})
        elif self.path == "/api/tags":
            self._reply(200, {"models": [{"name": model} for model in state.models]})
        else:
            self._reply(404, {"error": {"message": "no such page"}})

    def post(self) -> None:
        state = self.state
        body = json.loads(self.rfile.read(int(self.headers["content-length"])))
        state.asked.append(body)
        if state.key and self.headers.get("authorization") != f"Bearer {state.key}":
            self._reply(401, {"error": {"message": "wrong key"}})
            return
        if state.refuses and state.refuses in body:
            self._reply(400, {"error": {"message": f"{state.refuses} is not supported"}})
            return
        if body["model"] not in state.models:
            self._reply(404, {"error": {"message": f"model {body['model']} not found"}})
            return
        turn = state.next_turn(body["messages"][-1]["content"])
        if turn.status != 200:
            self._reply(turn.status, {"error": {"message": "scripted"}}, turn.headers)
            return
        with suppress(BrokenPipeError, ConnectionResetError):
            self._stream(turn, ollama=self.path == "/api/chat", scores=bool(body.get("logprobs")))

    def _stream(self, turn: Turn, *, ollama: bool, scores: bool) -> None:
        self.send_response(200)
        self.send_header("content-type", "application/x-ndjson" if ollama else "text/event-stream")
        self.end_headers()
        pieces: Iterator[str] = iter(turn.pieces)
        while True:
            for number, (piece, likely) in enumerate(zip_longest(pieces, turn.likely if scores else ()), 1):
                if self.gone_within(turn.pause_s):
                    return
                while turn.until and number == len(turn.pieces) and not turn.until.is_set():
                    if self.gone_within(0.05):
                        return
                self._piece(piece, ollama=ollama, likely=likely)
            if not turn.endless:
                break
            pieces = iter(turn.pieces)
        if turn.cut:
            self.connection.close()
            return
        if ollama:
            self._line(
                {
                    "message": {"role": "assistant", "content": ""},
                    "done": True,
                    "prompt_eval_count": 11,
                    "eval_count": 7,
                }
            )
            return
        self._event({"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]})
        self._event({"choices": [], "usage": {"prompt_tokens": 11, "completion_tokens": 7, "total_tokens": 18}})
        self.wfile.write(b"data: [DONE]\n\n")

    def _piece(self, text: str, *, ollama: bool, likely: dict[str, float] | None) -> None:
        if ollama:
            self._line({"message": {"role": "assistant", "content": text}, "done": False})
            return
        choice: dict[str, Any] = {"index": 0, "delta": {"content": text}, "finish_reason": None}
        if likely:
            given = [{"token": token, "logprob": math.log(p), "bytes": None} for token, p in likely.items()]
            own = next(entry for entry in given if entry["token"] == text)
            choice["logprobs"] = {"content": [{**own, "top_logprobs": given}], "refusal": None}
        self._event({"choices": [choice]})

    def _event(self, chunk: dict[str, Any]) -> None:
        whole = {"id": "1", "object": "chat.completion.chunk", "created": 0, "model": "scripted", **chunk}
        self.wfile.write(f"data: {json.dumps(whole)}\n\n".encode())
        self.wfile.flush()

    def _line(self, chunk: dict[str, Any]) -> None:
        self.wfile.write(
            f"{json.dumps({'model': 'scripted', 'created_at': '2026-01-01T00:00:00Z', **chunk})}\n".encode()
        )
        self.wfile.flush()

    def _reply(self, status: int, body: dict[str, Any], headers: dict[str, str] | None = None) -> None:
        data = json.dumps(body).encode()
        self.send_response(status)
        for name, value in {"content-type": "application/json", **(headers or {})}.items():
            self.send_header(name, value)
        self.send_header("content-length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)
