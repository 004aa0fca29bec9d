"""Ragscope's library: `from rag_core import Workbench`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rag_core.workbench import Workbench

__all__ = ["Workbench"]


def __getattr__(name: str) -> Any:
    # Worker processes import rooms of this package by the hundred milliseconds: they must not pay for all of it.
    if name == "Workbench":
        from rag_core.workbench import Workbench

        return Workbench
    raise AttributeError(name)
