"""Work on several things at once, with results in the order asked and spans where they belong."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context
from typing import TypeVar

from rag_core.errors import RagError, Stopped

T = TypeVar("T")
R = TypeVar("R")


def fan_out(work: Callable[[T], R], items: Sequence[T], *, at_once: int) -> list[R | RagError]:
    """Do the work for each item, `at_once` of them at the same time.

    Returns:
        In the order of the items: what the work gave, or the error that it ended with. One that fails spoils no other.

    Raises:
        Stopped: The run was stopped meanwhile.
    """

    def outcome(item: T) -> R | RagError:
        try:
            return work(item)
        except Stopped:
            raise
        except RagError as error:
            return error

    if min(at_once, len(items)) < 2:
        return [outcome(item) for item in items]
    with ThreadPoolExecutor(min(at_once, len(items)), thread_name_prefix="fan-out") as pool:
        # Each gets a copy of the caller's context: its spans are children of the caller's span.
        under_way = [pool.submit(copy_context().run, outcome, item) for item in items]
        return [future.result() for future in under_way]
