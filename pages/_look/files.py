"""The files of the look: styles and ES modules, beside this one.

The modules are served under an address that changes with their content, so that they import each other by
relative names and both components of a page share one copy of what they share.
"""

from __future__ import annotations

import hashlib
from pathlib import Path

HERE = Path(__file__).parent
MEDIA_TYPES = {".js": "text/javascript", ".css": "text/css", ".svg": "image/svg+xml"}

INSPECTOR_SHEETS = (
    "picture.css",
    "table.css",
    "timeline.css",
    "evidence.css",
    "reflection.css",
    "healing.css",
    "prompts.css",
    "lit.css",
    "chat.css",
    "fork.css",
    "used.css",
    "run.css",
)
"""What the inspector of a run is drawn with, on a screen and in a file."""

_FILES = {path.name: path.read_text(encoding="utf-8") for path in sorted(HERE.iterdir()) if path.suffix in MEDIA_TYPES}

LOOK_STAMP = hashlib.sha256("".join(f"{name}\0{text}\0" for name, text in _FILES.items()).encode()).hexdigest()[:12]


def look_file(name: str) -> tuple[str, str] | None:
    """Give a file's text and media type; None where there is no such file."""
    text = _FILES.get(name)
    return None if text is None else (text, MEDIA_TYPES[Path(name).suffix])


def styles(*names: str) -> str:
    """The named style sheets, one after the other."""
    return "\n".join(_FILES[name] for name in names)
