"""What each retrieval technique buys: evidence found, alone and as presets, beside BM25, vectors and LlamaIndex.

    python -m benchmarks.retrieval [--set NAME]... [--limit N] [--only ROW]... [--data FOLDER] [--alone]

Every row asks the same questions of the same chunks in the same run, without a model. nDCG@10 and recall are of the
passages, or pages, labelled as evidence; 'all@10' is the share of questions with all of them among the first ten. A
set of PDFs is asked as a whole and, as NAME-given, each question of its own document. Milliseconds are those of
retrieval, searches those that reached the store. Indexes are kept in the folder.
"""

from __future__ import annotations

import argparse
import logging
import math
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import mean

from pydantic import BaseModel

from benchmarks import pages
from benchmarks.evaluation import evaluation_set
from benchmarks.table import machine, print_aim, print_table
from rag_core.pipeline.plan import PRESETS, Plan
from rag_core.pipeline.run import Run
from rag_core.settings import Settings
from rag_core.types import Chunk
from rag_core.workbench import Workbench

METRICS = ("nDCG@10", "recall@2", "recall@5", "all@10")
LOSS_ALLOWED = 0.01
"""What a preset may lie below `simple` by any of a set's metrics."""
PASSAGES, CHUNKS = 10, pages.CONTEXTS
"""Asked for a question: so many that ten passages, or ten pages, are among them."""
_TECHNIQUES = ("references", "expand", "hyde", "rerank", "multi_hop", "sub_queries")
_PHASES = ("question", "retrieve", "sub_queries")


@dataclass(frozen=True)
class LabelledSet:
    """Where questions are, what they are measured by, and what some row of ours should reach.

    Sets with several passages a question are measured by finding all of them.
    """

    folder: str
    metrics: tuple[str, ...]
    aim: tuple[str, float] | None = None
    queries: str = "queries.jsonl"
    given: bool = False


_ALL = ("recall@2", "recall@5", "all@10")
SETS: Mapping[str, LabelledSet] = {
    "scifact": LabelledSet("scifact", ("nDCG@10",), ("nDCG@10", 0.75)),
    "hotpotqa": LabelledSet("hotpotqa", _ALL, ("recall@5", 0.86)),
    "2wiki": LabelledSet("2wiki", _ALL),
    "xquad": LabelledSet("xquad", ("nDCG@10",)),
    "xquad-crosslingual": LabelledSet("xquad", ("nDCG@10",), queries="queries_crosslingual.jsonl"),
    **{name: LabelledSet(name, ("recall@5",), ("recall@5", whole)) for name, (whole, _) in pages.AIMS.items()},
    **{
        f"{name}-given": LabelledSet(name, ("recall@5",), ("recall@5", given), given=True)
        for name, (_, given) in pages.AIMS.items()
    },
}


class Labelled(BaseModel):
    """A question with the passages, or pages, that answer it; `document` is the one that it is asked of."""

    question: str
    evidence_ids: list[str]
    document: str | None = None


@dataclass(frozen=True)
class Found:
    """What one question brought: ids of passages or pages, best first."""

    ids: list[str]
    ms: float
    searches: int


Search = Callable[[Labelled], Found]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--set", action="append", choices=list(SETS), help="only this one; repeatable")
    parser.add_argument("--limit", type=int, metavar="N", help="only N questions of each set, spread over it")
    parser.add_argument("--only", action="append", metavar="ROW", help="only this row; repeatable")
    parser.add_argument("--data", type=Path, default=Path(tempfile.gettempdir()) / "ragscope-retrieval")
    parser.add_argument("--alone", action="store_true", help="without the peer")
    parsed = parser.parse_args()
    print(machine())
    logging.disable(logging.WARNING)  # the peer's client tells of every request
    with Workbench.open(Settings.from_env({"RAGSCOPE_DATA_DIR": str(parsed.data)})) as workbench:
        for name in parsed.set or SETS:
            labelled_set = SETS[name]
            place = evaluation_set(labelled_set.folder)
            if place is None:
                print(f"\n{name} is not here: set RAGSCOPE_EVAL_DIR")
                continue
            collection = labelled_set.folder
            workbench.ingest(*files(place), collection=collection)
            rows = {row: ours(workbench, collection, plan) for row, plan in plans().items()}
            if not parsed.alone:
                rows["LlamaIndex hybrid"] = peer(workbench, collection)
            wanted = {row: search for row, search in rows.items() if not parsed.only or row in parsed.only}
            measure(name, spread(labelled(place, labelled_set), parsed.limit), wanted)


def files(place: Path) -> list[Path]:
    """What a set is asked of: its PDFs, or its passages."""
    return sorted((place / "pdfs").glob("*.pdf")) or list(place.glob("corpus.jsonl*"))


def plans() -> dict[str, Plan]:
    """A plan for each row: both sides of the search alone, each technique alone, and the presets."""
    bare = PRESETS["simple"]
    for technique in ("scan", "references", "multimodal", "validate"):
        bare = bare.off(technique)
    alone = {technique: bare.on(technique) for technique in _TECHNIQUES}
    sides = {"BM25": bare.set("hybrid", alpha=0), "vectors": bare.set("hybrid", alpha=1), "hybrid": bare}
    return {**sides, **alone, **{f"preset {name}": plan for name, plan in PRESETS.items()}}


def labelled(place: Path, of: LabelledSet) -> list[Labelled]:
    """The questions of a set that have evidence."""
    if (place / "pdfs").exists():
        return [
            Labelled(
                question=one.question,
                evidence_ids=list(dict.fromkeys(page_id(at.pdf, at.page) for at in one.evidence)),
                document=one.evidence[0].pdf if of.given else None,
            )
            for one in pages.labelled(place, {pdf.name for pdf in files(place)})
        ]
    lines = (place / of.queries).read_text(encoding="utf-8").splitlines()
    return [question for line in lines if (question := Labelled.model_validate_json(line)).evidence_ids]


def page_id(document: str, page: int) -> str:
    return f"{document} {page}"


def id_of(chunk: Chunk) -> str:
    """The passage or the page that a chunk stands on."""
    return chunk.source or page_id(chunk.name, chunk.page or 0)


def spread(questions: Sequence[Labelled], limit: int | None) -> list[Labelled]:
    """So many of them, at even distances: sets are sorted by document or language."""
    if limit is None or limit >= len(questions):
        return list(questions)
    return [questions[at * len(questions) // limit] for at in range(limit)]


def asked_in_turn(questions: Sequence[Labelled], rows: Mapping[str, Search]) -> dict[str, list[Found]]:
    """What each row found, question by question: a slow moment of the machine meets all rows."""
    found: dict[str, list[Found]] = {row: [] for row in rows}
    for question in questions:
        for row, search in rows.items():
            found[row].append(search(question))
    return found


def measure(name: str, questions: Sequence[Labelled], rows: Mapping[str, Search]) -> None:
    found = asked_in_turn(questions, rows)
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
    if (wanted := SETS[name].aim) and reached:
        metric, aim = wanted
        best = max((scored[metric] for row, scored in reached.items() if row != "LlamaIndex hybrid"), default=0)
        print_aim(f"{name}, the best row's {metric}", best, f"at least {aim}", met=best >= aim)
    for row, scored in reached.items():
        if row.startswith("preset ") and "preset simple" in reached:
            loss = max(reached["preset simple"][metric] - scored[metric] for metric in SETS[name].metrics)
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

    def search(asked: Labelled) -> Found:
        run = workbench.ask(
            asked.question,
            collection=collection,
            documents=[asked.document] if asked.document else [],
            plan=plan,
            engine="keyless",
            contexts=CHUNKS if collection in pages.AIMS else PASSAGES,
        )
        ids = [id_of(hit.chunk) for hit in run.evidence]
        return Found(list(dict.fromkeys(ids)), retrieval_ms(run), run.searches)

    return search


def retrieval_ms(run: Run) -> float:
    """The time of the steps before the answer."""
    return 1_000 * sum(span.duration_s for span in run.spans if span.parent_id is None and span.phase in _PHASES)


def peer(workbench: Workbench, collection: str) -> Search:
    """LlamaIndex's own hybrid retriever over the same chunks and vectors, in the same Weaviate."""
    try:
        from llama_index.vector_stores.weaviate import WeaviateVectorStore
    except ImportError as error:
        raise SystemExit(
            f"The peer needs llama-index-vector-stores-weaviate ({error}): install it, or leave it out with --alone."
        ) from error
    from llama_index.core import StorageContext, VectorStoreIndex
    from llama_index.core.schema import TextNode
    from llama_index.core.vector_stores import MetadataFilter, MetadataFilters
    from llama_index.core.vector_stores.types import VectorStoreQueryMode
    from weaviate.classes.config import DataType, Property, Tokenization

    from rag_core.embedding.llama_index import MiniLMEmbedding

    client = workbench._store._connection.call(lambda client: client)
    chunks = list(stored(workbench, collection))
    name = f"Hybrid_{collection}_{len(chunks)}"
    kept = client.collections.exists(name)
    store = WeaviateVectorStore(weaviate_client=client, index_name=name)
    embedder = MiniLMEmbedding(workbench._embedder)
    if kept:
        index = VectorStoreIndex.from_vector_store(store, embed_model=embedder)
    else:  # our server makes no property by itself
        config = client.collections.use(name).config
        for property_ in ("source", "_node_content", "_node_type", "document_id", "doc_id"):
            config.add_property(Property(name=property_, data_type=DataType.TEXT, index_searchable=False))
        config.add_property(Property(name="document", data_type=DataType.TEXT, tokenization=Tokenization.FIELD))
        nodes = [
            TextNode(
                text=chunk.searchable_text,
                metadata={"source": id_of(chunk), "document": chunk.name},
                excluded_embed_metadata_keys=["source", "document"],
            )
            for chunk in chunks
        ]
        context = StorageContext.from_defaults(vector_store=store)
        index = VectorStoreIndex(nodes, storage_context=context, embed_model=embedder)
        there = client.collections.use(name).aggregate.over_all(total_count=True).total_count
        assert there == len(nodes), f"the peer stored {there} of {len(nodes)} chunks"

    def search(asked: Labelled) -> Found:
        began = time.perf_counter()
        named = [MetadataFilter(key="document", value=asked.document)] if asked.document else []
        hits = index.as_retriever(
            similarity_top_k=CHUNKS if collection in pages.AIMS else PASSAGES,
            vector_store_query_mode=VectorStoreQueryMode.HYBRID,
            alpha=0.5,
            filters=MetadataFilters(filters=[*named]) if named else None,
        ).retrieve(asked.question)
        ms = 1_000 * (time.perf_counter() - began)
        return Found(list(dict.fromkeys(str(hit.metadata["source"]) for hit in hits)), ms, 1)

    return search


def stored(workbench: Workbench, collection: str) -> Iterator[Chunk]:
    """All chunks of a collection."""
    tenant, last = workbench._ledger.tenant(collection), None
    while page := workbench._store.chunks(tenant, after=last, limit=1_000):
        yield from page
        last = page[-1].id


if __name__ == "__main__":
    main()
