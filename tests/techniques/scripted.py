"""A model engine over the scripted server, for the techniques' model side."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from rag_core.llm.connections import ModelConnection
from rag_core.llm.model import ModelEngine
from tests.model_server import ModelServer, Turn, model_server, says


@contextmanager
def a_model(*replies: str | Turn) -> Iterator[tuple[ModelEngine, ModelServer]]:
    """A model that gives these replies, the last one for ever."""
    turns = [says(reply) if isinstance(reply, str) else reply for reply in replies]
    with model_server() as server:
        server.script, server.then = turns[:-1], turns[-1]
        connection = ModelConnection(kind="openai", base_url=server.base_url, model="scripted")
        yield ModelEngine(connection, pause_s=0.01), server
