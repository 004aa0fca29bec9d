"""The descriptions of a document's figures, asked for between cutting it and storing its chunks."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from pathlib import Path

from rag_core.llm.engine import Call, KeylessEngine
from rag_core.techniques.describe import Describe
from rag_core.types import Chunk


class Listening:
    """What the engine tells the work on a document. The calls have no budget in common: each has its own clock."""

    def __init__(self, stopped: Callable[[], bool], told: Callable[[int], None]) -> None:
        self.stopped = stopped
        self._told = told
        self._calls = 0
        self.failed: list[Call] = []

    def called(self, call: Call) -> None:
        self._calls += 1
        self._told(self._calls)
        if call.engine == KeylessEngine.name:
            self.failed.append(call)

    def text(self, delta: str) -> None: ...

    def restart(self) -> None: ...

    def left_s(self) -> float:
        return math.inf


def described(
    describe: Describe | None,
    chunks: Sequence[Chunk],
    crops: Path,
    stopped: Callable[[], bool],
    told: Callable[[int, int], None],
) -> tuple[list[Chunk], str | None]:
    """Give the chunks with what a model that sees says of their figures, and what went wrong, in a sentence.

    Args:
        describe: None where there is no such model.
        told: Called with the figures described and those there are to be.

    Raises:
        Stopped: The work was stopped meanwhile.
    """
    if not any(chunk.kind == "figure" for chunk in chunks):
        return [*chunks], None
    if describe is None:
        return [*chunks], "Its figures are not described: set MULTIMODAL_VISION_MODEL, and the endpoint that has it."
    total = describe.estimate(chunks, crops).figures
    watch = Listening(stopped, lambda done: told(done, total))
    made = describe.describe(chunks, crops, watch)
    left = describe.estimate(made, crops).figures
    if not watch.failed or not left:
        return made, None
    return made, f"{left} of its figures are found by their own texts alone: {watch.failed[-1].note}"
