"""Files made to harm whoever reads them."""

from __future__ import annotations

import zlib
from collections.abc import Callable
from pathlib import Path

import pymupdf

from tests.parsing import pdfs


def _with_content(path: Path, content: bytes) -> Path:
    """A page that draws `content`, between two pages of text."""
    pdfs.report(path, pages=3)
    document = pymupdf.open(path)
    (xref,) = document[1].get_contents()[:1] or [document.get_new_xref()]
    document[1].set_contents(xref)
    document.update_stream(xref, content)
    document.saveIncr()
    return path


def cut_off(path: Path) -> Path:
    whole = pdfs.report(path, pages=9).read_bytes()
    path.write_bytes(whole[: len(whole) * 2 // 3])
    return path


def flate_bomb(path: Path) -> Path:
    """A content stream of a few kilobytes that unpacks to a gigabyte, in two layers."""
    packer = zlib.compressobj(1)
    spaces = b" " * 2**24
    layer = b"".join(packer.compress(spaces) for _ in range(64)) + packer.flush()
    pdfs.report(path, pages=3)
    document = pymupdf.open(path)
    xref = document[1].get_contents()[0]
    document.update_stream(xref, zlib.compress(layer, 9), compress=False)
    document.xref_set_key(xref, "Filter", "[/FlateDecode/FlateDecode]")
    document.saveIncr()
    return path


def zip_archive(path: Path) -> Path:
    path.write_bytes(b"PK\x03\x04" + b"\0" * 2_000)
    return path


def many_pages(path: Path) -> Path:
    """Ten thousand empty pages."""
    numbers = range(3, 10_003)
    path.write_text(
        "%PDF-1.4\n1 0 obj\n<</Type/Catalog/Pages 2 0 R>>\nendobj\n"
        f"2 0 obj\n<</Type/Pages/Count {len(numbers)}/Kids[{' '.join(f'{n} 0 R' for n in numbers)}]>>\nendobj\n"
        + "".join(f"{n} 0 obj\n<</Type/Page/Parent 2 0 R/MediaBox[0 0 200 200]>>\nendobj\n" for n in numbers)
        + f"trailer\n<</Root 1 0 R/Size {len(numbers) + 3}>>\n%%EOF\n"
    )
    return path


def many_paths(path: Path) -> Path:
    lines = (f"{n % 600} {n // 110} m {n % 590 + 9} {n // 110 + 5} l S" for n in range(66_000))
    return _with_content(path, "\n".join(lines).encode())


def endless_text(path: Path, lines: int = 3_000) -> Path:
    texts = (b"(line %d of words without end) Tj T*\n" % number for number in range(lines))
    return _with_content(path, b"BT /helv 1 Tf 0.05 TL 10 780 Td\n" + b"".join(texts) + b"ET")


def calls_itself(path: Path) -> Path:
    """A form that draws itself, twice each time."""
    pdfs.report(path, pages=3)
    document = pymupdf.open(path)
    form = document.get_new_xref()
    reference = f"{form} 0 R"
    document.update_object(
        form, f"<</Type/XObject/Subtype/Form/BBox[0 0 99 99]/Resources<</XObject<</F {reference}>>>>>>"
    )
    document.update_stream(form, b"/F Do /F Do")
    document.xref_set_key(document.page_xref(1), "Resources", f"<</XObject<</F {reference}>>>>")
    document.update_stream(document[1].get_contents()[0], b"/F Do")
    document.saveIncr()
    return path


def huge_page(path: Path) -> Path:
    document = pymupdf.open(pdfs.report(path, pages=3))
    document.xref_set_key(document.page_xref(1), "MediaBox", "[0 0 9e7 9e7]")
    document.saveIncr()
    return path


def huge_picture(path: Path) -> Path:
    """A picture of 60,000 by 60,000 points of colour that was never there."""
    pdfs.report(path, pages=3)
    document = pymupdf.open(path)
    image = document.get_new_xref()
    size = "/Width 60000/Height 60000/BitsPerComponent 8/ColorSpace/DeviceRGB"
    document.update_object(image, f"<</Type/XObject/Subtype/Image{size}>>")
    document.update_stream(image, b"\0" * 1_000)
    document.xref_set_key(document.page_xref(1), "Resources", f"<</XObject<</I {image} 0 R>>>>")
    document.update_stream(document[1].get_contents()[0], b"600 0 0 700 0 0 cm /I Do")
    document.saveIncr()
    return path


Maker = Callable[[Path], Path]
MAKERS: tuple[Maker, ...] = (
    cut_off,
    flate_bomb,
    zip_archive,
    many_pages,
    many_paths,
    endless_text,
    calls_itself,
    huge_page,
    huge_picture,
)
