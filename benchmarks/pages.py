"""Whether the page with the answer is found: recall of evidence pages, beside LlamaIndex's own quickstart.

    python -m benchmarks.pages [--set NAME]... [--quick-pass] [--limit-docs N] [--data FOLDER] [--alone]

Each question is asked of the whole set and of its own document. A page counts by its best chunk; recall is the share
of a question's evidence pages among the first 5 and 10. The peer reads, cuts, stores and searches as its guide has it
(PDFReader, SentenceSplitter 256/32, WeaviateVectorStore, hybrid 0.5), with our embedder, in the same Weaviate. Indexes
are kept in the folder, so that only ranking is run again.
"""

from __future__ import annotations

import argparse
import logging
import re
import tempfile
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from pydantic import BaseModel

from benchmarks.evaluation import evaluation_set
from benchmarks.table import machine, print_aim, print_table
from rag_core.settings import Settings
from rag_core.workbench import Workbench

# What windows of plain text reach is in brackets at the side: whole set (0.43, 0.51, 0.84), document given (0.48, ...).
AIMS = {"financebench": (0.55, 0.62), "mmlongbench": (0.60, 0.70), "uda": (0.92, 0.95)}
PLAIN = {"financebench": (0.43, 0.48), "mmlongbench": (0.51, 0.58), "uda": (0.84, 0.89)}
CONTEXTS = 50
"""Chunks asked for, so that ten pages are among them."""

Page = tuple[str, int]
Search = Callable[[str, str | None], list[Page]]
"""The pages for a question, best first, of the whole set or of the document named."""


class Evidence(BaseModel):
    pdf: str
    page: int


class Labelled(BaseModel):
    """A question of a set with the pages that answer it."""

    question: str
    evidence: list[Evidence]
    type: str
    meta: dict

    @property
    def kinds(self) -> list[str]:
        return [re.sub(r".*\((.*)\)", r"\1", kind).lower() for kind in self.meta.get("sources") or []]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--set", action="append", choices=list(AIMS), help="only this one; repeatable")
    parser.add_argument("--quick-pass", action="store_true", help="without layout, tables, figures and OCR")
    parser.add_argument("--limit-docs", type=int, metavar="N", help="only the first N documents of each set")
    parser.add_argument("--data", type=Path, default=Path(tempfile.gettempdir()) / "ragscope-pages")
    parser.add_argument("--alone", action="store_true", help="without the peer")
    parsed = parser.parse_args()
    print(machine())
    logging.disable(logging.WARNING)  # the peer's reader and client tell of every font and request
    folder = parsed.data / ("quick" if parsed.quick_pass else "full")
    with Workbench.open(Settings.from_env({"RAGSCOPE_DATA_DIR": str(folder)})) as workbench:
        for name in parsed.set or AIMS:
            place = evaluation_set(name)
            if place is None:
                print(f"\n{name} is not here: set RAGSCOPE_EVAL_DIR")
                continue
            pdfs = sorted((place / "pdfs").glob("*.pdf"))[: parsed.limit_docs]
            questions = labelled(place, {pdf.name for pdf in pdfs})
            workbench.ingest(*pdfs, collection=name, quick=parsed.quick_pass)
            ways: dict[str, Search] = {"Ragscope": ours(workbench, name)}
            if not parsed.alone:
                ways["LlamaIndex quickstart"] = peer(workbench, name, pdfs)
            measure(name, questions, ways)


def labelled(place: Path, pdfs: set[str]) -> list[Labelled]:
    """The questions that these documents answer, with known pages."""
    lines = (place / "queries.jsonl").read_text(encoding="utf-8").splitlines()
    questions = [Labelled.model_validate_json(line) for line in lines]
    return [
        question
        for question in questions
        if question.type != "unanswerable" and question.evidence and {at.pdf for at in question.evidence} <= pdfs
    ]


def measure(name: str, questions: Sequence[Labelled], ways: dict[str, Search]) -> None:
    rows, kinds, reached = [], [], {}
    for way, search in ways.items():
        whole = [search(question.question, None) for question in questions]
        given = [search(question.question, question.evidence[0].pdf) for question in questions]
        cells = [f"{mean_recall(questions, found, top):.3f}" for found in (whole, given) for top in (5, 10)]
        rows.append([way, *cells])
        kinds += list(by_kind(way, questions, whole, given))
        reached[way] = mean_recall(questions, whole, 5), mean_recall(questions, given, 5)
    header = [f"{name}, {len(questions)} questions", "whole @5", "@10", "given @5", "@10"]
    plain = [f"{value:.2f}" for value in PLAIN[name]]
    print_table("Recall of pages", header, [*rows, ["windows of plain text", plain[0], "", plain[1], ""]])
    if kinds:
        print_table("Recall@5 by where the answer stands", ["", "questions", "whole", "given"], kinds)
    for what, value, aim in zip(("whole set", "document given"), reached["Ragscope"], AIMS[name], strict=True):
        print_aim(f"{name}, {what}, recall@5", value, f"at least {aim}", met=value >= aim)


def by_kind(
    way: str, questions: Sequence[Labelled], whole: Sequence[list[Page]], given: Sequence[list[Page]]
) -> Iterator[list[str]]:
    for kind in sorted({kind for question in questions for kind in question.kinds}):
        at = [number for number, question in enumerate(questions) if kind in question.kinds]
        of = [questions[number] for number in at]
        cells = [f"{mean_recall(of, [found[number] for number in at], 5):.3f}" for found in (whole, given)]
        yield [f"{way}: {kind}", str(len(at)), *cells]


def mean_recall(questions: Sequence[Labelled], found: Sequence[list[Page]], top: int) -> float:
    shares = []
    for question, pages in zip(questions, found, strict=True):
        gold = {(at.pdf, at.page) for at in question.evidence}
        shares.append(len(gold & set(pages[:top])) / len(gold))
    return sum(shares) / len(shares) if shares else 0.0


def ours(workbench: Workbench, collection: str) -> Search:
    """Questions as the command line asks them, by the simple plan."""

    def search(question: str, document: str | None) -> list[Page]:
        documents = [document] if document else []
        run = workbench.ask(question, collection=collection, documents=documents, engine="keyless", contexts=CONTEXTS)
        return list(dict.fromkeys((hit.chunk.name, hit.chunk.page or 0) for hit in run.evidence))

    return search


def peer(workbench: Workbench, collection: str, pdfs: Sequence[Path]) -> Search:
    """LlamaIndex's quickstart over the same documents, in a collection of its own in the same Weaviate."""
    try:
        from llama_index.readers.file import PDFReader  # pyright: ignore[reportMissingImports]
        from llama_index.vector_stores.weaviate import WeaviateVectorStore
    except ImportError as error:
        raise SystemExit(
            f"The peer needs llama-index-readers-file and llama-index-vector-stores-weaviate ({error}): "
            "install them, or leave it out with --alone."
        ) from error
    from llama_index.core import StorageContext, VectorStoreIndex
    from llama_index.core.node_parser import SentenceSplitter
    from llama_index.core.vector_stores import MetadataFilter, MetadataFilters
    from llama_index.core.vector_stores.types import VectorStoreQueryMode
    from weaviate.classes.config import DataType, Property, Tokenization

    from rag_core.embedding.llama_index import MiniLMEmbedding

    client = workbench._store._connection.call(lambda client: client)
    name = f"Quickstart_{collection}_{len(pdfs)}"
    kept = client.collections.exists(name)
    store = WeaviateVectorStore(weaviate_client=client, index_name=name)
    if not kept:  # our server makes no property by itself
        properties = client.collections.use(name).config
        for text in ("page_label", "_node_content", "_node_type", "document_id", "doc_id"):
            properties.add_property(Property(name=text, data_type=DataType.TEXT, index_searchable=False))
        # Matched as a whole, so that one report is not taken for another.
        exact = Property(name="file_name", data_type=DataType.TEXT, tokenization=Tokenization.FIELD)
        properties.add_property(exact)
        properties.add_property(Property(name="page", data_type=DataType.INT))
    embedder = MiniLMEmbedding(workbench._embedder)
    if kept:
        index = VectorStoreIndex.from_vector_store(store, embed_model=embedder)
    else:
        pages = []
        for pdf in pdfs:
            for number, page in enumerate(PDFReader().load_data(pdf), start=1):
                page.metadata["page"] = number  # its own label is the printed one
                pages.append(page)
        index = VectorStoreIndex.from_documents(
            pages,
            storage_context=StorageContext.from_defaults(vector_store=store),
            embed_model=embedder,
            transformations=[SentenceSplitter(chunk_size=256, chunk_overlap=32)],
        )

    def search(question: str, document: str | None) -> list[Page]:
        named = [MetadataFilter(key="file_name", value=document)] if document else []
        retriever = index.as_retriever(
            similarity_top_k=CONTEXTS,
            vector_store_query_mode=VectorStoreQueryMode.HYBRID,
            alpha=0.5,
            filters=MetadataFilters(filters=[*named]) if named else None,
        )
        found = retriever.retrieve(question)
        return list(dict.fromkeys((hit.metadata["file_name"], int(hit.metadata["page"])) for hit in found))

    return search


if __name__ == "__main__":
    main()
