"""HTML and Markdown. Nothing that a page names is fetched, and nothing that it would run or hide is read."""

from __future__ import annotations

import base64
import binascii
import codecs
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from rag_core.parsing.formats.encoding import encoding_of, read_text
from rag_core.parsing.formats.pieces import Content, Piece, cleaned, one_flow, paragraph
from rag_core.parsing.tables import read_caption, read_html

_DROPPED = set(
    "script style noscript template head nav iframe object embed svg math audio video canvas select button input "
    "textarea dialog".split()
)
_INLINE = set(
    "a abbr acronym b bdi bdo big cite code data del dfn em font i ins kbd label mark q s samp small span strike "
    "strong sub sup time tt u var wbr".split()
)
_HEADINGS = {f"h{level}": level for level in range(1, 7)}
_HIDDEN = re.compile(r"display\s*:\s*none|visibility\s*:\s*hidden", re.IGNORECASE)
_DECLARED = re.compile(rb"<meta[^>]+charset\s*=\s*[\"']?\s*([\w-]+)", re.IGNORECASE)
_EMBEDDED = re.compile(r"data:image/[\w.+-]+;base64,(.*)", re.IGNORECASE | re.DOTALL)
_FRONT_MATTER = re.compile(r"\A---\n(.*?\n)(?:---|\.\.\.)(?:\n|\Z)", re.DOTALL)
_LAYOUT = ".//table|.//h1|.//h2|.//h3|.//h4|.//ul|.//ol|.//pre"


def read_html_file(path: Path) -> Content:
    """Read a web page.

    Raises:
        Refused: It is not text, or far too long.
    """
    return _page(read_text(path, _encoding(path)))


def read_markdown(path: Path) -> Content:
    """Read a Markdown file with tables; HTML in it is read as in a web page.

    Raises:
        Refused: It is not text, or far too long.
    """
    from markdown_it import MarkdownIt  # deferred: most documents are none

    text = read_text(path).replace("\r\n", "\n")
    front = _FRONT_MATTER.match(text)
    body = MarkdownIt("commonmark").enable(["table", "strikethrough"]).render(text[front.end() :] if front else text)
    noted = f"<pre>{_escaped(front[1])}</pre>" if front else ""
    return _page(f"<body>{noted}{body}</body>")


def _escaped(text: str) -> str:
    return text.replace("&", "&amp;").replace("<", "&lt;")


def _encoding(path: Path) -> str:
    found = encoding_of(path)
    with path.open("rb") as file:
        declared = _DECLARED.search(file.read(4_096))
    if declared is None or found.startswith("utf"):
        return found
    try:
        return codecs.lookup(declared[1].decode()).name
    except LookupError:
        return found


def _page(text: str) -> Content:
    from lxml import html  # deferred: most documents are none

    if not text.strip():
        return one_flow([])
    # As bytes: an XML declaration in a string is refused.
    parser = html.HTMLParser(encoding="utf-8", remove_comments=True, remove_pis=True, no_network=True)
    root = html.document_fromstring(text.encode("utf-8", "replace"), parser=parser)
    title = " ".join((root.findtext(".//title") or "").split())
    return one_flow(_Walk().pieces(root), title)


class _Walk:
    """Goes through a page in its order, collecting the words between one block and the next."""

    def __init__(self) -> None:
        self._words: list[str] = []
        self._kind: Any = "text"
        self._level = 1
        self._mark = ""

    def pieces(self, root: Any) -> Iterator[Piece]:
        yield from self._node(root)
        yield from self._flush()

    def _node(self, node: Any) -> Iterator[Piece]:
        tag = node.tag if isinstance(node.tag, str) else ""
        if tag in _DROPPED or not tag or "hidden" in node.attrib or _HIDDEN.search(node.get("style") or ""):
            return
        if tag == "br":
            self._words.append(" ")
        elif tag == "img":
            yield from self._image(node)
        elif tag in _INLINE:
            yield from self._children(node)
        else:
            yield from self._flush()
            yield from self._block(node, tag)

    def _block(self, node: Any, tag: str) -> Iterator[Piece]:
        if tag == "table" and not node.xpath(_LAYOUT):
            yield from self._table(node)
        elif tag == "pre":
            if text := cleaned("".join(node.itertext())):
                yield Piece(text=text, code=True)
        elif tag in _HEADINGS:
            yield from self._within(node, "title", _HEADINGS[tag])
        elif tag == "li":
            yield from self._within(node, "list", self._depth(node), self._item_mark(node))
        elif tag in ("figcaption", "caption"):
            yield from self._within(node, "caption", 1)
        elif tag in ("p", "div", "td", "th") and self._kind == "list":
            yield from self._within(node, self._kind, self._level, self._mark)
        else:
            yield from self._within(node, "text", 1)

    def _within(self, node: Any, kind: Any, level: int, mark: str = "") -> Iterator[Piece]:
        outside = self._kind, self._level
        self._kind, self._level, self._mark = kind, level, mark
        yield from self._children(node)
        yield from self._flush()
        self._kind, self._level = outside

    def _children(self, node: Any) -> Iterator[Piece]:
        self._words.append(node.text or "")
        for child in node:
            yield from self._node(child)
            self._words.append(child.tail or "")

    def _flush(self) -> Iterator[Piece]:
        found = list(paragraph(self._kind, "".join(self._words), self._level))
        self._words.clear()
        for piece in found:
            yield Piece(piece.kind, self._mark + piece.text, piece.level)
            self._mark = ""

    def _table(self, node: Any) -> Iterator[Piece]:
        from lxml import html

        for dropped in node.xpath(".//script|.//style|.//template"):
            dropped.drop_tree()
        written = str(html.tostring(node, encoding="unicode", with_tail=False))
        yield from paragraph("caption", read_caption(written))
        rows = tuple(row for row in read_html(written) if row)
        if rows:
            yield Piece("table", rows=rows)

    def _image(self, node: Any) -> Iterator[Piece]:
        text = node.get("alt") or ""
        embedded = _EMBEDDED.match(node.get("src") or "")
        picture = _decoded(embedded[1]) if embedded else b""
        if picture:
            yield from self._flush()
            yield Piece("figure", " ".join(text.split()), picture=picture)
        else:
            self._words.append(f" {text} ")

    def _depth(self, node: Any) -> int:
        return max(1, sum(parent.tag in ("ul", "ol") for parent in node.iterancestors()))

    def _item_mark(self, node: Any) -> str:
        parent = node.getparent()
        if parent is None or parent.tag != "ol":
            return "• "
        start = parent.get("start") or "1"
        before = sum(item.tag == "li" for item in node.itersiblings(preceding=True))
        return f"{(int(start) if start.isdecimal() else 1) + before}. "


def _decoded(text: str) -> bytes:
    try:
        return base64.b64decode(text)
    except binascii.Error:
        return b""
