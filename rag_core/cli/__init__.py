"""The command line: what other programs, scripts and every evaluation use."""

from rag_core.cli.asking import record_as_json
from rag_core.cli.commands import main

__all__ = ["main", "record_as_json"]
