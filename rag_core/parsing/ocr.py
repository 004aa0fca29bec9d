"""Text out of pixels: of a scanned page, or of a picture in a page; with how sure the reader is of it.

Tesseract reads, at 300 dots an inch: it takes a third of RapidOCR's time and is as good on clean pages. RapidOCR is an
option for poor photographs, where it is installed.

Source: Smith 2007, "An Overview of the Tesseract OCR Engine", https://doi.org/10.1109/ICDAR.2007.4376991
"""

from __future__ import annotations

import re
import shutil
import subprocess
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache
from importlib import import_module
from importlib.util import find_spec
from itertools import groupby
from pathlib import Path
from statistics import mean, median
from typing import Any

from rag_core.parsing.boxes import around
from rag_core.parsing.lines import Line, clean, groups, rows
from rag_core.parsing.records import OcrSettings
from rag_core.parsing.vendor import pymupdf
from rag_core.types import Box

DPI = 300
PIXELS = 6_000
SECONDS = 120
SURE = 0.8
"""A page read with less confidence may stand on its side: its orientation is looked for."""
NOISE = 0.3
"""What is read with less confidence is mostly specks and strokes of a drawing."""
GOOD_LINE = 0.8
WIDE_GAP = 3
LETTER = re.compile(r"[^\W_]")
SPARSE, PAGE = "11", "3"
"""Tesseract's ways to look: for text strewn over a picture, and for columns of paragraphs."""

Pixmap = Any
"""`pymupdf.Pixmap`, which has no types."""


class Unreadable(Exception):
    """A page that cannot be read; the text says why and what to do, in plain words."""


@dataclass(frozen=True, slots=True)
class Seen:
    """A line of text in pixels; `paragraph` is the same for the lines of one."""

    text: str
    box: Box
    confidence: float
    paragraph: int | None = None


@dataclass(frozen=True)
class Recognised:
    """What OCR reads of a page: the lines of each paragraph, in points of the page set upright.

    `confidence` is the mean over the characters, 0..1. `matrix` leads from the page as displayed to that upright one.
    """

    groups: list[list[Line]]
    confidence: float
    matrix: Any
    turned: int = 0

    def on_page(self, box: Box) -> Box:
        """A box of the upright page as it stands on the page displayed."""
        rect = pymupdf.Rect(box.x0, box.y0, box.x1, box.y1) * ~self.matrix
        return Box(x0=rect.x0, y0=rect.y0, x1=rect.x1, y1=rect.y1)


def recognise(page: pymupdf.Page, settings: OcrSettings) -> Recognised:
    """Read the pixels of a page; one that lies on its side or head is turned first.

    Raises:
        Unreadable: The engine, or one of the languages, is not installed.
    """
    read = _reader(settings)
    upright = _recognised(page, read, 0)
    # RapidOCR turns lines itself.
    if settings.engine == "rapidocr" or upright.confidence >= SURE or not (turn := _turn(page)):
        return upright
    turned = _recognised(page, read, turn)
    return max(upright, turned, key=lambda seen: seen.confidence)


def recognise_figure(page: pymupdf.Page, rect: Any, settings: OcrSettings, crop: Path) -> str:
    """Read the text in a picture, row by row; it is kept beside the crop, so that the same picture is read once.

    Raises:
        Unreadable: As `recognise`.
    """
    kept = crop.with_suffix(f".{settings.engine}.{settings.languages}.txt")
    if kept.exists():
        return kept.read_text(encoding="utf-8")
    dpi = _dpi(rect)
    pixmap = page.get_pixmap(clip=rect, dpi=dpi, colorspace=pymupdf.csGRAY)
    lines = [_line(seen, 72 / dpi) for seen in _reader(settings)(pixmap, SPARSE)]
    text = "\n".join(row.text for row in rows(lines))
    kept.write_text(text, encoding="utf-8")
    return text


def _recognised(page: pymupdf.Page, read: Any, turn: int) -> Recognised:
    dpi = _dpi(page.rect)
    matrix = pymupdf.Matrix(turn)
    # Tesseract goes by the size of letters, so it must know the dots an inch; a pixmap of a page is exact.
    pixmap = page.get_pixmap(matrix=matrix * pymupdf.Matrix(dpi / 72, dpi / 72), colorspace=pymupdf.csGRAY)
    pixmap.set_dpi(dpi, dpi)
    seen = list(read(pixmap, PAGE))
    box = page.rect * matrix
    matrix *= pymupdf.Matrix(1, 0, 0, 1, -box.x0, -box.y0)
    chars = sum(len(line.text) for line in seen)
    sure = sum(line.confidence * len(line.text) for line in seen) / chars if chars else 0.0
    return Recognised(list(_paragraphs(seen, 72 / dpi)), round(sure, 3), matrix, turn)


def _paragraphs(seen: Sequence[Seen], points: float) -> Iterator[list[Line]]:
    """The lines of each paragraph, in points; all of one have one size, since heights vary with the letters."""
    if any(line.paragraph is None for line in seen):
        yield from groups([_line(line, points) for line in seen])
        return
    for _, group in groupby(seen, key=lambda line: line.paragraph):
        lines = [_line(line, points) for line in group]
        size = round(median(line.size for line in lines), 1)
        yield [replace(line, size=size) for line in lines]


def _line(seen: Seen, points: float) -> Line:
    x0, y0, x1, y1 = (points * edge for edge in (seen.box.x0, seen.box.y0, seen.box.x1, seen.box.y1))
    # Tesseract reads sideways lines too: those are as large as they are wide.
    size = min(x1 - x0, y1 - y0) if len(seen.text) > 2 else y1 - y0
    return Line(seen.text, x0, y0, x1, y1, size=round(size, 1), bold=False)


def _dpi(rect: Any) -> int:
    return max(72, int(min(DPI, PIXELS * 72 / max(rect.width, rect.height, 1))))


def _reader(settings: OcrSettings) -> Any:
    """The engine as a function: pixels and how to look at them in, lines out."""
    if settings.engine == "rapidocr":
        if not find_spec("rapidocr"):
            raise Unreadable("needs OCR, and RapidOCR is not installed (pip install rapidocr)")
        return lambda pixmap, _: _by_rapidocr(pixmap)
    have = _languages()
    if not have:
        raise Unreadable("needs OCR, and Tesseract is not installed (apt install tesseract-ocr)")
    if missing := [name for name in settings.languages.split("+") if name not in have]:
        package = f"tesseract-ocr-{missing[0].replace('_', '-')}"
        listed = ", ".join(sorted(have))
        raise Unreadable(
            f"needs OCR in {missing[0]!r}, which Tesseract has no data for: apt install {package}, "
            f"or set RAGSCOPE_OCR_LANGUAGES to some of: {listed}"
        )
    return lambda pixmap, look: _by_tesseract(pixmap, look, settings.languages)


@cache
def _languages() -> frozenset[str]:
    """The languages that Tesseract has data for; none where it is not installed."""
    if not shutil.which("tesseract"):
        return frozenset()
    listed = subprocess.run(["tesseract", "--list-langs"], capture_output=True, text=True, timeout=SECONDS)
    return frozenset(listed.stdout.splitlines()[1:]) - {"osd", ""}


@dataclass(frozen=True, slots=True)
class _Word:
    """A word of Tesseract's table; `line` is its block, paragraph and line."""

    text: str
    box: Box
    sure: float
    line: tuple[int, int, int]


def _by_tesseract(pixmap: Pixmap, look: str, languages: str) -> Iterator[Seen]:
    table = _run(pixmap, ["--psm", look, "-l", languages, "tsv"])
    words = [word for row in table.splitlines()[1:] if (word := _word(row.split("\t")))]
    for (block, paragraph, _), found in groupby(words, key=lambda word: word.line):
        for part in _parts(_legible(list(found))):
            sure = mean(word.sure for word in part)
            text = " ".join(word.text for word in part)
            if sure >= NOISE and LETTER.search(text):
                yield Seen(text, around(word.box for word in part), sure, 1_000 * block + paragraph)


def _word(row: Sequence[str]) -> _Word | None:
    if len(row) != 12 or not (text := clean(row[11])):
        return None
    block, paragraph, line = map(int, row[2:5])
    left, top, wide, high = map(int, row[6:10])
    box = Box(x0=left, y0=top, x1=left + wide, y1=top + high)
    return _Word(text, box, float(row[10]) / 100, (block, paragraph, line))


def _legible(words: Sequence[_Word]) -> list[_Word]:
    """Without what is no word: a doubtful one in a line that is read well is kept."""
    if mean(word.sure for word in words) >= GOOD_LINE:
        return list(words)
    return [word for word in words if word.sure >= NOISE]


def _parts(words: Sequence[_Word]) -> Iterator[list[_Word]]:
    """The words of a line between wide gaps: labels of a drawing and cells of a table are not one text."""
    part: list[_Word] = []
    for word in words:
        if part and word.box.x0 - part[-1].box.x1 > WIDE_GAP * (word.box.y1 - word.box.y0):
            yield part
            part = []
        part.append(word)
    if part:
        yield part


def _turn(page: pymupdf.Page) -> int:
    """By how many degrees the page must be turned to stand upright: 0, 90, 180 or 270."""
    pixmap = page.get_pixmap(dpi=_dpi(page.rect), colorspace=pymupdf.csGRAY)
    try:
        found = re.search(r"Rotate: (\d+)", _run(pixmap, ["--psm", "0", "-l", "osd"]))
    except Unreadable:  # too few letters to tell, or no data for it
        return 0
    return int(found.group(1)) if found else 0


def _run(pixmap: Pixmap, options: Sequence[str]) -> str:
    command = ["tesseract", "stdin", "stdout", "--dpi", str(pixmap.xres), *options]
    try:
        ended = subprocess.run(command, input=pixmap.tobytes("pnm"), capture_output=True, timeout=SECONDS)
    except subprocess.TimeoutExpired as error:
        raise Unreadable(f"needs OCR, which took longer than {SECONDS} s") from error
    if ended.returncode:
        said = ended.stderr.decode(errors="replace").strip().splitlines() or ["no reason given"]
        raise Unreadable(f"needs OCR, and Tesseract failed: {said[-1]}")
    return ended.stdout.decode(errors="replace")


def _by_rapidocr(pixmap: Pixmap) -> Iterator[Seen]:
    result = _rapidocr()(pixmap.tobytes("png"))
    if result.txts is None:
        return
    for corners, text, confidence in zip(result.boxes, result.txts, result.scores, strict=True):
        across, down = [float(x) for x, _ in corners], [float(y) for _, y in corners]
        if confidence >= NOISE and clean(text):
            yield Seen(clean(text), Box(x0=min(across), y0=min(down), x1=max(across), y1=max(down)), float(confidence))


@cache
def _rapidocr() -> Any:
    # By name: an option that is not among the requirements, and takes a second to load.
    return import_module("rapidocr").RapidOCR()
