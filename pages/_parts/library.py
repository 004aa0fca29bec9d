"""How a document's record reads in the list: a line, a state as symbol and words, stages, what can be done."""

from __future__ import annotations

from typing import Any

from rag_core.indexing.records import STAGES, DocumentRecord

WORKING = ("waiting", "reading", "refining")


def is_worked_on(record: DocumentRecord) -> bool:
    return record.state in WORKING


def row(record: DocumentRecord) -> dict[str, Any]:
    """What the list component draws of a document."""
    return {
        "id": record.id,
        "name": record.name,
        "line": line(record),
        "state": state(record),
        "stages": stages(record),
        "pace": pace(record),
        "actions": actions(record),
    }


def line(record: DocumentRecord) -> str:
    """One line on what the document holds or why it failed."""
    if record.state == "failed":
        return record.reason or "It could not be indexed; try again."
    if record.state == "waiting":
        return "Waiting for its turn."
    parts = [counted(record.pages, "page")] if record.pages else []
    if record.state == "refining" and record.searchable:
        at = f": page {record.progress.done}" if record.progress and record.progress.done else ""
        return " · ".join([*parts, f"searchable, getting better{at}"])
    if record.state == "reading" and record.searchable:
        return " · ".join([*parts, "searchable"])
    parts += [
        counted(number, word) for number, word in ((record.tables, "table"), (record.figures, "figure")) if number
    ]
    return " · ".join([*parts, *failures(record)])


def failures(record: DocumentRecord) -> list[str]:
    """The pages that could not be read, told once a reason."""
    pages: dict[str, list[int]] = {}
    for failure in record.failed_pages:
        pages.setdefault(failure.reason.rstrip("."), []).append(failure.page)
    return [f"{named(numbers)} could not be read: {reason}" for reason, numbers in pages.items()]


def named(pages: list[int]) -> str:
    if len(pages) == 1:
        return f"page {pages[0]}"
    shown = [str(page) for page in pages[:8]]
    if len(pages) > len(shown):
        return f"pages {', '.join(shown)} and {len(pages) - len(shown)} more"
    return f"pages {', '.join(shown[:-1])} and {shown[-1]}"


def state(record: DocumentRecord) -> dict[str, str] | None:
    """The state as symbol, words and grade; None while stages are shown in its place."""
    if record.progress is not None and is_worked_on(record):
        return None
    match record.state:
        case "ready":
            return {"sign": "●", "words": "ready", "grade": "full"}
        case "partial":
            read = record.pages - len(record.failed_pages)
            return {"sign": "◐", "words": f"{read:,} of {record.pages:,} pages", "grade": "part"}
        case "failed":
            return {"sign": "○", "words": "not indexed", "grade": "none"}
        case waiting:
            return {"sign": "◌", "words": waiting, "grade": ""}


def stages(record: DocumentRecord) -> list[dict[str, Any]]:
    """Each stage with the share done, 0 to 1, while the document is worked on."""
    progress = record.progress
    if progress is None or not is_worked_on(record):
        return []
    now = STAGES.index(progress.stage)
    share = progress.done / progress.total if progress.total else 0.0
    return [
        {"name": name, "share": 1.0 if at < now else min(1.0, share) if at == now else 0.0, "now": at == now}
        for at, name in enumerate(STAGES)
    ]


def pace(record: DocumentRecord) -> list[str]:
    """Speed and time left, as far as they are known."""
    progress = record.progress
    if progress is None or not is_worked_on(record):
        return []
    unit = "p/s" if progress.stage in ("read", "refine") else "chunks/s"
    told = [f"{progress.per_s:,.1f} {unit}"] if progress.per_s else []
    if progress.left_s is not None:
        minutes, seconds = divmod(round(progress.left_s), 60)
        told.append(f"{minutes}:{seconds:02d} left")
    return told


def actions(record: DocumentRecord) -> list[str]:
    """What can be done, the likeliest first."""
    if record.code == "locked":
        return ["password", "delete"]
    if record.state == "failed":
        return ["retry", "delete"]
    if record.state == "partial":
        return ["open", "retry", "delete"]
    return ["open", "delete"] if record.searchable else ["delete"]


def counted(number: int, word: str) -> str:
    return f"{number:,} {word}{'' if number == 1 else 's'}"
