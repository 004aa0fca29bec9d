"""Where the evaluation documents are; tests that need them skip, saying so, where they are not."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchmarks.evaluation import evaluation_set


def eval_set(name: str) -> Path:
    """Give the folder of an evaluation set."""
    folder = evaluation_set(name)
    if folder is None:
        pytest.skip(f"the evaluation set {name!r} is not here: set RAGSCOPE_EVAL_DIR")
    return folder
