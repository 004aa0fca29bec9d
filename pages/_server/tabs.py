"""Tells a tab which run it just started and what happens in it, ahead of the page's script.

What a script gives takes 150 to 250 ms to be drawn, most of it in the browser; a run's first events are there after 20.
They come through the socket that the tab has open: another connection would take its time too.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from contextlib import suppress

from starlette.websockets import WebSocket, WebSocketDisconnect

from pages._server.following import followed
from rag_core.pipeline.live import LiveRun

Begun = tuple[LiveRun, str]

_listening: dict[str, Callable[[Begun], None]] = {}


def tell_tab(tab: str, live: LiveRun, question: str) -> None:
    """Tell a tab of its run and of what happens in it; one that does not listen learns of it from the page."""
    if tell := _listening.get(tab):
        tell((live, question))


async def tab_listens(socket: WebSocket) -> None:
    """Pass on what is told to the tab that the address names, until it leaves."""
    await socket.accept()
    tab, loop, news = socket.path_params["tab"], asyncio.get_running_loop(), asyncio.Queue[Begun]()

    def tell(begun: Begun) -> None:
        with suppress(RuntimeError):  # the server's loop may end first
            loop.call_soon_threadsafe(news.put_nowait, begun)

    async def pass_on() -> None:
        async with asyncio.TaskGroup() as runs:
            while True:
                live, question = await news.get()
                runs.create_task(pass_on_run(socket, live, question))

    _listening[tab] = tell
    try:
        # What cannot be passed on ends the group, and with it the socket: the tab then listens to its runs itself.
        async with asyncio.TaskGroup() as both:
            passing = both.create_task(pass_on())
            with suppress(WebSocketDisconnect):
                while True:
                    await socket.receive_text()  # it has nothing to say: this ends when it leaves
            passing.cancel()
    finally:
        if _listening.get(tab) is tell:
            del _listening[tab]


async def pass_on_run(socket: WebSocket, live: LiveRun, question: str) -> None:
    """Tell of a run, then of what happens in it."""
    if not await sent(socket, json.dumps({"run": live.id, "question": question})):
        return
    async for events in followed(live):
        told = ",".join(event.model_dump_json() for event in events)
        if not await sent(socket, f'{{"run": {json.dumps(live.id)}, "events": [{told}]}}'):
            return


async def sent(socket: WebSocket, message: str) -> bool:
    """Send it; False where the tab has left."""
    try:
        await socket.send_text(message)
    except (WebSocketDisconnect, RuntimeError):
        return False
    return True
