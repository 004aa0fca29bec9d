"""What a file is, by what is in it; its name decides only between kinds of text."""

from __future__ import annotations

import zipfile
from pathlib import Path
from typing import Literal

from rag_core.parsing.refused import Refused

Kind = Literal["docx", "pptx", "xlsx", "csv", "html", "markdown", "text", "image"]

TEXT_SUFFIXES: dict[str, Kind] = {
    ".csv": "csv", ".tsv": "csv", ".html": "html", ".htm": "html", ".xhtml": "html",
    ".md": "markdown", ".markdown": "markdown", ".txt": "text", ".text": "text",
}  # fmt: skip
SUFFIXES = (
    ".pdf", ".docx", ".docm", ".pptx", ".pptm", ".xlsx", ".xlsm", *TEXT_SUFFIXES,
    ".png", ".jpg", ".jpeg", ".tif", ".tiff",
)  # fmt: skip
"""What the names of the files end in that are read, in lower case."""

VIEW_SUFFIX = ".view1.pdf"
UNPACKED_BYTES = 500_000_000
UNPACKED_FILES = 20_000
HEAD_BYTES = 4_096
READABLE = "PDF, DOCX, PPTX, XLSX, CSV, HTML, Markdown, text, PNG, JPEG or TIFF"

_OFFICE: dict[str, Kind] = {"word/document.xml": "docx", "ppt/presentation.xml": "pptx", "xl/workbook.xml": "xlsx"}
_PICTURES = (b"\x89PNG\r\n\x1a\n", b"\xff\xd8\xff", b"II*\x00", b"MM\x00*")
_OLE = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"
_OLD_OFFICE = {"WordDocument": ("Word", "DOCX"), "Workbook": ("Excel", "XLSX"), "Book": ("Excel", "XLSX")}
_OLD_OFFICE["PowerPoint Document"] = ("PowerPoint", "PPTX")
_WIDE_MARKS = (b"\xff\xfe", b"\xfe\xff")


def is_pdf(path: Path) -> bool:
    """Whether a file is a PDF, or at least calls itself one: what is wrong with it is then said as of a PDF."""
    with path.open("rb") as file:
        return path.suffix.lower() == ".pdf" or b"%PDF-" in file.read(1024)


def view_of(path: Path) -> Path:
    """Where the PDF that shows a file stands; the number in its name tells the way of setting it."""
    return path.with_name(f"{path.name}{VIEW_SUFFIX}")


def is_view(path: Path) -> bool:
    return path.name.endswith(VIEW_SUFFIX)


def kind_of(path: Path) -> Kind:
    """Say what a file is that is no PDF.

    Raises:
        Refused: It is nothing that is read here (unsupported), has a password (protected), or would fill the memory.
    """
    with path.open("rb") as file:
        head = file.read(HEAD_BYTES)
    if head.startswith(b"PK\x03\x04"):
        return _in_archive(path)
    if head.startswith(_PICTURES):
        return "image"
    if head.startswith(_OLE):
        raise _old_office(path)
    if path.suffix.lower() in TEXT_SUFFIXES and (head.startswith(_WIDE_MARKS) or b"\0" not in head):
        return TEXT_SUFFIXES[path.suffix.lower()]
    raise _unsupported()


def _in_archive(path: Path) -> Kind:
    try:
        with zipfile.ZipFile(path) as archive:
            files = archive.infolist()
    except (zipfile.BadZipFile, ValueError, NotImplementedError) as error:
        raise Refused("unreadable", "It is damaged and cannot be opened. Save it again.") from error
    # What a file in it turns out to hold beyond its declared size is never unpacked, so the declaration can be trusted.
    unpacked = sum(file.file_size for file in files)
    if unpacked > UNPACKED_BYTES or len(files) > UNPACKED_FILES:
        size = f"It unpacks to {unpacked / 1e6:,.0f} MB in {len(files):,} files"
        raise Refused("too_large", f"{size}, more than {UNPACKED_BYTES / 1e6:,.0f} in {UNPACKED_FILES:,}. Split it.")
    names = {file.filename for file in files}
    for part, kind in _OFFICE.items():
        if part in names:
            return kind
    raise _unsupported()


def _old_office(path: Path) -> Refused:
    import olefile  # deferred: few files need it

    try:
        with olefile.OleFileIO(str(path)) as file:
            if file.exists("EncryptedPackage"):
                return Refused("protected", "It is protected with a password. Save it without one.")
            for stream, (program, suffix) in _OLD_OFFICE.items():
                if file.exists(stream):
                    return Refused("unsupported", f"It is in the old format of {program}. Save it as {suffix}.")
    except OSError:
        return Refused("unreadable", "It is damaged and cannot be opened. Save it again.")
    return _unsupported()


def _unsupported() -> Refused:
    return Refused("unsupported", f"It is no {READABLE} file. Save or print it as a PDF first.")
