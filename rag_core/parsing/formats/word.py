"""Word files (DOCX), through unstructured's `partition_docx`: headings and lists by style, tables, pictures, footnotes.

Where Word has noted its page ends, each of its pages is one of ours, so that a citation names the page that Word shows.

Source: https://docs.unstructured.io/open-source/core-functionality/partitioning
"""

from __future__ import annotations

import base64
import os
import sys
from collections import defaultdict
from collections.abc import Iterator
from io import BytesIO
from itertools import accumulate
from pathlib import Path
from types import ModuleType
from typing import Any, cast
from zipfile import ZipFile

from rag_core.parsing.formats.pieces import Content, Flow, Piece, one_flow, paragraph, with_captions
from rag_core.parsing.tables import read_html

_KINDS = {"Title": "title", "ListItem": "list", "Header": "header", "Footer": "footer", "FigureCaption": "caption"}
_TYPES = "[Content_Types].xml"
_MACRO_TYPE = b"application/vnd.ms-word.document.macroEnabled.main+xml"
_PLAIN_TYPE = b"application/vnd.openxmlformats-officedocument.wordprocessingml.document.main+xml"
_NOTE = "{http://schemas.openxmlformats.org/wordprocessingml/2006/main}footnote"
_NOTE_TYPE = _NOTE.replace("footnote", "type")


def read(path: Path) -> Content:
    """Read a Word file.

    Raises:
        Exception: Of many kinds, where it is damaged.
    """
    partition, document_of = _unstructured()
    file = _without_macros(path)
    document = document_of(file)
    file.seek(0)
    elements = [element for element in partition(file=file, languages=[""]) if type(element).__name__ != "PageBreak"]
    title = document.core_properties.title or ""
    # Pictures and running heads have no number: they are where the element before them is.
    numbers = accumulate((element.metadata.page_number or 0 for element in elements), max)
    pages: defaultdict[int, list[Piece]] = defaultdict(list)
    for number, element in zip(numbers, elements, strict=True):
        pages[max(number, 1)] += _pieces(element)
    last = max(pages, default=1)
    pages[last] += _footnotes(document)
    if last == 1:
        return one_flow(pages[1], title)
    return Content([Flow(with_captions(pages[number]), single=True) for number in range(1, last + 1)], title)


def _without_macros(path: Path) -> BytesIO:
    """The file as one that may not have macros: python-docx refuses the others, and none is ever run."""
    plain = BytesIO()
    with ZipFile(path) as given, ZipFile(plain, "w") as kept:
        for member in given.infolist():
            data = given.read(member)
            if member.filename == _TYPES:
                data = data.replace(_MACRO_TYPE, _PLAIN_TYPE)
            kept.writestr(member, data)
    plain.seek(0)
    return plain


def _unstructured() -> tuple[Any, Any]:
    """`partition_docx`, made to work without network, and python-docx's `Document`."""
    os.environ.update(DO_NOT_TRACK="1", UNSTRUCTURED_DISABLE_NOTICE="1")  # it would report its use at import
    # It would fetch a model that tells sentences from labels, which makes no difference to us.
    words = cast(Any, ModuleType("unstructured.nlp.tokenize"))
    words.word_tokenize, words.sent_tokenize, words.pos_tag = str.split, lambda text: [text], lambda text: []
    sys.modules.setdefault(words.__name__, words)
    # Deferred: most documents need none of this.
    import docx
    from unstructured.partition.docx import partition_docx, register_picture_partitioner

    register_picture_partitioner(_Pictures)
    return partition_docx, docx.Document


class _Pictures:
    """Tells unstructured the pictures of a paragraph."""

    @classmethod
    def iter_elements(cls, paragraph: Any, opts: Any) -> Iterator[Any]:  # noqa: ARG003 (its name for it)
        from unstructured.documents.elements import ElementMetadata, Image

        for drawing in paragraph._p.xpath(".//w:drawing[.//a:blip/@r:embed]"):
            described = drawing.xpath(".//wp:docPr/@descr")
            for link in drawing.xpath(".//a:blip/@r:embed"):
                part = paragraph.part.related_parts.get(link)
                if part is not None:
                    encoded = base64.b64encode(part.blob).decode()
                    text = described[0] if described else ""
                    yield Image(text=text, metadata=ElementMetadata(image_base64=encoded))


def _pieces(element: Any) -> Iterator[Piece]:
    name, metadata = type(element).__name__, element.metadata
    if name == "Table" and metadata.text_as_html:
        yield Piece("table", rows=tuple(read_html(metadata.text_as_html)))
    elif name == "Image":
        yield Piece("figure", element.text, picture=base64.b64decode(metadata.image_base64))
    else:
        yield from paragraph(cast(Any, _KINDS.get(name, "text")), element.text, 1 + (metadata.category_depth or 0))


def _footnotes(document: Any) -> Iterator[Piece]:
    from docx.oxml import parse_xml

    for relation in document.part.rels.values():
        if relation.reltype.endswith("/footnotes") and not relation.is_external:
            for note in parse_xml(relation.target_part.blob).iter(_NOTE):
                if _NOTE_TYPE not in note.attrib:  # the others are the line above them
                    yield from paragraph("footnote", "".join(note.itertext()))
