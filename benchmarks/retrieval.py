"""What each retrieval technique buys: passages found, alone and as presets, beside BM25, vectors and LlamaIndex.

    python -m benchmarks.retrieval [--set NAME]... [--limit N] [--only ROW]... [--data FOLDER] [--alone]

Every row asks the same questions of the same chunks in the same run, without a model. nDCG@10 and recall are of the
passages labelled as evidence; 'all@10' is the share of questions with all of them among the first ten. Milliseconds
are those of retrieval, searches those that reached the store. Indexes are kept in the folder.
"""

from __future__ import annotations

import argparse
import logging
import math
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import mean

from pydantic import BaseModel

from benchmarks.evaluation import evaluation_set
from benchmarks.table import machine, print_aim, print_table
from rag_core.indexing.passages import read_passages
from rag_core.pipeline.plan import PRESETS, Plan
from rag_core.pipeline.run import Run
from rag_core.settings import Settings
from rag_core.workbench import Workbench

SETS = ("scifact", "hotpotqa", "2wiki", "xquad")
AIMS: Mapping[str, tuple[str, float]] = {"scifact": ("nDCG@10", 0.75), "hotpotqa": ("recall@5", 0.86)}
METRICS = ("nDCG@10", "recall@2", "recall@5", "all@10")
COUNTS: Mapping[str, Sequence[str]] = {
    "scifact": ("nDCG@10",),
    "hotpotqa": ("recall@2", "recall@5", "all@10"),
    "2wiki": ("recall@2", "recall@5", "all@10"),
    "xquad": ("nDCG@10",),
}
"""What a set is measured by: sets with several passages a question by finding all of them."""
LOSS_ALLOWED = 0.01
"""What a preset may lie below `simple` by any of these."""
_TECHNIQUES = ("expand", "hyde", "rerank", "multi_hop", "sub_queries")
_PHASES = ("question", "retrieve", "sub_queries")


class Labelled(BaseModel):
    """A question of a set with the passages that answer it."""

    question: str
    evidence_ids: list[str]


@dataclass(frozen=True)
class Found:
    """What one question brought: ids of passages, best first."""

    ids: list[str]
    ms: float
    searches: int


Search = Callable[[str], Found]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--set", action="append", choices=SETS, help="only this one; repeatable")
    parser.add_argument("--limit", type=int, metavar="N", help="only the first N questions of each set")
    parser.add_argument("--only", action="append", metavar="ROW", help="only this row; repeatable")
    parser.add_argument("--data", type=Path, default=Path(tempfile.gettempdir()) / "ragscope-retrieval")
    parser.add_argument("--alone", action="store_true", help="without the peer")
    parsed = parser.parse_args()
    print(machine())
    logging.disable(logging.WARNING)  # the peer's client tells of every request
    with Workbench.open(Settings.from_env({"RAGSCOPE_DATA_DIR": str(parsed.data)})) as workbench:
        for name in parsed.set or SETS:
            place = evaluation_set(name)
            if place is None:
                print(f"\n{name} is not here: set RAGSCOPE_EVAL_DIR")
                continue
            corpus = next(place.glob("corpus.jsonl*"))
            workbench.ingest(corpus, collection=name)
            rows = {row: ours(workbench, name, plan) for row, plan in plans().items()}
            if not parsed.alone:
                rows["LlamaIndex hybrid"] = peer(workbench, name, corpus)
            wanted = {row: search for row, search in rows.items() if not parsed.only or row in parsed.only}
            measure(name, labelled(place)[: parsed.limit], wanted)


def plans() -> dict[str, Plan]:
    """A plan for each row: both sides of the search alone, each technique alone, and the presets."""
    bare = PRESETS["simple"]
    for technique in ("scan", "references", "multimodal", "validate"):
        bare = bare.off(technique)
    alone = {technique: bare.on(technique) for technique in _TECHNIQUES}
    sides = {"BM25": bare.set("hybrid", alpha=0), "vectors": bare.set("hybrid", alpha=1), "hybrid": bare}
    return {**sides, **alone, **{f"preset {name}": plan for name, plan in PRESETS.items()}}


def labelled(place: Path) -> list[Labelled]:
    lines = (place / "queries.jsonl").read_text(encoding="utf-8").splitlines()
    return [question for line in lines if (question := Labelled.model_validate_json(line)).evidence_ids]


def measure(name: str, questions: Sequence[Labelled], rows: Mapping[str, Search]) -> None:
    # Question by question, so that a slow moment of the machine meets all rows.
    found: dict[str, list[Found]] = {row: [] for row in rows}
    for question in questions:
        for row, search in rows.items():
            found[row].append(search(question.question))
    reached = {row: scores(questions, of_row) for row, of_row in found.items()}
    cells = [
        [
            row,
            *(f"{reached[row][metric]:.3f}" for metric in METRICS),
            f"{mean(one.ms for one in of_row):.0f}",
            f"{mean(one.searches for one in of_row):.1f}",
        ]
        for row, of_row in found.items()
    ]
    print_table(f"{name}, {len(questions)} questions", ["", *METRICS, "ms", "searches"], cells)
    if name in AIMS and reached:
        metric, aim = AIMS[name]
        best = max((scored[metric] for row, scored in reached.items() if row != "LlamaIndex hybrid"), default=0)
        print_aim(f"{name}, the best row's {metric}", best, f"at least {aim}", met=best >= aim)
    for row, scored in reached.items():
        if row.startswith("preset ") and "preset simple" in reached:
            loss = max(reached["preset simple"][metric] - scored[metric] for metric in COUNTS[name])
            print_aim(f"{name}, {row} below simple by", loss, f"at most {LOSS_ALLOWED}", met=loss <= LOSS_ALLOWED)


def scores(questions: Sequence[Labelled], found: Sequence[Found]) -> dict[str, float]:
    """The mean of each metric."""
    each = [scores_of(one.ids, set(question.evidence_ids)) for question, one in zip(questions, found, strict=True)]
    return {metric: mean(one[metric] for one in each) for metric in METRICS}


def scores_of(ids: Sequence[str], gold: set[str]) -> dict[str, float]:
    """The metrics of one question.

    Source of nDCG: Järvelin and Kekäläinen 2002, https://doi.org/10.1145/582415.582418, with gains of 0 and 1.
    """
    gains = [1 / math.log2(rank + 1) for rank in range(1, 11)]
    gained = sum(gain for gain, id_ in zip(gains, ids, strict=False) if id_ in gold)
    return {
        "nDCG@10": gained / sum(gains[: len(gold)]),
        "recall@2": len(gold & set(ids[:2])) / len(gold),
        "recall@5": len(gold & set(ids[:5])) / len(gold),
        "all@10": float(gold <= set(ids[:10])),
    }


def ours(workbench: Workbench, collection: str, plan: Plan) -> Search:
    """Questions as the command line asks them."""

    def search(question: str) -> Found:
        run = workbench.ask(question, collection=collection, plan=plan, engine="keyless")
        ids = [hit.chunk.source or hit.chunk.id for hit in run.evidence]
        return Found(list(dict.fromkeys(ids)), retrieval_ms(run), run.searches)

    return search


def retrieval_ms(run: Run) -> float:
    """The time of the steps before the answer."""
    return 1_000 * sum(span.duration_s for span in run.spans if span.parent_id is None and span.phase in _PHASES)


def peer(workbench: Workbench, collection: str, corpus: Path) -> Search:
    """LlamaIndex's own hybrid retriever over the same passages and vectors, in the same Weaviate."""
    try:
        from llama_index.vector_stores.weaviate import WeaviateVectorStore
    except ImportError as error:
        raise SystemExit(
            f"The peer needs llama-index-vector-stores-weaviate ({error}): install it, or leave it out with --alone."
        ) from error
    from llama_index.core import StorageContext, VectorStoreIndex
    from llama_index.core.schema import TextNode
    from llama_index.core.vector_stores.types import VectorStoreQueryMode
    from weaviate.classes.config import DataType, Property

    from rag_core.embedding.llama_index import MiniLMEmbedding

    client = workbench._store._connection.call(lambda client: client)
    name = f"Hybrid_{collection}"
    kept = client.collections.exists(name)
    store = WeaviateVectorStore(weaviate_client=client, index_name=name)
    embedder = MiniLMEmbedding(workbench._embedder)
    if kept:
        index = VectorStoreIndex.from_vector_store(store, embed_model=embedder)
    else:  # our server makes no property by itself
        for property_ in ("source", "_node_content", "_node_type", "document_id", "doc_id"):
            added = Property(name=property_, data_type=DataType.TEXT, index_searchable=False)
            client.collections.use(name).config.add_property(added)
        passages = [passage for passage in read_passages(corpus, corpus.name) if not isinstance(passage, str)]
        nodes = [TextNode(text=f"{one.title}\n{one.text}".strip(), metadata={"source": one.id}) for one in passages]
        for node in nodes:
            node.excluded_embed_metadata_keys = ["source"]
        context = StorageContext.from_defaults(vector_store=store)
        index = VectorStoreIndex(nodes, storage_context=context, embed_model=embedder)
        stored = client.collections.use(name).aggregate.over_all(total_count=True).total_count
        assert stored == len(nodes), f"the peer stored {stored} of {len(nodes)} passages"
    retriever = index.as_retriever(similarity_top_k=10, vector_store_query_mode=VectorStoreQueryMode.HYBRID, alpha=0.5)

    def search(question: str) -> Found:
        began = time.perf_counter()
        hits = retriever.retrieve(question)
        ms = 1_000 * (time.perf_counter() - began)
        return Found([str(hit.metadata["source"]) for hit in hits], ms, 1)

    return search


if __name__ == "__main__":
    main()
