"""How fast documents are read and found, beside what people use today, in the same run.

    python -m benchmarks.ingest                  a sample: 8 documents, 20 pages of each; about five minutes
    python -m benchmarks.ingest --documents 0 --pages 0    all pages of all documents; hours
    python -m benchmarks.ingest --hostile        every file of the hostile set at both levels instead

Reads financebench/ and mmlongbench/ (PDFs under `pdfs/`), and hostile/, in `RAGSCOPE_EVAL_DIR`. Every contender has a
process of its own, which starts anew for each round. Those in one process keep to one core: the layout models run in
one thread for pymupdf4llm as they do for us. Needs llama-index-readers-file; `unstructured` runs where its PDF parts
are installed.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING, Any

import psutil

from benchmarks.evaluation import ROOT, evaluation_set
from benchmarks.table import in_rounds, machine, print_aim, print_table, timed_s
from rag_core.embedding.minilm import TextEmbedder
from rag_core.embedding.weights import find_weights
from rag_core.errors import PdfParseError
from rag_core.parsing.parser import Parser
from rag_core.parsing.records import Level
from rag_core.settings import Settings
from rag_core.workbench import Workbench

if TYPE_CHECKING:
    from llama_index.core import Document

SETS = ("financebench", "mmlongbench")
OURS: dict[str, tuple[Level, int]] = {
    "quick pass, one worker": ("quick", 1),
    "quick pass, two workers": ("quick", 2),
    "refining pass, one worker": ("full", 1),
    "refining pass, two workers": ("full", 2),
}
LLAMA_INDEX, PYMUPDF4LLM, UNSTRUCTURED = "LlamaIndex PDF reader", "pymupdf4llm", "unstructured fast"
TEXT_ONLY = (LLAMA_INDEX, UNSTRUCTURED)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--documents", type=int, default=8, help="how many; 0 is all")
    parser.add_argument("--pages", type=int, default=20, help="of each, from the first; 0 is all")
    parser.add_argument("--rounds", type=int, default=2)
    parser.add_argument("--hostile", action="store_true")
    parser.add_argument("--reader", help=argparse.SUPPRESS)
    parser.add_argument("files", nargs="*", type=Path, help=argparse.SUPPRESS)
    asked = parser.parse_args()
    if asked.reader:
        print(json.dumps(_measured(asked.reader, asked.files)))
        return
    print(machine())
    if asked.hostile:
        hostile()
        return
    folders = [folder for name in SETS if (folder := evaluation_set(name))]
    whole = sorted(path for folder in folders for path in folder.glob("pdfs/*.pdf"))
    if not whole:
        sys.exit(f"There is no {' or '.join(SETS)} here: set RAGSCOPE_EVAL_DIR.")
    chosen = whole[:: max(1, len(whole) // asked.documents)][: asked.documents] if asked.documents else whole
    with tempfile.TemporaryDirectory() as folder:
        speed(_cut(chosen, asked.pages, Path(folder)), asked.rounds)
        until_found(max(whole, key=_page_count))


def speed(files: Sequence[Path], rounds: int) -> None:
    """Pages a second of each reader, and the most memory that one of its processes took."""
    pages = sum(map(_page_count, files))
    peaks: Counter[str] = Counter()

    def contender(name: str) -> Callable[[], float]:
        def measure() -> float:
            found = _in_own_process(name, files)
            peaks[name] = max(peaks[name], round(found["peak_mb"]))
            return pages / found["seconds"]

        return measure

    names = [*OURS, LLAMA_INDEX, PYMUPDF4LLM]
    if reason := _missing("unstructured.partition.pdf"):
        print(f"\n{UNSTRUCTURED} is left out: {reason}")
    else:
        names.append(UNSTRUCTURED)
    samples = in_rounds({name: contender(name) for name in names}, rounds)
    rows = [
        [name, f"{median(values):.1f}", f"{min(values):.1f}", f"{max(values):.1f}", str(peaks[name])]
        for name, values in samples.items()
    ]
    title = f"Reading {pages} pages of {len(files)} documents, median of {rounds} rounds after one that is not kept"
    print_table(title, ["reader", "pages/s", "least", "most", "MB a process"], rows)
    typical = {name: median(values) for name, values in samples.items()}
    best = max(typical[name] for name in TEXT_ONLY if name in typical)
    _aim("quick pass, one core: times the best text-only peer", typical["quick pass, one worker"] / best, 10)
    refining = typical["refining pass, one worker"]
    _aim("refining pass, one core: times pymupdf4llm", refining / typical[PYMUPDF4LLM], 1)
    _aim("refining pass: times by a second worker", typical["refining pass, two workers"] / refining, 1.7)


def until_found(path: Path) -> None:
    """Seconds from adding a long document until questions find it; LlamaIndex's quickstart beside."""
    rows = []
    with tempfile.TemporaryDirectory() as folder, Workbench.open(Settings(RAGSCOPE_DATA_DIR=Path(folder))) as workbench:
        workbench.serve()
        workbench.create_collection("Documents")
        time.sleep(10)  # the app is open, and has its readers ready
        began = time.perf_counter()
        document = workbench.add(path, path.name, "Documents").id
        for name, reached in (("by words", "searchable"), ("by meaning", "by_meaning")):
            while not getattr(workbench.document(document), reached):
                time.sleep(0.01)
            rows.append([f"ours, found {name}", f"{time.perf_counter() - began:.1f}"])
    words, meaning = (float(row[1]) for row in rows)
    rows.append(["LlamaIndex quickstart, found by meaning", f"{timed_s(lambda: _quickstart(path)):.1f}"])
    print_table(f"From a file of {_page_count(path)} pages to the first question that finds it", ["", "s"], rows)
    print_aim("found by words after", words, "at most 3", met=words <= 3, unit=" s")
    print_aim("found by meaning after", meaning, "at most 20", met=meaning <= 20, unit=" s")


def hostile() -> None:
    """Read every hostile file at both levels, two at a time, and say what became of them."""
    folder = evaluation_set("hostile")
    if folder is None:
        sys.exit("There is no hostile here: set RAGSCOPE_EVAL_DIR.")
    files = sorted(folder.glob("pdfs/*.pdf"))
    parser = Parser(Settings(RAGSCOPE_PARSE_WORKERS=2))
    rows = []
    with tempfile.TemporaryDirectory() as figures, ThreadPoolExecutor(2) as pool:
        levels: tuple[Level, ...] = ("quick", "full")
        for level in levels:
            began = time.perf_counter()
            ends = Counter(pool.map(partial(_end, parser, level, Path(figures)), files))
            spent = time.perf_counter() - began
            rows.append([level, *(str(ends[end]) for end in ("whole", "partly", "refused")), f"{spent:.0f}"])
    parser.close()
    print_table(f"{len(files)} hostile files", ["pass", "read whole", "partly, said", "refused", "s"], rows)


def _end(parser: Parser, level: Level, figures: Path, path: Path) -> str:
    try:
        return "partly" if parser.parse(path, level=level, figures=figures).failed else "whole"
    except PdfParseError:
        return "refused"


def _quickstart(path: Path) -> None:
    """Read, split and embed as LlamaIndex's first example does, with our embedder."""
    from llama_index.core import VectorStoreIndex
    from llama_index.core.node_parser import SentenceSplitter

    from rag_core.embedding.llama_index import MiniLMEmbedding

    settings = Settings()
    embedder = TextEmbedder(find_weights(settings, print), settings.precision, cache_dir=settings.cache_dir)
    VectorStoreIndex.from_documents(
        _llama_index(path), transformations=[SentenceSplitter()], embed_model=MiniLMEmbedding(embedder)
    )


# readers, each in a process of its own


def _in_own_process(reader: str, files: Sequence[Path]) -> dict[str, float]:
    command = [sys.executable, "-m", "benchmarks.ingest", "--reader", reader, *map(str, files)]
    done = subprocess.run(command, cwd=ROOT, stdout=subprocess.PIPE, text=True, check=True)
    return json.loads(done.stdout.splitlines()[-1])


def _measured(reader: str, files: Sequence[Path]) -> dict[str, float]:
    """Read all files; seconds without the start of the reader, and the memory of its largest process."""
    if reader in OURS:
        return _measured_ours(*OURS[reader], files)
    read = {LLAMA_INDEX: _llama_index, PYMUPDF4LLM: _pymupdf4llm(), UNSTRUCTURED: _unstructured}[reader]
    seconds = timed_s(lambda: [read(path) for path in files])
    return {"seconds": seconds, "peak_mb": _peak_mb(psutil.Process())}


def _measured_ours(level: Level, workers: int, files: Sequence[Path]) -> dict[str, float]:
    parser = Parser(Settings(RAGSCOPE_PARSE_WORKERS=workers))
    with tempfile.TemporaryDirectory() as folder:
        figures = Path(folder)
        with ThreadPoolExecutor(workers) as pool:  # so that every reader is ready
            list(pool.map(lambda _: parser.parse(files[0], level="quick", figures=figures), range(workers)))
        seconds = timed_s(lambda: [parser.parse(path, level=level, figures=figures) for path in files])
        peak = max(map(_peak_mb, psutil.Process().children()))
        parser.close()
    return {"seconds": seconds, "peak_mb": peak}


def _llama_index(path: Path) -> list[Document]:
    from llama_index.readers.file import PDFReader  # pyright: ignore[reportMissingImports]

    return PDFReader().load_data(path)


def _pymupdf4llm() -> Callable[[Path], Any]:
    from rag_core.parsing import vendor  # noqa: F401 (its layout models keep to one thread from here on)

    import pymupdf4llm  # isort: skip

    return lambda path: pymupdf4llm.to_markdown(str(path), use_ocr=False)


def _unstructured(path: Path) -> Any:
    from unstructured.partition.pdf import partition_pdf

    return partition_pdf(str(path), strategy="fast")


def _missing(module: str) -> str | None:
    """Why a module cannot be imported, tried in another process; None where it can."""
    done = subprocess.run([sys.executable, "-c", f"import {module}"], capture_output=True, text=True, check=False)
    return done.stderr.strip().splitlines()[-1] if done.returncode else None


def _peak_mb(process: psutil.Process) -> float:
    status = Path(f"/proc/{process.pid}/status")
    if not status.exists():
        return process.memory_info().rss / 1e6
    (line,) = [line for line in status.read_text().splitlines() if line.startswith("VmHWM")]
    return int(line.split()[1]) * 1024 / 1e6


def _cut(files: Sequence[Path], pages: int, folder: Path) -> list[Path]:
    """The first pages of each file, as files of their own; 0 is all."""
    if not pages:
        return list(files)
    from pypdf import PdfReader, PdfWriter

    cut = []
    for path in files:
        writer = PdfWriter()
        writer.append(PdfReader(path), pages=(0, min(pages, _page_count(path))))
        cut.append(folder / path.name)
        writer.write(cut[-1])
    return cut


def _page_count(path: Path) -> int:
    from pypdf import PdfReader

    return len(PdfReader(path).pages)


def _aim(what: str, measured: float, least: float) -> None:
    print_aim(what, measured, f"at least {least:g}", met=measured >= least)


if __name__ == "__main__":
    main()
