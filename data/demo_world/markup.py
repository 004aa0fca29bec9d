"""A light markup for the documents' texts, and what reportlab makes of it.

Blocks are parted by blank lines. A block is a heading (`#`, `##`, `###`), a list (`- `, `1. `), a paragraph
(`**bold**`, `*italic*`, `^1^` raised, a backslash ends a line) or a directive:

    @table grid|lines|plain 3,1,1 Caption      rows follow as `| a | b |`; `|!` is a total
    @figure name Caption     @note Text     @quote Text -- Who     @foot 1 Text     @lead Text
    @small Text              @title Text    @contents    @column    @break
    @page later|wide
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping

from reportlab.lib.colors import white
from reportlab.lib.enums import TA_RIGHT
from reportlab.lib.styles import ParagraphStyle
from reportlab.platypus import (
    Flowable,
    FrameBreak,
    KeepTogether,
    ListFlowable,
    NextPageTemplate,
    PageBreak,
    Paragraph,
    Spacer,
    Table,
)
from reportlab.platypus.tableofcontents import TableOfContents

from demo_world.layout import Heading, Theme

Figure = Callable[[float], Flowable]  # column width in points -> the drawing
_NUMBER = re.compile(r"^\d+\. ")
_FIGURE = re.compile(r"[(+–]?[$€£]?(S\$)?[\d.,]*[)%]?( pts)?")


class Footnote(Flowable):
    """Takes no room in the text; its note stands at the foot of the page that it falls on, one a page."""

    def __init__(self, text: str, style: ParagraphStyle, theme: Theme) -> None:
        super().__init__()
        self._note, self._theme = Paragraph(text, style), theme

    def draw(self) -> None:
        theme, canvas = self._theme, self.canv
        _, height = self._note.wrap(theme.page[0] - theme.left - theme.right, theme.bottom)
        x, y = canvas.absolutePosition(0, 0)
        left, foot = theme.left - x, theme.bottom - 34 - y
        canvas.setStrokeColor(theme.faint)
        canvas.setLineWidth(0.4)
        canvas.line(left, foot + height + 3, left + 120, foot + height + 3)
        self._note.drawOn(canvas, left, foot)


class Setter:
    """Turns markup into flowables in one theme."""

    def __init__(self, theme: Theme, figures: Mapping[str, Figure]) -> None:
        self._theme, self._figures = theme, figures
        self._styles = _styles(theme)
        self._width = theme.column_width(theme.columns)
        self._directives: dict[str, Callable[[str, list[str]], list[Flowable]]] = {
            "table": self._table,
            "figure": self._figure,
            "note": self._note,
            "quote": self._quote,
            "foot": self._foot,
            "lead": lambda text, _: [self._text(text, "lead")],
            "small": lambda text, _: [self._text(text, "small")],
            "title": lambda text, _: [self._text(text, "h1")],
            "contents": lambda _, __: [self._contents()],
            "column": lambda _, __: [FrameBreak()],
            "break": lambda _, __: [PageBreak()],
            "page": self._page,
        }

    def story(self, markup: str) -> list[Flowable]:
        """Give the flowables of a text, in its order."""
        blocks = re.split(r"\n\s*\n", markup.strip())
        return [flowable for block in blocks for flowable in self._block(block)]

    def _block(self, block: str) -> list[Flowable]:
        first, *rest = block.split("\n")
        if first.startswith("@"):
            name, _, argument = first[1:].partition(" ")
            return self._directives[name](argument, rest)
        if first.startswith("#"):
            return [self._heading(block)]
        if first.startswith("- "):
            return [self._list(block.split("\n- "), "bullet")]
        if _NUMBER.match(first):
            return [self._list(re.split(r"\n(?=\d+\. )", block), "1")]
        return [self._text(block, "body")]

    def _text(self, text: str, style: str) -> Paragraph:
        return Paragraph(inline(text), self._styles[style])

    def _heading(self, block: str) -> Heading:
        marks, _, text = block.partition(" ")
        heading = Heading(inline(text), self._styles[f"h{len(marks)}"])
        heading.level = len(marks) - 1
        return heading

    def _list(self, items: list[str], kind: str) -> Flowable:
        texts = [_NUMBER.sub("", item).removeprefix("- ") for item in items]
        return ListFlowable(
            [self._text(text, "item") for text in texts],
            bulletType=kind,
            start="•" if kind == "bullet" else 1,
            bulletFormat=None if kind == "bullet" else "%s.",
            bulletFontName=self._theme.body,
            bulletFontSize=self._theme.size,
            bulletColor=self._theme.accent,
            leftIndent=16,
            spaceAfter=self._theme.leading * 0.45,
        )

    def _table(self, argument: str, lines: list[str]) -> list[Flowable]:
        kind, widths, caption = argument.split(" ", 2)
        shares = [float(share) for share in widths.split(",")]
        rows = [line for line in lines if line.startswith("|")]
        notes = [self._text(line, "small") for line in lines if not line.startswith("|")]
        texts = [[cell.strip() for cell in row.lstrip("|!").rstrip("|").split("|")] for row in rows]
        figures = [n > 0 and _are_figures(column) for n, column in enumerate(zip(*texts[1:], strict=True))]
        cells = [self._cells(row, figures, _face(kind, number, rows)) for number, row in enumerate(texts)]
        table = Table(
            cells,
            colWidths=[self._width * share / sum(shares) for share in shares],
            style=self._table_style(kind, rows),
            repeatRows=1,
            spaceAfter=0 if notes else self._theme.leading * 0.8,
        )
        return [self._text(caption, "caption"), table, *notes]

    def _cells(self, texts: list[str], figures: list[bool], face: str) -> list[Paragraph]:
        return [
            self._text(text, ("figure" if is_figure else "cell") + face)
            for text, is_figure in zip(texts, figures, strict=True)
        ]

    def _table_style(self, kind: str, rows: list[str]) -> list[tuple]:
        theme, last = self._theme, len(rows) - 1
        style: list[tuple] = [
            ("VALIGN", (0, 0), (-1, -1), "MIDDLE" if kind == "grid" else "TOP"),
            ("TOPPADDING", (0, 0), (-1, -1), 2.5),
            ("BOTTOMPADDING", (0, 0), (-1, -1), 3.5),
            ("LEFTPADDING", (0, 0), (-1, -1), 5),
            ("RIGHTPADDING", (0, 0), (-1, -1), 5),
        ]
        if kind == "grid":
            style += [("GRID", (0, 0), (-1, -1), 0.6, theme.faint), ("BACKGROUND", (0, 0), (-1, 0), theme.accent)]
        if kind == "lines":
            rules = (("LINEABOVE", 0), ("LINEBELOW", 0), ("LINEBELOW", last))
            style += [(rule, (0, row), (-1, row), 0.9, theme.accent) for rule, row in rules]
            style += [("LINEABOVE", (1, n), (-1, n), 0.4, theme.ink) for n, row in enumerate(rows) if row[1] == "!"]
        if kind != "plain":
            style += [("BACKGROUND", (0, n), (-1, n), theme.tint) for n, row in enumerate(rows) if row[1] == "!"]
        return style

    def _figure(self, argument: str, __: list[str]) -> list[Flowable]:
        name, _, caption = argument.partition(" ")
        drawing = self._figures[name](self._width)
        return [KeepTogether([Spacer(0, 4), drawing, self._text(caption, "figure_caption")])]

    def _note(self, argument: str, lines: list[str]) -> list[Flowable]:
        theme, everywhere = self._theme, ((0, 0), (-1, -1))
        style = [
            ("BACKGROUND", *everywhere, theme.tint),
            ("LINEBEFORE", *everywhere, 3, theme.accent),
            ("LEFTPADDING", *everywhere, 10),
            ("RIGHTPADDING", *everywhere, 10),
            ("TOPPADDING", *everywhere, 6),
            ("BOTTOMPADDING", *everywhere, 8),
        ]
        text = self._text("\n".join([argument, *lines]), "note")
        return [Table([[text]], [self._width], style=style, spaceBefore=3, spaceAfter=theme.leading * 0.7)]

    def _quote(self, argument: str, lines: list[str]) -> list[Flowable]:
        words, _, who = "\n".join([argument, *lines]).partition(" -- ")
        return [KeepTogether([self._text(f"“{words}”", "quote"), self._text(f"— {who}", "quoted")])]

    def _foot(self, argument: str, lines: list[str]) -> list[Flowable]:
        mark, _, text = "\n".join([argument, *lines]).partition(" ")
        return [Footnote(inline(f"^{mark}^ {text}"), self._styles["small"], self._theme)]

    def _page(self, argument: str, _: list[str]) -> list[Flowable]:
        self._width = self._theme.column_width(1 if argument == "wide" else self._theme.columns)
        return [NextPageTemplate(argument), PageBreak()]

    def _contents(self) -> Flowable:
        contents = TableOfContents(dotsMinLevel=0)
        contents.levelStyles = [self._styles["toc1"], self._styles["toc2"]]
        return contents


def inline(text: str) -> str:
    """Turn the markup inside a block into reportlab's tags."""
    text = text.replace("&", "&amp;").replace("<", "&lt;").replace("\\\n", "<br/>").replace("\n", " ")
    text = re.sub(r"\*\*(.+?)\*\*", r"<b>\1</b>", text)
    text = re.sub(r"\*(.+?)\*", r"<i>\1</i>", text)
    return re.sub(r"\^(.+?)\^", r"<super>\1</super>", text)


def _are_figures(column: tuple[str, ...]) -> bool:
    """A column of numbers is set flush right, one with any words or dates flush left."""
    return any(column) and all(_FIGURE.fullmatch(text) for text in column if text)


def _face(kind: str, number: int, rows: list[str]) -> str:
    if number == 0:
        return "_head" if kind == "grid" else "_bold"
    return "_bold" if rows[number][1] == "!" else ""


def _styles(theme: Theme) -> dict[str, ParagraphStyle]:
    size, leading, accent = theme.size, theme.leading, theme.accent
    h1, h2, h3 = theme.head_sizes
    head = {"fontName": theme.head, "keepWithNext": 1}
    small = {"fontSize": size - 2.3, "leading": (size - 2.3) * 1.25, "textColor": theme.faint}
    cell = {"fontName": theme.table, "fontSize": size - 1.6, "leading": (size - 1.6) * 1.25}
    bold = cell | {"fontName": theme.table_bold}
    right = {"alignment": TA_RIGHT}
    settings = {
        "body": {"spaceAfter": leading * 0.5, "allowWidows": 0, "allowOrphans": 0},
        "item": {"spaceAfter": leading * 0.18},
        "lead": small | {"fontSize": size + 1.5, "leading": leading + 2.5, "spaceAfter": leading * 0.7},
        "small": small | {"spaceBefore": 3, "spaceAfter": 6},
        "h1": head | _spaced(h1, 1.2, 0.8, 0.55) | {"textColor": accent},
        "h2": head | _spaced(h2, 1.25, 0.7, 0.35),
        "h3": head | _spaced(h3, 1.3, 0.4, 0.2) | {"textColor": accent},
        "caption": bold | {"fontSize": size - 1.5, "spaceBefore": 6, "spaceAfter": 4, "keepWithNext": 1},
        "figure_caption": cell | {"fontSize": size - 2.3, "spaceBefore": 4, "spaceAfter": leading},
        "cell": cell,
        "cell_bold": bold,
        "cell_head": bold | {"textColor": white},
        "figure": cell | right,
        "figure_bold": bold | right,
        "figure_head": bold | right | {"textColor": white},
        "note": {"fontSize": size - 0.5, "leading": leading - 0.7},
        "quote": {"fontSize": size + 0.5, "textColor": accent, "leftIndent": 18, "rightIndent": 18, "spaceBefore": 3},
        "quoted": small | {"leftIndent": 18, "spaceAfter": leading * 0.6},
        "toc1": {"fontName": theme.head, "spaceBefore": 3},
        "toc2": {"fontSize": size - 0.7, "leading": leading - 4.8, "leftIndent": 14},
    }
    base = ParagraphStyle("base", fontName=theme.body, fontSize=size, leading=leading, textColor=theme.ink)
    return {name: ParagraphStyle(name, base, **own) for name, own in settings.items()}


def _spaced(size: float, leading: float, before: float, after: float) -> dict[str, float]:
    """A heading's size, and its leading and spaces as shares of it."""
    return {"fontSize": size, "leading": size * leading, "spaceBefore": size * before, "spaceAfter": size * after}
