"""Pages: type, colours and frames of a document, and the template that sets its bookmarks and contents."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import reportlab
from reportlab import rl_config
from reportlab.lib.colors import Color, HexColor
from reportlab.lib.pagesizes import letter
from reportlab.pdfbase import pdfmetrics
from reportlab.pdfbase.pdfmetrics import registerFontFamily
from reportlab.pdfbase.ttfonts import TTFont
from reportlab.pdfgen.canvas import Canvas
from reportlab.platypus import BaseDocTemplate, Flowable, Frame, PageTemplate, Paragraph

FONTS = Path(reportlab.__file__).parent / "fonts"
INK, FAINT, TINT = HexColor(0x1E2329), HexColor(0x6B7480), HexColor(0xEEF2F6)
Furniture = Callable[[Canvas, int], None]  # canvas and page number -> what surrounds the text

# Streams stay as they are: a deflated one depends on the machine's zlib, and the files must not.
rl_config.useA85 = 0
for face, file in {"Vera": "Vera", "Vera-Bold": "VeraBd", "Vera-Italic": "VeraIt", "Vera-BoldItalic": "VeraBI"}.items():
    pdfmetrics.registerFont(TTFont(face, FONTS / f"{file}.ttf"))
registerFontFamily("Vera", normal="Vera", bold="Vera-Bold", italic="Vera-Italic", boldItalic="Vera-BoldItalic")


@dataclass(frozen=True)
class Theme:
    """How one document looks. Lengths are points; `first_top` is the top margin of page 1."""

    accent: Color
    body: str = "Times-Roman"
    head: str = "Helvetica-Bold"
    table: str = "Helvetica"
    table_bold: str = "Helvetica-Bold"
    size: float = 10.5
    leading: float = 14.5
    head_sizes: tuple[float, float, float] = (18, 13, 10.5)
    page: tuple[float, float] = letter
    left: float = 72
    right: float = 72
    top: float = 84
    bottom: float = 84
    first_top: float = 84
    columns: int = 1
    gutter: float = 20
    ink: Color = INK
    faint: Color = FAINT
    tint: Color = TINT

    def column_width(self, columns: int) -> float:
        """Give the width of one of `columns` columns of text, in points."""
        return (self.page[0] - self.left - self.right - self.gutter * (columns - 1)) / columns


class Heading(Paragraph):
    """A paragraph that goes into the bookmarks; `level` counts from 0."""

    level = 0


class Document(BaseDocTemplate):
    """A document whose headings become bookmarks and lines of its table of contents."""

    def __init__(self, path: Path, theme: Theme, furniture: Furniture, title: str, author: str) -> None:
        super().__init__(
            str(path), pagesize=theme.page, title=title, author=author, invariant=1, pageCompression=0, lang="en-US"
        )

        def draw(canvas: Canvas, _: BaseDocTemplate) -> None:
            canvas.saveState()
            furniture(canvas, canvas.getPageNumber())
            canvas.restoreState()

        kinds = (("first", theme.first_top, theme.columns), ("later", theme.top, theme.columns), ("wide", theme.top, 1))
        templates = [PageTemplate(name, _frames(theme, top, columns), draw) for name, top, columns in kinds]
        templates[0].autoNextPageTemplate = "later"
        self.addPageTemplates(templates)

    def afterFlowable(self, flowable: Flowable) -> None:  # noqa: N802
        """Bookmark a heading and tell the table of contents; reportlab calls it by this name."""
        if not isinstance(flowable, Heading):
            return
        text, level = flowable.getPlainText(), flowable.level
        key = f"heading-{self.page}-{text}"
        self.canv.bookmarkPage(key)
        self.canv.addOutlineEntry(text, key, level=level, closed=level > 0)
        if level < 2:
            self.notify("TOCEntry", (level, text, self.page, key))


def _frames(theme: Theme, top: float, columns: int) -> list[Frame]:
    width, height = theme.column_width(columns), theme.page[1] - top - theme.bottom
    lefts = [theme.left + i * (width + theme.gutter) for i in range(columns)]
    return [Frame(x, theme.bottom, width, height, 0, 0, 0, 0) for x in lefts]
