"""What the Compare screen fetches under /v1: finished runs side by side, and ledgers as they grow."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import suppress

from pydantic import TypeAdapter
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import JSONResponse, Response, StreamingResponse

from pages._server.state import get_workbench
from rag_core.workbench.comparing import MOST_COLUMNS, Compared
from rag_core.workbench.ledgers import LiveLedger

KEEP_ALIVE_S = 15.0

_compared = TypeAdapter(list[Compared | None])


async def side_by_side(request: Request) -> Response:
    """`?runs=a,b`: each finished run with its grade and its difference from the first; null for one under way."""
    runs = request.query_params.get("runs", "").split(",")[:MOST_COLUMNS]
    found = await run_in_threadpool(get_workbench().comparing.compared, runs)
    return Response(_compared.dump_json(found), media_type="application/json", headers={"cache-control": "no-store"})


async def what_to_try(request: Request) -> Response:
    """What to try where the answer of a run is wrong."""
    found = await run_in_threadpool(get_workbench().comparing.hints, request.path_params["run"])
    return JSONResponse([hint.model_dump() for hint in found], headers={"cache-control": "no-store"})


async def ledger_estimate(request: Request) -> Response:
    """What a ledger of a run will take."""
    expected = await run_in_threadpool(get_workbench().ledgers.estimate, request.path_params["run"])
    return JSONResponse(expected.model_dump(), headers={"cache-control": "no-store"})


async def ledger_events(request: Request) -> Response:
    """Follow a ledger: the whole of it now and after each change; the last has another state than 'running'."""
    run = request.path_params["run"]
    live = get_workbench().ledgers.live(run)
    if live is not None:
        stream = _growing(live)
    elif (kept := await run_in_threadpool(get_workbench().ledgers.get, run)) is not None:
        stream = _each([kept.model_dump_json()])
    else:
        return JSONResponse({"error": "There is no ledger of this run."}, status_code=404)
    headers = {"cache-control": "no-cache, no-transform"}
    return StreamingResponse(stream, media_type="text/event-stream", headers=headers)


async def _growing(live: LiveLedger) -> AsyncIterator[str]:
    loop, grown = asyncio.get_running_loop(), asyncio.Event()

    def wake() -> None:
        with suppress(RuntimeError):  # the server's loop may end first
            loop.call_soon_threadsafe(grown.set)

    unfollow = live.follow(wake)
    try:
        while True:
            grown.clear()
            record = live.record
            yield f"data: {record.model_dump_json()}\n\n"
            if record.state != "running":
                return
            with suppress(TimeoutError):
                await asyncio.wait_for(grown.wait(), KEEP_ALIVE_S)
    finally:
        unfollow()


async def _each(records: Sequence[str]) -> AsyncIterator[str]:
    for record in records:
        yield f"data: {record}\n\n"
