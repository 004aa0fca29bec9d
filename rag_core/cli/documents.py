"""Documents: index them, watch a folder, list and delete them."""

from __future__ import annotations

import argparse
import signal
from collections.abc import Callable
from pathlib import Path
from threading import Event, Thread

from rag_core.cli.knowledge import grow
from rag_core.cli.said import DONE, FAILED, WRONG_USE, opened, progress, say
from rag_core.workbench import DEMO_COLLECTION, DEMO_FOLDER, FileResult


def ingest(parsed: argparse.Namespace) -> int:
    missing = [path for path in parsed.paths if not Path(path).exists()]
    if missing:
        return say(f"There is no file or folder {missing[0]}.", WRONG_USE)

    def told(result: FileResult) -> None:
        print(result.model_dump_json() if parsed.json else _file_line(result), flush=True)

    if parsed.watch and parsed.describe:
        return say("--describe goes before --watch: what is watched later is described too.", WRONG_USE)
    if parsed.watch:
        return _watch(parsed, told)
    with opened() as workbench:
        results = workbench.ingest(*parsed.paths, collection=parsed.collection, quick=parsed.quick, told=told)
        if parsed.describe:
            expected = workbench.estimate_descriptions(parsed.collection)
            tokens = f"{expected.input_tokens:,} tokens in and {expected.output_tokens:,} out"
            progress(f"Describing {expected.figures} figures takes about {tokens}: Ctrl-C ends it.")
            workbench.describe(parsed.collection, now=True, told=told)
        if results and workbench.settings.enable_raptor:
            grow(workbench, parsed.collection)
    if not results:
        return say("There is no document in there to index; name passages files (.jsonl, .jsonl.gz).", FAILED)
    return FAILED if any(result.state in ("failed", "partial") for result in results) else DONE


def _watch(parsed: argparse.Namespace, told: Callable[[FileResult], None]) -> int:
    stopped = Event()
    # Set by another thread: the signal may come while this one holds the event's own lock.
    signal.signal(signal.SIGINT, lambda *_: Thread(target=stopped.set).start())
    with opened() as workbench:
        progress(f"Watching {', '.join(parsed.paths)}: Ctrl-C ends it.")
        workbench.watch(
            *parsed.paths,
            stopped=stopped,
            collection=parsed.collection,
            delete_missing=parsed.delete_missing,
            told=told,
        )
    return DONE


def demo(parsed: argparse.Namespace) -> int:
    parsed.paths, parsed.collection = [str(DEMO_FOLDER)], DEMO_COLLECTION
    parsed.quick = parsed.watch = parsed.describe = False
    return ingest(parsed)


def list_documents(parsed: argparse.Namespace) -> int:
    with opened() as workbench:
        for info in workbench.collections():
            if parsed.collection not in (None, info.name):
                continue
            if not parsed.json:
                print(f"{info.name}: {info.documents} documents, {info.pages} pages, {info.chunks} chunks")
            for record in workbench.documents(info.name):
                print(
                    record.model_dump_json(exclude={"progress"}) if parsed.json else f"  {record.name}: {record.state}"
                )
    return DONE


def delete(parsed: argparse.Namespace) -> int:
    with opened() as workbench:
        workbench.remove(parsed.document, parsed.collection or workbench.default_collection())
    return DONE


def _file_line(result: FileResult) -> str:
    found = f"{result.pages} pages, {result.chunks} chunks, {result.seconds:.1f} s"
    if result.reason:
        found += f"; {result.reason}"
    said = {
        "failed": str(result.reason),
        "gone": "its file has gone; the document stays",
        "deleted": "its file has gone",
    }
    return f"{result.state:9} {result.name}: " + said.get(result.state, found)
