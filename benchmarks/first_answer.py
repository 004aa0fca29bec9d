"""How long until a first answer: from the start of the app, and of one question at 1,000 and 50,000 chunks.

    python -m benchmarks.first_answer [--quick | --presets]

A question is timed to its ranked evidence, beside the bare Weaviate hybrid query with its embedding, and to its
finished answer, beside the same techniques called by hand without trace and history, and by the other presets. All in
one run, interleaved. Each question has a name and is complete in no chunk, so that presets with hops take them.
"""

from __future__ import annotations

import argparse
import os
import random
import socket
import subprocess
import sys
import tempfile
import time
import urllib.request
import uuid
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import numpy as np
import psutil

from benchmarks.table import machine, percentile, print_aim, print_table, timed_s
from rag_core.indexing.ledger import Ledger, Reading, count_stems
from rag_core.llm.critic import Critic
from rag_core.llm.engine import KeylessEngine
from rag_core.llm.reading.words import stems
from rag_core.pipeline.plan import PRESETS
from rag_core.pipeline.runner import RunWatch
from rag_core.settings import ROOT, Settings
from rag_core.stores.weaviate.chunks import ChunkStore
from rag_core.techniques.answer import Answer, AnswerSettings
from rag_core.techniques.hybrid import Hybrid, HybridSettings
from rag_core.techniques.validate import Validate, ValidateSettings
from rag_core.trace import Tracer
from rag_core.types import Box, Chunk, Place, SearchFilter
from rag_core.workbench import Workbench
from rag_core.workbench.asking import Asked

COLLECTION = "Benchmark"
QUESTIONS = 60
TIMES_SIMPLE = {"balanced": 8, "quality": 20}
"""What a keyless question may take by a preset, in times of what it takes by `simple`."""
EVIDENCE = 1.3
"""What ranked evidence may take, in times of the bare query with its embedding."""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="1,000 chunks only, and no app")
    parser.add_argument("--presets", action="store_true", help="the presets at 50,000 chunks alone")
    parsed = parser.parse_args()
    print(machine())
    for chunks in (1_000,) if parsed.quick else (50_000,) if parsed.presets else (1_000, 50_000):
        with tempfile.TemporaryDirectory() as folder:
            of_a_question(chunks, Path(folder), presets_alone=parsed.presets)
    if not (parsed.quick or parsed.presets):
        of_the_app()


def of_a_question(chunks: int, folder: Path, *, presets_alone: bool) -> None:
    with Workbench.open(Settings.from_env({"RAGSCOPE_DATA_DIR": str(folder)})) as workbench:
        texts = fill(workbench, chunks)
        if not presets_alone:
            rows = measured(workbench, texts)
            show(f"One keyless question, simple plan, {chunks:,} chunks", "ms", rows, baseline="bare hybrid query")
            say_times("evidence", rows["to ranked evidence"], rows["bare hybrid query"], EVIDENCE, "the bare query")
        rows = by_preset(workbench, texts)
        show(f"One keyless question to its finished answer, {chunks:,} chunks", "ms", rows, baseline="simple")
        for preset, times in TIMES_SIMPLE.items():
            say_times(preset, rows[preset], rows["simple"], times, "simple")
        server = psutil.Process(int((folder / "weaviate" / "pid").read_text()))
        ours = psutil.Process()
        print(f"resident: {megabytes(ours)} MB here, {megabytes(server)} MB Weaviate\n")


def measured(workbench: Workbench, texts: list[str]) -> dict[str, list[float]]:
    """Milliseconds by what is measured; each asks other questions, so that no vector is remembered."""
    ways: dict[str, Callable[[str], dict[str, float]]] = {
        "bare hybrid query": lambda question: {"bare hybrid query": 1e3 * timed_s(lambda: bare(workbench, question))},
        "by hand, no trace": lambda question: {
            "by hand, no trace": 1e3 * timed_s(lambda: by_hand(workbench, question))
        },
        "ask": lambda question: followed(workbench, question),
    }
    found: dict[str, list[float]] = {}
    rng = random.Random(7)
    for number in range(QUESTIONS + 5):
        for way in ways.values():
            for name, milliseconds in way(a_question(rng, texts)).items():
                if number >= 5:  # the first are for warming up
                    found.setdefault(name, []).append(milliseconds)
    order = ["bare hybrid query", "to ranked evidence", "by hand, no trace", "to finished answer"]
    return {name: found[name] for name in order}


def by_preset(workbench: Workbench, texts: list[str]) -> dict[str, list[float]]:
    """Milliseconds to the finished answer by preset; says how often each searched."""
    found: dict[str, list[float]] = {preset: [] for preset in ("simple", "fast", "balanced", "quality")}
    searches = Counter[str]()
    rng = random.Random(11)
    for number in range(QUESTIONS // 2 + 3):
        for preset, milliseconds in found.items():
            question = a_question(rng, texts)
            began = time.perf_counter()
            run = workbench.ask(question, plan=PRESETS[preset], collection=COLLECTION, engine="keyless")
            if number >= 3:
                milliseconds.append(1e3 * (time.perf_counter() - began))
                searches[preset] += run.searches
    each = [f"{preset} {searches[preset] / len(times):.1f}" for preset, times in found.items()]
    print(f"\nsearches a question: {', '.join(each)}")
    return found


def bare(workbench: Workbench, question: str) -> None:
    """What no product can be quicker than: embed the question, ask the vendor's client."""
    vector = workbench._embedder.embed_one(question)
    store: ChunkStore = workbench._store
    store._on(
        workbench._ledger.tenant(COLLECTION),
        lambda handle: handle.query.hybrid(
            question, vector={"text": vector.tolist()}, target_vector="text", alpha=0.5, limit=10
        ),
    )


def by_hand(workbench: Workbench, question: str) -> None:
    """The techniques of the simple plan in a row, with nothing noted and nothing kept."""
    request, with_ = workbench._prepared(Asked(question, PRESETS["simple"], COLLECTION, engine="keyless"))
    watch = RunWatch(Tracer(), lambda: False, 300)
    hits = Hybrid(HybridSettings(), with_.searcher, with_.embedder).search(question, SearchFilter())
    given = Answer(AnswerSettings(), KeylessEngine(), with_.reading).generate(request.question, hits, watch)
    chunks = {hit.chunk.id: hit.chunk for hit in hits}
    Validate(ValidateSettings(), KeylessEngine(), with_.reading, Critic(with_.reading)).check(
        question, given.sentences, chunks, watch
    )


def followed(workbench: Workbench, question: str) -> dict[str, float]:
    """A question as the app asks it, timed at its events."""
    began = time.perf_counter()
    live = workbench.live(workbench.start(question, collection=COLLECTION, engine="keyless", chat="benchmark"))
    assert live is not None
    evidence: list[float] = []

    def woken() -> None:
        if not evidence and any(event.kind == "evidence" for event in live.events):
            evidence.append(time.perf_counter())

    ended = live.follow(woken)
    woken()
    record = live.wait(60)
    done = time.perf_counter()
    ended()
    assert record is not None
    assert record.status == "done", record.error
    return {"to ranked evidence": (evidence[0] - began) * 1e3, "to finished answer": (done - began) * 1e3}


def fill(workbench: Workbench, chunks: int) -> list[str]:
    """Chunks of some 60 words with vectors of their own, straight into store and ledger. Gives some of the texts."""
    rng, vectors = random.Random(1), np.random.default_rng(1)
    words = [
        f"{a}{b}{c}"
        for a in "bdfgklmnprst"
        for b in ("a", "el", "i", "on", "ur")
        for c in ("dan", "rit", "tem", "vos", "x")
    ]
    weights = [1 / (rank + 2) for rank in range(len(words))]
    ledger: Ledger = workbench._ledger
    workbench.create_collection(COLLECTION)
    document, _ = ledger.add(COLLECTION, "made.pdf", "0" * 64, 1, None)
    tenant = ledger.tenant(COLLECTION)
    workbench._store.ensure_tenant(tenant)
    counted: Counter[str] = Counter()
    texts: list[str] = []
    for start in range(0, chunks, 2_000):
        size = min(2_000, chunks - start)
        made = [a_chunk(document, start + n, rng, words, weights) for n in range(size)]
        unit = vectors.standard_normal((size, 384)).astype(np.float32)
        workbench._store.put(tenant, made, unit / np.linalg.norm(unit, axis=1, keepdims=True))
        counted.update(count_stems(stems(chunk.searchable_text) for chunk in made))
        texts += [chunk.text for chunk in made[:50]]
    reading = Reading(
        title="",
        pages=1,
        page_sizes=((595, 842),),
        elements=(),
        failed=(),
        chunks=chunks,
        stems=dict(counted),
        fingerprint=workbench._ingest._parts.fingerprint,
    )
    ledger.flip(document, reading, state="ready", seconds=0)
    return texts


def a_chunk(document: str, order: int, rng: random.Random, words: list[str], weights: list[float]) -> Chunk:
    sentences = [a_sentence(rng, words, weights) for _ in range(5)]
    place = Place(page=1, boxes=(Box(x0=72, y0=72, x1=500, y1=200),))
    return Chunk(
        id=str(uuid.uuid5(uuid.NAMESPACE_OID, f"{order}")),
        document=document,
        name="made.pdf",
        text=" ".join(sentences),
        places=(place,),
        order=order,
    )


def a_sentence(rng: random.Random, words: list[str], weights: list[float]) -> str:
    """Twelve words, one of them a name."""
    said = rng.choices(words, weights, k=12)
    return " ".join([said[0].capitalize(), *said[1:6], said[6].capitalize(), *said[7:]]) + "."


def a_question(rng: random.Random, texts: list[str]) -> str:
    picked = rng.choice(texts).replace(".", "").split()
    name = rng.choice([word for word in picked if word.istitle()])
    return f"What of {name} by {' '.join(rng.sample(picked, 5)).lower()}?"


def of_the_app() -> None:
    """Start the app as `make run` does on a warm cache, and see a page and an answer in a real browser."""
    from playwright.sync_api import sync_playwright

    rows: dict[str, list[float]] = {"to the first page": [], "to the first answer": []}
    for _ in range(3):
        with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
            port = free_port()
            began = time.perf_counter()
            app = started(port, Path(folder))
            try:
                wait_for(f"http://127.0.0.1:{port}/_stcore/health")
                browser = playwright.chromium.launch(
                    executable_path="/usr/bin/chromium", args=["--no-sandbox", "--disable-background-networking"]
                )
                page = browser.new_page()
                page.goto(f"http://127.0.0.1:{port}/")
                page.get_by_test_id("stChatInputTextArea").wait_for(timeout=60_000)
                rows["to the first page"].append((time.perf_counter() - began) * 1e3)
                ask_until_answered(page)
                rows["to the first answer"].append((time.perf_counter() - began) * 1e3)
                browser.close()
            finally:
                app.terminate()
                app.wait(30)
    show("The app on a warm cache, demo documents not yet indexed", "ms", rows, baseline="to the first page")


def ask_until_answered(page: object) -> None:
    """Ask as soon as the first document is searchable: before, the app says that none is."""
    for _ in range(120):
        box = page.get_by_test_id("stChatInputTextArea")  # type: ignore[attr-defined]
        box.fill("What new product did DataWeave launch?")
        box.press("Enter")
        try:
            page.get_by_text("QuantumLeap").first.wait_for(timeout=1_000)  # type: ignore[attr-defined]
            return
        except Exception:  # not yet
            time.sleep(0.2)
    raise SystemExit("there was no answer within two minutes")


def started(port: int, folder: Path) -> subprocess.Popen[bytes]:
    command = [sys.executable, "-m", "streamlit", "run", "app.py", "--server.port", str(port)]
    env = {**os.environ, "RAGSCOPE_DATA_DIR": str(folder)}
    return subprocess.Popen(command, cwd=ROOT, env=env, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


def wait_for(url: str) -> None:
    for _ in range(600):
        try:
            urllib.request.urlopen(url, timeout=1).close()
            return
        except OSError:
            time.sleep(0.05)
    raise SystemExit(f"{url} did not answer within 30 s")


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def show(title: str, unit: str, samples: dict[str, list[float]], baseline: str) -> None:
    against = percentile(samples[baseline], 50)
    rows = [
        [
            name,
            f"{percentile(values, 50):.1f}",
            f"{percentile(values, 95):.1f}",
            f"{percentile(values, 50) / against:.2f}",
        ]
        for name, values in samples.items()
    ]
    print_table(title, [unit, "p50", "p95", f"x {baseline}"], rows)


def say_times(what: str, samples: list[float], baseline: list[float], most: float, of: str) -> None:
    times = percentile(samples, 50) / percentile(baseline, 50)
    print_aim(f"{what}, p50 in times of {of}", times, f"under {most}", met=times < most)


def megabytes(process: psutil.Process) -> int:
    return round(process.memory_info().rss / 1e6)


if __name__ == "__main__":
    main()
