"""What a command says beside its results, and how it ends."""

from __future__ import annotations

import sys

from rag_core.workbench import Workbench

DONE, FAILED, WRONG_USE = 0, 1, 2


def opened() -> Workbench:
    return Workbench.open(say=progress)


def progress(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


def say(text: str, status: int) -> int:
    print(text, file=sys.stderr)
    return status
