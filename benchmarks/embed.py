"""How fast the embedder is beside onnxruntime, and what int8 costs in retrieval.

    python -m benchmarks.embed            about ten minutes
    python -m benchmarks.embed --quick    about one; speed alone

The baseline runs the same weights in float32 in two ways: padded batches of 8 on all cores, as it is commonly used,
and our own batches on one core each; the faster one counts. Needs `onnx` and `onnxruntime`. Retrieval is measured on
SciFact (Wadden et al. 2020, https://arxiv.org/abs/2004.14974), read from scifact/ in `RAGSCOPE_EVAL_DIR`: a
`corpus.jsonl.gz` of {id, title, text} and a `queries.jsonl` of {question, evidence_ids}.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import random
import re
import tempfile
import threading
import time
import uuid
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from statistics import fmean, median

import numpy as np
from onnxruntime import InferenceSession
from tokenizers import Tokenizer

from benchmarks import minilm_onnx
from benchmarks.evaluation import evaluation_set
from benchmarks.table import (
    in_rounds,
    machine,
    percentile,
    print_aim,
    print_samples,
    print_table,
    ratio,
    timed_s,
)
from rag_core.embedding.minilm import TextEmbedder
from rag_core.embedding.weights import find_weights
from rag_core.indexing.passages import Passage, read_passages
from rag_core.settings import Settings
from rag_core.stores.weaviate.chunks import ChunkStore
from rag_core.types import Chunk

CORES = os.cpu_count() or 1
PADDED, STREAMS = "onnxruntime float32, padded batches", "onnxruntime float32, our batches"

Tokens = list[int]


class Onnx:
    """The baseline: onnxruntime with the tokenizer of the same folder."""

    def __init__(self, weights: Path, threads: int) -> None:
        self._session: InferenceSession = minilm_onnx.load(weights, threads)
        self._tokenizer = Tokenizer.from_file(str(weights / "tokenizer.json"))
        self._tokenizer.no_padding()
        self._tokenizer.enable_truncation(256)

    def padded(self, texts: Sequence[str], batch: int = 8) -> np.ndarray:
        """Embed in batches of neighbours by length."""
        tokens = self._tokens(texts)
        rows = sorted(range(len(tokens)), key=lambda row: len(tokens[row]))
        vectors = np.empty((len(texts), 384), np.float32)
        for start in range(0, len(rows), batch):
            some = rows[start : start + batch]
            vectors[some] = self._forward([tokens[row] for row in some])
        return vectors

    def streams(self, pool: ThreadPoolExecutor, texts: Sequence[str]) -> np.ndarray:
        """Embed as ours does: one text a batch (these are long), a batch on each core."""
        return np.concatenate(list(pool.map(lambda tokens: self._forward([tokens]), self._tokens(texts))))

    def _tokens(self, texts: Sequence[str]) -> list[Tokens]:
        return [self._tokenizer.encode(text).ids for text in texts]

    def _forward(self, batch: list[Tokens]) -> np.ndarray:
        ids = np.zeros((len(batch), max(map(len, batch))), np.int64)
        mask = np.zeros_like(ids)
        for row, tokens in enumerate(batch):
            ids[row, : len(tokens)], mask[row, : len(tokens)] = tokens, 1
        (hidden,) = self._session.run(None, {"ids": ids, "mask": mask})
        sums = (np.asarray(hidden) * mask[:, :, None]).sum(axis=1)
        return sums / np.linalg.norm(sums, axis=1, keepdims=True)


def made_up_chunks(count: int) -> list[str]:
    """Texts of 120 to 250 words, each a token."""
    draw = random.Random(7)
    words = "the of revenue cloud quarter study shows that users in growth market analysis report data system and to"
    return [" ".join(draw.choices(words.split(), k=draw.randint(120, 250))) for _ in range(count)]


def made_up_questions(count: int) -> list[str]:
    return [f"Which product did segment {number} launch in the third quarter of 2023?" for number in range(count)]


def measure_speed(weights: Path, int8: TextEmbedder, float32: TextEmbedder, rounds: int) -> None:
    alone, together = Onnx(weights, threads=1), Onnx(weights, threads=CORES)
    texts = made_up_chunks(24)
    closest = float((float32.embed(texts) * together.padded(texts)).sum(axis=1).min())
    print(f"\nonnxruntime beside ours in float32: least cosine {closest:.6f} of {len(texts)} texts")

    def rate(embed: Callable[[Sequence[str]], np.ndarray]) -> float:
        return len(texts) / timed_s(partial(embed, texts))

    with ThreadPoolExecutor(CORES) as pool:
        ways = {
            "ours int8": int8.embed,
            "ours float32": float32.embed,
            PADDED: together.padded,
            STREAMS: partial(alone.streams, pool),
        }
        samples = in_rounds({name: partial(rate, way) for name, way in ways.items()}, rounds)
    baseline = max((PADDED, STREAMS), key=lambda name: median(samples[name]))
    print_samples(f"Embedding chunks, {rounds} rounds of {len(texts)}", "chunks/s", samples, baseline)
    gained = ratio(samples["ours int8"], samples[baseline])
    print_aim(f"int8 beside {baseline}", gained, "at least 1.8", met=gained >= 1.8, unit=" x")
    measure_questions(int8, float32, together)


def measure_questions(int8: TextEmbedder, float32: TextEmbedder, onnx: Onnx) -> None:
    """One question at a time, each a new one."""
    took: dict[str, list[float]] = {"ours int8": [], "ours float32": [], "onnxruntime float32": []}
    for question in made_up_questions(100):
        took["ours int8"].append(timed_s(partial(int8.embed_one, question)))
        took["ours float32"].append(timed_s(partial(float32.embed_one, question)))
        took["onnxruntime float32"].append(timed_s(partial(onnx.padded, [question])))
    print_table("One question at a time", ["ms", "p50", "p95", "most"], [_spread(*row) for row in took.items()])


def measure_priority(embedder: TextEmbedder, chunks: int) -> None:
    """Ask while a long ingest runs."""
    over, begun = threading.Event(), threading.Event()

    def ingest() -> None:
        embedder.embed(made_up_chunks(chunks), on_batch=lambda _done, _total: begun.set())
        over.set()

    thread = threading.Thread(target=ingest)
    thread.start()
    begun.wait()
    took = []
    for question in made_up_questions(100_000)[100:]:
        if over.is_set():
            break
        took.append(timed_s(partial(embedder.embed_one, question)))
        time.sleep(0.05)
    thread.join()
    name = f"ours int8, {len(took)} questions"
    print_table(f"While {chunks:,} chunks are embedded", ["ms", "p50", "p95", "most"], [_spread(name, took)])
    worst = percentile(took, 95) * 1000
    print_aim("question in mid-ingest, p95", worst, "under 100", met=worst < 100, unit=" ms")


def measure_loading(weights: Path, cache_dir: Path) -> None:
    """From files that the system has in its cache; our models were converted before."""
    samples = in_rounds(
        {
            "ours int8": lambda: 1000 * timed_s(lambda: TextEmbedder(weights, "int8", cache_dir=cache_dir)),
            "ours float32": lambda: 1000 * timed_s(lambda: TextEmbedder(weights, "float32", cache_dir=cache_dir)),
            "onnxruntime float32": lambda: 1000 * timed_s(lambda: minilm_onnx.load(weights, CORES)),
        },
        rounds=3,
    )
    print_samples("Loading (onnxruntime: with making its graph)", "ms", samples, "onnxruntime float32")


def measure_retrieval(embedders: Iterable[TextEmbedder]) -> None:
    folder = evaluation_set("scifact")
    if folder is None:
        print("\nRetrieval was not measured: set RAGSCOPE_EVAL_DIR to the folder of scifact/.")
        return
    passages = [
        passage
        for passage in read_passages(folder / "corpus.jsonl.gz", "corpus.jsonl.gz")
        if isinstance(passage, Passage)
    ]
    chunks = [_chunk(order, passage) for order, passage in enumerate(passages)]
    rows = [json.loads(line) for line in (folder / "queries.jsonl").read_text(encoding="utf-8").splitlines()]
    labels = {row["question"]: set(row["evidence_ids"]) for row in rows if row["evidence_ids"]}
    with tempfile.TemporaryDirectory() as data_dir:
        settings = Settings.from_env().model_copy(update={"data_dir": Path(data_dir)})
        scores = {embedder.name: _ndcg_of(embedder, settings, chunks, labels) for embedder in embedders}
    print_table(
        f"nDCG@10 on SciFact: {len(chunks):,} abstracts, {len(labels)} claims",
        ["", "dense", "hybrid 0.5", "embedded in s"],
        [[name, *(f"{score:.4f}" for score in found[:2]), f"{found[2]:.0f}"] for name, found in scores.items()],
    )
    for side, name in enumerate(("dense", "hybrid")):
        apart = float(np.ptp([found[side] for found in scores.values()]))
        print_aim(f"int8 and float32 apart, {name}", apart, "at most 0.005", met=apart <= 0.005)
    least = min(found[1] for found in scores.values())
    print_aim("hybrid nDCG@10", least, "above 0.73", met=least > 0.73)


def _ndcg_of(
    embedder: TextEmbedder, settings: Settings, chunks: list[Chunk], labels: dict[str, set[str]]
) -> tuple[float, float, float]:
    """Give nDCG@10 by vectors alone (searched exactly), by hybrid search, and the seconds of embedding."""
    began = time.perf_counter()
    vectors = embedder.embed([chunk.searchable_text for chunk in chunks])
    took_s = time.perf_counter() - began
    questions = embedder.embed(list(labels))
    best = np.argsort(-(questions @ vectors.T), axis=1)[:, :10]
    dense = [[str(chunks[row].source) for row in ranked] for ranked in best]

    store = ChunkStore.open(settings, re.sub(r"\W", "_", embedder.name))
    try:
        store.ensure_tenant("scifact")
        store.put("scifact", chunks, vectors)
        hybrid = [
            [str(hit.chunk.source) for hit in store.hybrid("scifact", question, vector, alpha=0.5, limit=10)]
            for question, vector in zip(labels, questions, strict=True)
        ]
    finally:
        store.close()
    return _mean_ndcg(dense, labels), _mean_ndcg(hybrid, labels), took_s


def _mean_ndcg(rankings: list[list[str]], labels: dict[str, set[str]]) -> float:
    return fmean(ndcg(ranked, wanted) for ranked, wanted in zip(rankings, labels.values(), strict=True))


def ndcg(ranked: Sequence[str], wanted: set[str], depth: int = 10) -> float:
    """Normalised discounted cumulative gain with labels of 0 and 1 (Järvelin and Kekäläinen 2002)."""
    gain = sum(1 / math.log2(rank + 2) for rank, source in enumerate(ranked[:depth]) if source in wanted)
    return gain / sum(1 / math.log2(rank + 2) for rank in range(min(depth, len(wanted))))


def _chunk(order: int, passage: Passage) -> Chunk:
    return Chunk(
        id=str(uuid.uuid5(uuid.NAMESPACE_OID, str(passage.id))),
        document="scifact",
        name="scifact",
        text=passage.text,
        section=(passage.title,),
        source=str(passage.id),
        order=order,
    )


def _spread(name: str, took_s: Sequence[float]) -> list[str]:
    return [name, *(f"{1000 * value:.1f}" for value in (median(took_s), percentile(took_s, 95), max(took_s)))]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="fewer rounds, no retrieval")
    quick = parser.parse_args().quick
    print(machine())
    settings = Settings.from_env()
    weights = find_weights(settings, print)
    int8 = TextEmbedder(weights, "int8", cache_dir=settings.cache_dir)
    float32 = TextEmbedder(weights, "float32", cache_dir=settings.cache_dir)
    measure_loading(weights, settings.cache_dir)
    measure_speed(weights, int8, float32, rounds=3 if quick else 15)
    measure_priority(int8, chunks=300 if quick else 2_000)
    if not quick:
        measure_retrieval((int8, float32))


if __name__ == "__main__":
    main()
