"""Trees of summaries: what they find beside a flat search, and how building grows with the chunks.

    python -m benchmarks.tree                        # the demo and mmlongbench; then 1,000, 5,000, 20,000 chunks
    python -m benchmarks.tree --set demo --limit 20

Pages: the share of a question's labelled pages among the pages of the evidence, for chunks of 2,000 tokens each: flat,
by vectors and hybrid; under the nodes of a tree, all levels together and from the top, as the paper has it (by the
vectors of the summaries alone) and as we do (what the search found under a summary speaks for it, too); and hybrid with
the technique on. Summaries are made without a model, so that anybody gets the same figures.

Building: one document of so many chunks, which is the hard case: many documents are clustered one by one. Only
clustering grows with the chunks in a way to be watched, so summaries take no time there; what one takes is told apart.
A summary has the middle of its passages for a vector, as near as one can come without writing it. Seconds are those
of the processor, so that what else the machine does does not count.
"""

from __future__ import annotations

import argparse
import json
import math
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from statistics import mean
from typing import Any

import numpy as np

from benchmarks.evaluation import evaluation_set
from benchmarks.table import machine, print_aim, print_table
from rag_core.pipeline.evidence import fused
from rag_core.settings import Settings
from rag_core.techniques.hybrid import Hybrid, HybridSettings
from rag_core.techniques.raptor.growing import Write, Written, grow
from rag_core.techniques.raptor.nodes import Node, Tree, tokens_of
from rag_core.techniques.raptor.retrieving import Raptor
from rag_core.techniques.raptor.settings import RaptorSettings, TreeSettings
from rag_core.types import Chunk, Hit, SearchFilter, Value
from rag_core.workbench import DEMO_FOLDER, Workbench
from rag_core.workbench.searched import Tenant, Tenants

BUDGET = 2_000
DEEP = 40
SIZES = (1_000, 5_000, 20_000)
MODES = ("collapsed", "traversal")

Row = Callable[["Asked", SearchFilter], Sequence[Hit]]


class Asked(Value):
    """A question with the pages that answer it."""

    question: str
    kind: str
    pages: frozenset[tuple[str, int]]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--set", action="append", choices=["demo", "mmlongbench", "building"])
    parser.add_argument("--limit", type=int, metavar="N", help="only the first N questions of each set")
    parser.add_argument("--data", type=Path, default=Path(tempfile.gettempdir()) / "ragscope-tree")
    parser.add_argument("--quick", action="store_true", help="index without the refining pass")
    parsed = parser.parse_args()
    sets = parsed.set or ["demo", "mmlongbench", "building"]
    print(machine())
    with Workbench.open(Settings.from_env({"RAGSCOPE_DATA_DIR": str(parsed.data)})) as workbench:
        for name in (one for one in sets if one != "building"):
            folder = DEMO_FOLDER if name == "demo" else evaluation_set(name)
            if folder is None:
                print(f"\n{name} is not here: set RAGSCOPE_EVAL_DIR")
                continue
            pdfs = folder if name == "demo" else folder / "pdfs"
            workbench.ingest(*sorted(pdfs.glob("*.pdf")), collection=name, quick=parsed.quick)
            build(workbench, name)
            measure(workbench, name, [*asked_of(workbench, name, folder)][: parsed.limit])
    if "building" in sets:
        grown()


def build(workbench: Workbench, collection: str) -> None:
    """Have the tree, and tell what one summary took where it was not there yet."""
    began = time.perf_counter()
    expected = workbench.trees.estimate(collection, "keyless")
    status = workbench.trees.build_tree(collection, engine="keyless")
    spent = time.perf_counter() - began
    levels = " + ".join(map(str, status.levels))
    each = f"; {spent:.1f} s, {1_000 * spent / status.summaries:.0f} ms a summary" if expected.documents else ""
    chunks = sum(record.chunks for record in workbench.documents(collection))
    print(f"\n{collection}: {levels} summaries over {chunks:,} chunks, {expected.summaries:,} expected{each}")


def asked_of(workbench: Workbench, name: str, folder: Path) -> Iterator[Asked]:
    """The questions of a set whose documents have text."""
    ids = {record.name: record.id for record in workbench.documents(name) if record.by_meaning}
    at, document = ("questions.jsonl", "document") if name == "demo" else ("queries.jsonl", "pdf")
    for line in (folder / at).read_text(encoding="utf-8").splitlines():
        told: dict[str, Any] = json.loads(line)
        pages = [(ids.get(one[document]), one["page"]) for one in told["evidence"]]
        if pages and all(id_ for id_, _ in pages):
            kind = told.get("kind") or told["type"]
            yield Asked(question=told["question"], kind=kind, pages=frozenset((id_ or "", page) for id_, page in pages))


def measure(workbench: Workbench, collection: str, questions: Sequence[Asked]) -> None:
    """Print the recall of pages of each row, over all documents and within the right ones."""
    rows = rows_of(workbench, collection)
    many = ["summary"] if collection == "demo" else ["cross-page"]
    columns: list[tuple[str, Callable[[Asked], bool], bool]] = []
    for label, chosen in (("all", lambda one: True), (many[0], lambda one: one.kind in many)):
        columns += [(f"{label}, whole", chosen, False), (f"{label}, given", chosen, True)]
    cells = []
    for row, search in rows.items():
        recalls = {given: [recall(one, search, given=given) for one in questions] for given in (False, True)}
        cells.append(
            [
                row,
                *(
                    f"{mean(r for one, r in zip(questions, recalls[given], strict=True) if chosen(one)):.3f}"
                    for _, chosen, given in columns
                ),
            ]
        )
    n = sum(one.kind in many for one in questions)
    title = f"{collection}: recall of pages at {BUDGET:,} tokens, {len(questions)} questions, {n} of them {many[0]}"
    print_table(title, ["", *(label for label, _, _ in columns)], cells)


def recall(asked: Asked, search: Row, *, given: bool) -> float:
    """The share of the labelled pages that the evidence stands on."""
    where = SearchFilter(documents=tuple({id_ for id_, _ in asked.pages}) if given else ())
    shown = within_budget([hit.chunk for hit in search(asked, where)])
    pages = {(chunk.document, place.page) for chunk in shown for place in chunk.places}
    return len(asked.pages & pages) / len(asked.pages)


def rows_of(workbench: Workbench, collection: str) -> dict[str, Row]:
    """What is compared, by name."""
    chunks = Tenants([Tenant(workbench._store, workbench._ledger.tenant(collection), lambda met: None)])
    summaries = workbench.trees.over([collection], chunks)
    embedder = workbench._embedder
    hybrid = Hybrid(HybridSettings(limit=DEEP), chunks, embedder)
    vectors = Hybrid(HybridSettings(limit=DEEP, alpha=1), chunks, embedder)

    def flat(asked: Asked, where: SearchFilter) -> list[Hit]:
        return hybrid.search(hybrid.query(asked.question), where)

    def under(settings: RaptorSettings) -> Row:
        raptor = Raptor(settings, summaries, embedder)
        return lambda asked, where: raptor.retrieve(hybrid.query(asked.question), flat(asked, where), where).hits

    def beside(settings: RaptorSettings) -> Row:
        tree = under(settings)
        return lambda asked, where: fused([(1.0, flat(asked, where)), (settings.weight, tree(asked, where))])

    found: dict[str, Row] = {"vectors": lambda asked, where: vectors.search(asked.question, where), "hybrid": flat}
    for mode in MODES:
        found[f"{mode}, the paper's"] = under(RaptorSettings(mode=mode, token_budget=BUDGET, found_weight=0))
    for mode in MODES:
        found[mode] = under(RaptorSettings(mode=mode, token_budget=BUDGET))
    for mode in MODES:
        found[f"hybrid and {mode}"] = beside(RaptorSettings(mode=mode, token_budget=BUDGET))
    return found


def within_budget(chunks: Sequence[Chunk]) -> list[Chunk]:
    left, shown = BUDGET, []
    for chunk in chunks:
        if (tokens := tokens_of(chunk.text)) <= left:
            left -= tokens
            shown.append(chunk)
    return shown


def grown() -> None:
    """Print how long clustering of one document takes, all levels, by its chunks."""
    grow(*summed_up(themes(100)), TreeSettings())  # scikit-learn is imported by the first
    cells, seconds = [], []
    for n in SIZES:
        below, texts, write = summed_up(themes(n))
        began = time.process_time()
        tree = grow(below, texts, write, TreeSettings())
        seconds.append(time.process_time() - began)
        levels = " + ".join(str(sum(node.level == at for node in tree.nodes)) for at in range(1, tree.levels + 1))
        cells.append([f"{n:,}", levels, f"{seconds[-1]:.1f}", f"{1e6 * seconds[-1] / (n * math.log(n)):.1f}"])
    print_table("clustering one document", ["chunks", "nodes a level", "s", "µs / n log n"], cells)
    allowed = SIZES[-1] * math.log(SIZES[-1]) / (SIZES[0] * math.log(SIZES[0]))
    ratio = seconds[-1] / seconds[0]
    print_aim(f"from {SIZES[0]:,} to {SIZES[-1]:,} chunks", ratio, f"at most {allowed:.0f}", met=ratio <= allowed)


def summed_up(below: Tree) -> tuple[Tree, dict[str, str], Write]:
    """What `grow` takes, with summaries that take no time: their text only names them."""
    known = {node.id: vector for node, vector in zip(below.nodes, below.vectors, strict=True)}

    def write(texts: Sequence[Sequence[str]]) -> list[Written]:
        middles = unit(np.stack([np.mean([known[text] for text in group], axis=0) for group in texts]))
        written = [Written(f"summary {len(known) + at}", vector, "none") for at, vector in enumerate(middles)]
        known.update((one.text, one.vector) for one in written)
        return written

    return below, {id_: id_ for id_ in known}, write


def themes(n: int) -> Tree:
    """Chunks about a theme for every thirty, and themes about a subject for every ten of those."""
    random = np.random.default_rng(0)
    subjects = random.normal(size=(n // 300 + 1, 384))
    themes = subjects[random.integers(len(subjects), size=n // 30)] + 0.7 * random.normal(size=(n // 30, 384))
    vectors = unit(themes[random.integers(len(themes), size=n)] + 0.7 * random.normal(size=(n, 384)))
    return Tree(tuple(Node(id=str(at), level=0, document="d") for at in range(n)), vectors)


def unit(rows: np.ndarray) -> np.ndarray:
    return (rows / np.linalg.norm(rows, axis=1, keepdims=True)).astype(np.float32)


if __name__ == "__main__":
    main()
