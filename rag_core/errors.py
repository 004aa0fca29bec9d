"""Every error of ours: what failed as attributes, what to do as one sentence."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path


class RagError(Exception):
    """The base of all errors that a user may see. Its text is one sentence that says what to do."""


class SettingsError(RagError):
    """A setting has a value that is not allowed."""

    def __init__(self, name: str, value: str, allowed: str) -> None:
        super().__init__(f"{name}={value!r} is not allowed: it must be {allowed}.")
        self.name, self.value, self.allowed = name, value, allowed


class DocumentError(RagError):
    """A file could not be indexed. `code` is stable: the screens and the tests go by it."""

    def __init__(self, name: str, code: str, reason: str) -> None:
        super().__init__(f"{name}: {reason}")
        self.name, self.code, self.reason = name, code, reason


class PdfParseError(RagError):
    """A PDF could not be read. `page` counts from 1; None means the whole file."""

    def __init__(self, path: Path, reason: str, *, code: str = "unreadable", page: int | None = None) -> None:
        where = path.name if page is None else f"{path.name}, page {page}"
        super().__init__(f"{where}: {reason}")
        self.path, self.reason, self.code, self.page = path, reason, code, page


class ArtefactError(RagError):
    """A file that the product needs (server binary, weights) could not be had."""


class StoreError(RagError):
    """Weaviate did not do what was asked. `retry` says whether the same call may work later."""

    def __init__(self, message: str, *, retry: bool = False) -> None:
        super().__init__(message)
        self.retry = retry


class GraphError(RagError):
    """The store of graphs did not do what was asked. `retry` says whether the same call may work later."""

    def __init__(self, message: str, *, retry: bool = False) -> None:
        super().__init__(message)
        self.retry = retry


class QueryRefused(RagError):
    """A Cypher query is not allowed, is wrong, or took too long."""


class UnknownCollection(RagError):
    """A collection that does not exist was named."""

    def __init__(self, name: str, known: list[str]) -> None:
        listed = ", ".join(known) or "none yet"
        super().__init__(f"There is no collection {name!r}; there are: {listed}.")
        self.name, self.known = name, known


class UnknownDocument(RagError):
    """A document that does not exist was named."""

    def __init__(self, name: str, collection: str, close: Sequence[str] = ()) -> None:
        hint = f"did you mean {' or '.join(close)}?" if close else "`python -m rag_core list` names them."
        super().__init__(f"There is no document {name!r} in {collection!r}; {hint}")
        self.name, self.collection, self.close = name, collection, tuple(close)


class QuestionError(RagError):
    """The question cannot be asked as it stands."""


class PlanError(RagError):
    """A plan names something that is not there, or a value that is out of range."""


class ForkError(RagError):
    """A run cannot be gone on with from that step, or not with that edit."""


class EngineError(RagError):
    """A model call failed for good.

    `code`: unreachable, unauthorised, unknown_model, timeout, overloaded or bad_reply.
    """

    def __init__(self, code: str, message: str) -> None:
        super().__init__(message)
        self.code = code


class Stopped(RagError):
    """The user stopped the run, or its budget was spent."""
