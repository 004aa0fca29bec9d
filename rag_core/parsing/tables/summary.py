"""What a table is about, in words, for search: a row of numbers says little to an embedder, labels and years much."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from rag_core.parsing.tables.view import TableView

SUMMARY_CHARS = 700
SCALE_WORDS = {10**3: "thousands", 10**6: "millions", 10**9: "billions", 10**12: "trillions"}
YEAR = re.compile(r"\b(?:19|20)\d\d\b")


def summary(view: TableView, lead: Sequence[str] = ()) -> str:
    """Say what stands in a table: what leads up to it, its unit and scale, its columns, years and rows.

    Returns:
        At most `SUMMARY_CHARS` characters; the rows are cut first.
    """
    columns = list(dict.fromkeys(view.column_label(column) for column in view.columns))
    years = sorted({year for text in (*lead, view.note, *columns) for year in YEAR.findall(text)}, reverse=True)
    rows = dict.fromkeys(label for row in view.body for label in view.row_path(row))
    said = [
        *lead,
        measured_in(view),
        _listed("Columns", columns),
        _listed("Years", years),
        _listed("Rows", rows),
    ]
    return _shortened("\n".join(filter(None, said)), SUMMARY_CHARS)


def measured_in(view: TableView) -> str:
    """What the numbers count, where the table says so: "In millions of $"."""
    scale, unit = SCALE_WORDS.get(view.scale, ""), view.unit
    return f"In {scale} of {unit}" if scale and unit else f"In {scale or unit}" if scale or unit else ""


def _listed(name: str, items: Iterable[str]) -> str:
    listed = "; ".join(filter(None, items))
    return f"{name}: {listed}" if listed else ""


def _shortened(text: str, limit: int) -> str:
    return text if len(text) <= limit else text[:limit].rpartition(" ")[0]
