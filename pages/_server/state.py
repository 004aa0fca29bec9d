"""The one workbench of this process: opened before the first visit, shared by routes and screens."""

from __future__ import annotations

import logging

from rag_core.errors import RagError
from rag_core.settings import Settings
from rag_core.workbench import Workbench

log = logging.getLogger("ragscope")


class NotOpen(RagError):
    """The workbench could not be opened; the text is the sentence that every page shows."""


_workbench: Workbench | None = None
_problem = "Ragscope is still starting; reload this page in a moment."


def open_workbench() -> None:
    """Open it, and index the demo where there is no document yet. A failure is kept for the pages to show."""
    global _workbench, _problem
    try:
        opened = Workbench.open(Settings.from_env(), say=log.info)
        opened.serve()
        if not opened.collections():
            opened.add_demo()
    except RagError as error:
        log.error("%s", error)
        _problem = str(error)
    except Exception as error:
        log.exception("the workbench could not be opened")
        _problem = f"Ragscope could not start ({error}); its output in the terminal says more."
    else:
        _workbench = opened


def use_workbench(workbench: Workbench | None) -> None:
    """Show this one, for tests and for programs that embed the screens."""
    global _workbench
    _workbench = workbench


def close_workbench() -> None:
    """Close it, if it was opened."""
    global _workbench
    if _workbench is not None:
        _workbench.close()
        _workbench = None


def get_workbench() -> Workbench:
    """Give the workbench.

    Raises:
        NotOpen: It could not be opened; the text says what to do.
    """
    if _workbench is None:
        raise NotOpen(_problem)
    return _workbench
