"""How the text of a file is written in bytes."""

from __future__ import annotations

import codecs
from pathlib import Path

from rag_core.parsing.refused import Refused

SAMPLE_BYTES = 1_000_000
MAX_BYTES = 50_000_000

_MARKS = (
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
_LIKELY = ["cp1252", "cp1250", "cp1251", "cp1253", "cp1254", "cp1255", "cp1256", "cp932", "gb18030", "big5", "euc_kr"]


def encoding_of(path: Path) -> str:
    """The encoding of a file: by its mark, else UTF-8 where it is that, else what its letters look most like.

    Raises:
        Refused: It is not text.
    """
    with path.open("rb") as file:
        sample = file.read(SAMPLE_BYTES)
    for mark, name in _MARKS:
        if sample.startswith(mark):
            return name
    if b"\0" in sample:
        raise Refused("unsupported", "It is not text. Save it as text in UTF-8.")
    try:
        codecs.getincrementaldecoder("utf-8")().decode(sample)  # a letter may be cut at the sample's end
    except UnicodeDecodeError:
        return _likely(sample)
    return "utf-8"


def read_text(path: Path, encoding: str = "") -> str:
    """The text of a file; bytes that are none in its encoding become �.

    Raises:
        Refused: It is not text, or far too long.
    """
    if path.stat().st_size > MAX_BYTES:
        limit = f"more than {MAX_BYTES / 1e6:,.0f} MB of text"
        raise Refused("too_large", f"It has {limit}. Split it.")
    return path.read_text(encoding=encoding or encoding_of(path), errors="replace")


def _likely(sample: bytes) -> str:
    from charset_normalizer import from_bytes  # deferred: nearly all text is UTF-8

    # Short texts look like many things; Western European is then the most common by far.
    found = from_bytes(sample[:50_000], cp_isolation=_LIKELY).best() if len(sample) > 2_000 else None
    return found.encoding if found else "cp1252"
