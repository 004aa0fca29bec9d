"""Where the labelled data is that is measured on. It is not part of the project."""

from __future__ import annotations

import os
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]


def evaluation_set(name: str) -> Path | None:
    """The folder of a set: under RAGSCOPE_EVAL_DIR, else under an `eval` folder beside the checkout; None without."""
    named = os.environ.get("RAGSCOPE_EVAL_DIR")
    places = [Path(named)] if named else sorted(ROOT.parent.glob("*/eval"))
    return next((place / name for place in places if (place / name).is_dir()), None)
