"""Words that OCR reads on pages that were made of text and drawn to pixels, against the text itself.

Twelve pages, drawn at random (seeded) from those of the evaluation PDFs with much text and little else.
"""

from __future__ import annotations

import random
import re
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from benchmarks.evaluation import evaluation_set
from benchmarks.table import print_aim, print_table
from rag_core.parsing.ocr import recognise
from rag_core.parsing.quick import page_lines
from rag_core.parsing.records import OcrSettings
from rag_core.parsing.vendor import pymupdf

SETS = ("financebench", "mmlongbench", "starter", "uda")
SEED, PAGES = 4, 12
MIN_CHARS = 1_000
DPIS = (300, 200)
AIM = 0.98
WORD = re.compile(r"\w+")


def main() -> None:
    """Measure and print."""
    for dpi in DPIS:
        rows, total = [], Counter[str]()
        for path, number in _pages():
            with pymupdf.open(path) as document:
                count = _measured(document[number - 1], dpi)
            total.update(count)
            rows.append([f"{path.name[:40]} {number}", *_cells(count)])
        rows.append(["all", *_cells(total)])
        print_table(
            f"OCR of pages drawn at {dpi} dots an inch",
            ["page", "words", "recall", "precision", "confidence", "s"],
            rows,
        )
        recall = total["both"] / max(total["there"], 1)
        print_aim(f"word recall at {dpi} dots an inch", recall, f"at least {AIM}", met=recall >= AIM)


def _cells(count: Counter[str]) -> list[str]:
    recall, precision = count["both"] / max(count["there"], 1), count["both"] / max(count["read"], 1)
    confidence = count["confidence"] / count["pages"] / 1_000
    seconds = count["ms"] / count["pages"] / 1_000
    return [str(count["there"]), f"{recall:.3f}", f"{precision:.3f}", f"{confidence:.2f}", f"{seconds:.1f}"]


def _pages() -> list[tuple[Path, int]]:
    found = [page for name in SETS for page in _candidates(name)]
    return random.Random(SEED).sample(found, min(PAGES, len(found)))


def _candidates(name: str) -> Iterator[tuple[Path, int]]:
    """The pages of a set that are text on white: no picture larger than a logo, few drawings."""
    folder = evaluation_set(name)
    for path in sorted((folder / "pdfs").glob("*.pdf")) if folder else ():
        with pymupdf.open(path) as document:
            for number in range(1, document.page_count + 1):
                page = document[number - 1]
                pictures = sum(abs(pymupdf.Rect(image["bbox"]) & page.rect) for image in page.get_image_info())
                text = len(str(page.get_text())) >= MIN_CHARS and not page.rotation
                if text and pictures < 0.05 * abs(page.rect) and len(page.get_cdrawings() or ()) < 100:
                    yield path, number


def _measured(page: pymupdf.Page, dpi: int) -> Counter[str]:
    truth = _words(line.text for line in page_lines(page))
    scan = pymupdf.open()
    drawn = scan.new_page(width=page.rect.width, height=page.rect.height)
    drawn.insert_image(drawn.rect, pixmap=page.get_pixmap(dpi=dpi))
    began = time.perf_counter()
    seen = recognise(drawn, OcrSettings())
    read = _words(line.text for group in seen.groups for line in group)
    return Counter(
        there=truth.total(),
        read=read.total(),
        both=(truth & read).total(),
        confidence=round(1_000 * seen.confidence),
        ms=round(1_000 * (time.perf_counter() - began)),
        pages=1,
    )


def _words(texts: Iterator[str]) -> Counter[str]:
    return Counter(WORD.findall(" ".join(texts).lower()))
