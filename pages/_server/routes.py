"""What the components fetch under /v1: runs and their events, page images, figures, their own source.

Nothing here blocks the event loop: files, PDFs and history are read in a thread.
"""

from __future__ import annotations

import json
import re
from collections.abc import AsyncIterator, Awaitable, Callable
from datetime import datetime
from typing import Any

from pydantic import ValidationError
from starlette.background import BackgroundTask
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import FileResponse, JSONResponse, Response, StreamingResponse
from starlette.routing import BaseRoute, Route, WebSocketRoute

from pages._look.files import LOOK_STAMP, look_file
from pages._server.comparing import ledger_estimate, ledger_events, side_by_side, what_to_try
from pages._server.following import followed
from pages._server.run_page import page_of
from pages._server.state import NotOpen, get_workbench
from pages._server.tabs import tab_listens
from rag_core.errors import RagError
from rag_core.pipeline.exchange import to_file
from rag_core.pipeline.listing import RunQuery
from rag_core.pipeline.live import LiveRun
from rag_core.pipeline.run import Run

DPI = range(20, 301)
KINDS = {"json": "application/json", "html": "text/html; charset=utf-8"}
PAGING = (("offset", 0), ("limit", 50))
MOST = 1_000_000
FRESH = {"cache-control": "no-store"}
FOREVER = {"cache-control": "private, max-age=31536000, immutable"}

Handler = Callable[[Request], Awaitable[Response]]


def answered(handler: Handler) -> Handler:
    """Turn our errors into one JSON sentence."""

    async def answer(request: Request) -> Response:
        try:
            return await handler(request)
        except NotOpen as error:
            return JSONResponse({"error": str(error)}, status_code=503)
        except RagError as error:
            return JSONResponse({"error": str(error)}, status_code=404)

    return answer


def not_found(what: str) -> JSONResponse:
    return JSONResponse({"error": f"There is no such {what} here."}, status_code=404)


async def run_list(request: Request) -> Response:
    """The runs that a query finds, and what they can be narrowed by: `{runs, found, kept, choices}`."""
    asked = dict(request.query_params)
    offset, limit = (int(given) if (given := asked.pop(name, "")).isdecimal() else usual for name, usual in PAGING)
    try:
        query = RunQuery.model_validate(asked)
    except ValidationError as error:
        names = ", ".join(sorted({str(fault["loc"][0]) for fault in error.errors()}))
        return JSONResponse({"error": f"The list cannot be narrowed so: see {names}."}, status_code=400)
    found = await run_in_threadpool(get_workbench().runs, query, offset=min(offset, MOST), limit=min(limit, MOST))
    choices = await run_in_threadpool(get_workbench().run_choices, query)
    return JSONResponse({**found.model_dump(mode="json"), "choices": choices.model_dump()}, headers=FRESH)


async def run_file(request: Request) -> Response:
    """A run as a file: its record as JSON, or all that the screen shows of it as one page that opens offline."""
    run_id, kind = request.path_params["run"], request.path_params["kind"]
    run = await run_in_threadpool(get_workbench().run, run_id)
    if run is None or kind not in KINDS:
        return not_found("run" if run is None else "kind of file")
    data = await run_in_threadpool(to_file, run) if kind == "json" else await run_in_threadpool(page_of, run)
    headers = {"content-disposition": f'attachment; filename="{name_of_file(run)}.{kind}"', **FRESH}
    return Response(data, media_type=KINDS[kind], headers=headers)


def name_of_file(run: Run) -> str:
    """The question, in letters that every file system has, and what tells the run from others that were asked it."""
    words = "-".join(re.findall("[a-z0-9]+", run.question.lower()))[:60].strip("-")
    return f"{words or 'run'}-{run.id[:8]}"


async def run_record(request: Request) -> Response:
    run = await run_in_threadpool(get_workbench().run, request.path_params["run"])
    return not_found("run") if run is None else Response(run.model_dump_json(), media_type="application/json")


async def run_events(request: Request) -> Response:
    """Follow a run from `Last-Event-ID`, or from `after`, to its end. A finished run is one `done`."""
    run_id = request.path_params["run"]
    live = get_workbench().live(run_id)
    if live is not None and not live.done:
        seen = request.headers.get("last-event-id") or request.query_params.get("after", "")
        stream = live_events(live, int(seen) if seen.isdecimal() else 0)
    else:
        run = await run_in_threadpool(get_workbench().run, run_id)
        if run is None:
            return not_found("run")
        stream = one_event({"n": 1, "kind": "done", "data": {"record": run.model_dump(mode="json")}})
    # no-transform: nothing between here and the page may hold events back to compress them.
    headers = {"cache-control": "no-cache, no-transform"}
    return StreamingResponse(stream, media_type="text/event-stream", headers=headers)


async def live_events(live: LiveRun, seen: int) -> AsyncIterator[str]:
    async for events in followed(live, seen):
        yield "".join(sse(event.n, event.model_dump_json()) for event in events) or ": still here\n\n"


async def one_event(event: dict[str, Any]) -> AsyncIterator[str]:
    yield sse(event["n"], json.dumps(event))


def sse(number: int, data: str) -> str:
    return f"id: {number}\ndata: {data}\n\n"


async def run_branches(request: Request) -> Response:
    """The tree that a run belongs to, and what can be edited before each of its steps."""
    run = request.path_params["run"]
    root, branches = await run_in_threadpool(get_workbench().family, run)
    offers = await run_in_threadpool(get_workbench().offers, run)
    told = {
        "root": root,
        "branches": [branch.model_dump() for branch in branches],
        "offers": [offer.model_dump(mode="json") for offer in offers],
    }
    return JSONResponse(told, headers={"cache-control": "no-store"})


async def page_image(request: Request) -> Response:
    asked = request.query_params.get("dpi", "110")
    dpi = int(asked) if asked.isdecimal() else 0
    if dpi not in DPI:
        return JSONResponse({"error": f"dpi must be {DPI.start} to {DPI.stop - 1}."}, status_code=400)
    document, page = request.path_params["document"], request.path_params["page"]
    image = await run_in_threadpool(get_workbench().page_image, document, page, dpi)
    return Response(image, media_type="image/png", headers=FOREVER)


async def page_elements(request: Request) -> Response:
    """What stands on a page: `{width, height, elements}` in points."""
    document, page = request.path_params["document"], request.path_params["page"]
    width, height = await run_in_threadpool(get_workbench().page_size, document, page)
    elements = await run_in_threadpool(get_workbench().elements, document, page)
    shown = [element.model_dump(mode="json", include={"id", "kind", "text", "place"}) for element in elements]
    return JSONResponse({"width": width, "height": height, "elements": shown}, headers={"cache-control": "no-store"})


async def figure(request: Request) -> Response:
    crop = await run_in_threadpool(get_workbench().figure, request.path_params["document"], request.path_params["name"])
    return Response(crop, media_type="image/png", headers=FOREVER)


async def health(_request: Request) -> Response:
    parts = await run_in_threadpool(get_workbench().health)
    return JSONResponse({"ok": all(part.ok for part in parts), "parts": [part.model_dump() for part in parts]})


async def backup(request: Request) -> Response:
    """Everything in one file; it is made for the asking, and removed when it is sent."""
    # Another site's page cannot read it, and shall not have it made either.
    if request.headers.get("sec-fetch-site", "none") not in ("none", "same-origin"):
        return JSONResponse({"error": "This request came from another site's page."}, status_code=403)
    path = await run_in_threadpool(get_workbench().back_up)
    made = BackgroundTask(path.unlink, missing_ok=True)
    name = f"ragscope-{datetime.now():%Y-%m-%d}.zip"
    return FileResponse(path, filename=name, media_type="application/zip", headers=FRESH, background=made)


async def look(request: Request) -> Response:
    """The components' own source. The stamp in the address changes with it, so it may be kept forever."""
    found = look_file(request.path_params["name"])
    if found is None or request.path_params["stamp"] != LOOK_STAMP:
        return not_found("file")
    text, media_type = found
    return Response(text, media_type=media_type, headers=FOREVER)


async def missing(_request: Request) -> Response:
    return not_found("address")


def routes() -> list[BaseRoute]:
    """All of /v1. The last one keeps Streamlit from answering unknown addresses with its page."""
    return [
        Route("/v1/runs", answered(run_list)),
        Route("/v1/runs/{run}/export.{kind}", answered(run_file)),
        Route("/v1/runs/{run}", answered(run_record)),
        Route("/v1/runs/{run}/events", answered(run_events)),
        Route("/v1/runs/{run}/branches", answered(run_branches)),
        Route("/v1/runs/{run}/hints", answered(what_to_try)),
        Route("/v1/runs/{run}/ledger", answered(ledger_estimate)),
        Route("/v1/runs/{run}/ledger/events", answered(ledger_events)),
        Route("/v1/compare", answered(side_by_side)),
        WebSocketRoute("/v1/tabs/{tab}", tab_listens),
        Route("/v1/documents/{document}/pages/{page:int}.png", answered(page_image)),
        Route("/v1/documents/{document}/pages/{page:int}", answered(page_elements)),
        Route("/v1/documents/{document}/figures/{name}", answered(figure)),
        Route("/v1/health", answered(health)),
        Route("/v1/backup", answered(backup)),
        Route("/v1/look/{stamp}/{name}", look),
        Route("/v1/{rest:path}", missing),
    ]
