"""Where the evaluation documents are; tests that need them skip, saying so, where they are not."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

BESIDE = Path(__file__).resolve().parents[2] / "shared" / "eval"


def eval_set(name: str) -> Path:
    """Give the folder of an evaluation set, from RAGSCOPE_EVAL_DIR or from beside the checkout."""
    folder = Path(os.environ.get("RAGSCOPE_EVAL_DIR") or BESIDE) / name
    if not folder.is_dir():
        pytest.skip(f"the evaluation set {name!r} is not here: set RAGSCOPE_EVAL_DIR")
    return folder
