"""Sets pieces as the pages of a PDF, and notes on each page what stands where.

Each piece is laid out by itself, so that its box is known and none is cut by the end of a page. A table goes over pages
between its rows, with its header on each.
"""

from __future__ import annotations

import base64
import html
import io
import zlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from PIL import Image

from rag_core.parsing.formats.pieces import Content, Flow, Piece
from rag_core.parsing.records import Block, PageBlocks
from rag_core.parsing.refused import Refused
from rag_core.parsing.tables import Row, as_text, header_rows, width, write_html
from rag_core.parsing.vendor import mupdf, pymupdf
from rag_core.types import Box

MARGIN = 54.0
SPACE = 6.0
HEADING_SIZES = (20.0, 16.0, 14.0, 12.5, 11.5, 11.0)
TEXT_SIZE = 10.5
CELL_SIZE = 9.0
COLUMN = 66.0
"""The room that a column of a table is given where there are many: the page is then wider."""
WIDEST = 2_800.0
LINE = 24.0
KEPT_WITH_NEXT = 120.0
"""A heading or caption that has less room than this under it goes to the next page."""
LONGEST = 14_000.0
"""PDF allows no longer page, in points."""
ROWS_AT_ONCE = 120
PAGE_CHARS = 8_000
"""A text is cut before it is laid out where no page holds it: MuPDF takes minutes over a megabyte of it."""
PICTURE_DPI = 96
PICTURE_SHARE = 0.6
PIXELS = 100_000_000
DRAWN = ("PNG", "JPEG", "TIFF", "GIF", "BMP")

_KEY = "RagscopeBlocks"
_STYLE = f"""
body {{ margin: 0; font-family: sans-serif; font-size: {TEXT_SIZE}px; }}
p, h1, h2, h3, h4, h5, h6 {{ margin: 0; overflow-wrap: break-word; }}
{"".join(f"h{level} {{ font-size: {size}px; }} " for level, size in enumerate(HEADING_SIZES, 1))}
.list {{ text-indent: -10px; }}
.code {{ font-family: monospace; font-size: {CELL_SIZE}px; white-space: pre-wrap; }}
.caption {{ font-style: italic; }}
.header, .footer, .footnote {{ color: #555; font-size: {CELL_SIZE}px; }}
table {{ border-collapse: collapse; width: 100%; font-size: {CELL_SIZE}px; }}
td, th {{ border: 0.5px solid #999; padding: 2px 3px; text-align: left; vertical-align: top; }}
"""


def typeset(content: Content, max_pages: int) -> Iterator[bytes]:
    """Set a file. Gives nothing but signs of life, which are empty, and at the end the PDF.

    Raises:
        Refused: There is nothing in it, or it fills too many pages.
    """
    setter = _Setter(max_pages)
    for flow in content.flows:
        for _ in setter.put(flow):
            yield b""
    yield setter.finished(content.title)


def blocks_of(document: Any, number: int) -> tuple[PageBlocks, str] | None:
    """What was set on a page, counted from 0, and what was left out there; None where no piece was set."""
    kind, noted = document.xref_get_key(document[number].xref, _KEY)
    if kind != "string":
        return None
    left_out, _, page = zlib.decompress(base64.b64decode(noted)).decode().partition("\n")
    return PageBlocks.model_validate_json(page), left_out


@dataclass
class _Page:
    """A page that is being filled; `y` is how far."""

    size: tuple[float, float]
    single: bool
    y: float = MARGIN
    stories: list[Any] = field(default_factory=list)
    pictures: list[tuple[Any, bytes]] = field(default_factory=list)
    blocks: list[Block] = field(default_factory=list)

    @property
    def right(self) -> float:
        return self.size[0] - MARGIN

    @property
    def bottom(self) -> float:
        return LONGEST - MARGIN if self.single else self.size[1] - MARGIN

    @property
    def rest(self) -> Any:
        return pymupdf.Rect(MARGIN, self.y, self.right, self.bottom)


class _Setter:
    def __init__(self, max_pages: int) -> None:
        self._max_pages = max_pages
        self._out = io.BytesIO()
        self._writer = pymupdf.DocumentWriter(self._out)
        self._done: list[_Page] = []
        self._left_out: dict[int, str] = {}
        self._page = _Page((0, 0), single=False)

    def put(self, flow: Flow) -> Iterator[None]:
        """Set a flow, giving a sign after each piece and each page of a table."""
        columns = max((width(piece.rows) for piece in flow.pieces), default=0)
        across = min(max(flow.size[0], columns * COLUMN + 2 * MARGIN), WIDEST)
        self._page = _Page((across, flow.size[1]), flow.single)
        for piece in flow.pieces:
            if piece.kind == "table":
                yield from self._table(piece.rows)
            elif piece.picture:
                self._picture(piece)
            else:
                self._text(piece)
            yield
        self._end_page()
        if flow.left_out:
            self._left_out[len(self._done) - 1] = flow.left_out

    def finished(self, title: str) -> bytes:
        """The PDF, each page with its blocks."""
        if not any(page.blocks for page in self._done):
            raise Refused("no_pages", "There is nothing in it to read. Check that the file is complete.")
        self._writer.close()
        with pymupdf.open("pdf", self._out.getvalue()) as document:
            document.set_metadata({"title": title})
            for number, page in enumerate(self._done):
                for rect, picture in page.pictures:
                    document[number].insert_image(rect, stream=picture)
                self._note(document, number)
            document.subset_fonts()  # each story brings whole fonts
            return document.tobytes(garbage=3, deflate=True)

    def _note(self, document: Any, number: int) -> None:
        page = self._done[number]
        made = PageBlocks(page=number + 1, height=page.size[1], source="file", blocks=tuple(page.blocks))
        noted = f"{self._left_out.get(number, '')}\n{made.model_dump_json()}"
        packed = base64.b64encode(zlib.compress(noted.encode())).decode()
        document.xref_set_key(document[number].xref, _KEY, f"({packed})")

    def _end_page(self) -> None:
        page = self._page
        if len(self._done) == self._max_pages:
            limit = f"It fills more than {self._max_pages} pages"
            raise Refused("too_many_pages", f"{limit}. Split it, or raise RAGSCOPE_MAX_PAGES.")
        height = max(page.size[1], page.y + MARGIN) if page.single else page.size[1]
        page.size = (page.size[0], height)
        device = self._writer.begin_page(pymupdf.Rect(0, 0, *page.size))
        for story in page.stories:
            story.draw(device)
        self._writer.end_page()
        page.stories.clear()
        self._done.append(page)

    def _new_page(self) -> None:
        before = self._page
        self._end_page()
        self._page = _Page((before.size[0], before.size[1]), before.single)

    def _room(self, height: float) -> None:
        """Go to the next page where less than `height` is left on a page that is begun."""
        if self._page.blocks and self._page.bottom - self._page.y < height:
            self._new_page()

    def _keep(self, block: Block, y: float, story: Any = None) -> None:
        self._page.blocks.append(block)
        self._page.y = y + SPACE
        if story is not None:
            self._page.stories.append(story)

    def _text(self, piece: Piece) -> None:
        if len(piece.text) > PAGE_CHARS:
            self._halves(piece)
            return
        self._room(KEPT_WITH_NEXT if piece.kind in ("title", "caption") else LINE)
        story, more, filled = self._laid(_as_html(piece))
        if more and self._page.blocks:
            self._new_page()
            story, more, filled = self._laid(_as_html(piece))
        if more and len(piece.text) > 1:
            self._halves(piece)
            return
        size = _heading_size(piece) if piece.kind == "title" else TEXT_SIZE
        block = Block(kind=piece.kind, text=piece.text, box=self._box(filled), size=size, bold=piece.kind == "title")
        self._keep(block, filled[3], story)

    def _halves(self, piece: Piece) -> None:
        for half in _halves(piece.text):
            self._text(replace(piece, text=half))

    def _picture(self, piece: Piece) -> None:
        size = _points(piece.picture)
        if size is None:
            if piece.text:
                self._text(replace(piece, kind="text", picture=b""))
            return
        across, down = size
        scale = min(1.0, (self._page.right - MARGIN) / across, self._page.size[1] * PICTURE_SHARE / down)
        self._room(down * scale)
        page = self._page
        rect = pymupdf.Rect(MARGIN, page.y, MARGIN + across * scale, page.y + down * scale)
        page.pictures.append((rect, piece.picture))
        self._keep(Block(kind="figure", text=piece.text, box=self._box(rect)), rect.y1)

    def _table(self, rows: Sequence[Row]) -> Iterator[None]:
        """Set as many rows as fit, then the others on the next page under the same header."""
        header = list(rows[: header_rows(rows)]) if len(rows) > 1 else []
        rest, repeated, most = list(rows), 0, ROWS_AT_ONCE
        while rest:
            self._room(LINE)  # MuPDF crashes when it is asked where things are that have no room at all
            if sum(len(cell.text) for cell in rest[0]) > PAGE_CHARS:
                self._text(Piece(text=as_text(rest[:1])))
                rest = rest[1:]
                continue
            part = [*header[:repeated], *rest[:most]]
            story, _, filled = self._laid(_table_html(part))
            boxes = _boxes(story)
            fitting = self._fitting(part, boxes)
            if fitting <= repeated and self._page.blocks:
                self._new_page()
                continue
            if fitting <= repeated:
                # A row that no page holds goes on as text.
                self._text(Piece(text=as_text(rest[:1])))
                rest = rest[1:]
                continue
            if fitting < len(part):
                part = part[:fitting]
                story, _, filled = self._laid(_table_html(part))
                boxes = _boxes(story)
            self._keep_table(part, boxes, story, filled)
            yield
            rest = rest[fitting - repeated :]
            # More than a page takes is laid out in vain, and the next page takes about as many.
            repeated, most = len(header), min(ROWS_AT_ONCE, fitting + fitting // 4 + 4)

    def _keep_table(self, rows: Sequence[Row], boxes: dict[str, Box], story: Any, filled: Any) -> None:
        placed = [
            tuple(replace(cell, box=boxes.get(f"{row}-{column}")) for column, cell in enumerate(cells))
            for row, cells in enumerate(rows)
        ]
        whole = self._box(filled)
        last = boxes.get(str(len(rows) - 1))
        whole = whole.model_copy(update={"y1": last.y1 if last else whole.y1})
        self._keep(Block(kind="table", text=as_text(rows), box=whole, html=write_html(placed)), filled[3], story)

    def _fitting(self, rows: Sequence[Row], boxes: dict[str, Box]) -> int:
        for number in range(len(rows)):
            box = boxes.get(str(number))
            if box is None or box.y1 > self._page.bottom:
                return number
        return len(rows)

    def _laid(self, markup: str) -> tuple[Any, bool, tuple[float, float, float, float]]:
        """Lay out on what is left of the page: the story, whether there is more of it, and the box that it fills."""
        story = pymupdf.Story(html=markup, user_css=_STYLE)
        more, filled = story.place(self._page.rest)
        return story, bool(more), tuple(filled)

    def _box(self, filled: Any) -> Box:
        x0, y0, x1, y1 = filled
        return Box(x0=x0, y0=y0, x1=min(x1, self._page.right), y1=y1)


def _as_html(piece: Piece) -> str:
    text = html.escape(piece.text)
    if piece.kind == "title":
        level = min(piece.level, len(HEADING_SIZES))
        return f"<h{level}>{text}</h{level}>"
    if piece.code:
        return f'<p class="code">{text}</p>'
    indent = f' style="margin-left: {14 * piece.level}px"' if piece.kind == "list" else ""
    return f'<p class="{piece.kind}"{indent}>{text.replace(chr(10), "<br>")}</p>'


def _table_html(rows: Sequence[Row]) -> str:
    """A table whose rows and cells have ids, `3` and `3-1`, by which they are found again."""
    return "<table>" + "".join(_row_html(number, row) for number, row in enumerate(rows)) + "</table>"


def _row_html(number: int, row: Row) -> str:
    cells = "".join(
        f'<{"th" if cell.header else "td"} id="{number}-{column}" colspan="{cell.colspan}" rowspan="{cell.rowspan}">'
        f"{html.escape(cell.text)}</{'th' if cell.header else 'td'}>"
        for column, cell in enumerate(row)
    )
    return f'<tr id="{number}">{cells}</tr>'


def _boxes(story: Any) -> dict[str, Box]:
    found: dict[str, Box] = {}

    def note(position: Any) -> None:
        if position.id and position.open_close & 1:
            rect = position.rect
            found[position.id] = Box(x0=rect.x0, y0=rect.y0, x1=rect.x1, y1=rect.y1)

    # `Story.element_positions` makes a Python class of every position, which takes half the time of a large table.
    mupdf.ll_fz_story_positions(story.this.m_internal, note)
    return found


def _heading_size(piece: Piece) -> float:
    return HEADING_SIZES[min(piece.level, len(HEADING_SIZES)) - 1]


def _halves(text: str) -> tuple[str, str]:
    middle = len(text) // 2
    cut = text.find("\n", middle, middle + 500)
    cut = cut if cut > 0 else text.find(" ", middle, middle + 500)
    cut = cut if cut > 0 else middle
    return text[:cut].strip(), text[cut:].strip()


def _points(picture: bytes) -> tuple[float, float] | None:
    """Width and height as shown; None where it is damaged, of a kind that is not drawn, or larger than any picture."""
    try:
        with Image.open(io.BytesIO(picture)) as found:  # reads no more than its head
            across, down = found.size
            known = found.format in DRAWN
    except (OSError, ValueError, Image.DecompressionBombError):
        return None
    scale = 72 / PICTURE_DPI
    return (across * scale, down * scale) if known and 0 < across * down <= PIXELS else None
