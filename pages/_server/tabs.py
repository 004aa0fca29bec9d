"""Tells a tab which run it just started, ahead of the page's script.

What a script gives takes 150 to 250 ms to be drawn, most of it in the browser; a run's first events are there after 20.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import suppress

from starlette.websockets import WebSocket, WebSocketDisconnect

Told = dict[str, str]

_listening: dict[str, Callable[[Told], None]] = {}


def tell_tab(tab: str, run: str, question: str) -> None:
    """Tell a tab of its run; one that does not listen learns of it from the page."""
    if tell := _listening.get(tab):
        tell({"run": run, "question": question})


async def tab_listens(socket: WebSocket) -> None:
    """Pass on what is told to the tab that the address names, until it leaves."""
    await socket.accept()
    tab, loop, news = socket.path_params["tab"], asyncio.get_running_loop(), asyncio.Queue[Told]()

    def tell(told: Told) -> None:
        with suppress(RuntimeError):  # the server's loop may end first
            loop.call_soon_threadsafe(news.put_nowait, told)

    async def pass_on() -> None:
        while True:
            await socket.send_json(await news.get())

    _listening[tab] = tell
    passing = asyncio.create_task(pass_on())
    try:
        with suppress(WebSocketDisconnect):
            while True:
                await socket.receive_text()  # it has nothing to say: this ends when it leaves
    finally:
        passing.cancel()
        if _listening.get(tab) is tell:
            del _listening[tab]
