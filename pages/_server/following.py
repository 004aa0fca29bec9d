"""The events of a run as they come, for whatever passes them on to a browser."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import suppress
from itertools import islice

from rag_core.pipeline.live import LiveRun
from rag_core.pipeline.run import RunEvent

KEEP_ALIVE_S = 15.0
"""Something said this often keeps a stream open, and notices a tab that went away."""


async def followed(live: LiveRun, seen: int = 0) -> AsyncIterator[Sequence[RunEvent]]:
    """Yield what happened after the first `seen` events, then what happens, until the run is done.

    An empty batch says that the run goes on in silence.
    """
    loop, grown = asyncio.get_running_loop(), asyncio.Event()

    def wake() -> None:
        # The run outlives the server's loop when the process ends during a run.
        with suppress(RuntimeError):
            loop.call_soon_threadsafe(grown.set)

    unfollow = live.follow(wake)
    try:
        while True:
            grown.clear()
            events = list(islice(live.events, seen, None))
            if events:
                seen += len(events)
                yield events
                if events[-1].kind == "done":
                    return
                continue
            try:
                await asyncio.wait_for(grown.wait(), KEEP_ALIVE_S)
            except TimeoutError:
                yield ()
    finally:
        unfollow()
