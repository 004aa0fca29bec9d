"""Where the documents' texts stand: `text/NAME.md`, in the markup of `markup.py`."""

from pathlib import Path


def text_of(name: str) -> str:
    """Give the markup of one document."""
    return (Path(__file__).parent / "text" / f"{name}.md").read_text(encoding="utf-8")
