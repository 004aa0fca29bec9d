"""LlamaIndex, imported where it is first needed: it takes a second.

Two threads that import parts of it at the same time may each find the other's half made: whoever needs it comes here
first.
"""

from __future__ import annotations

import threading

_importing = threading.Lock()


def load_llama_index() -> None:
    """Have LlamaIndex imported, by one thread at a time."""
    with _importing:
        import llama_index.core.ingestion
        import llama_index.core.llms  # noqa: F401
