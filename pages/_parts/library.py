"""How a document's record reads in the list: a line, a state as symbol and words, stages, what can be done."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from rag_core.indexing.records import DocumentRecord, Progress

WORKING = ("waiting", "reading", "refining")
SHOWN_STAGES = ("read", "words", "meaning", "refine")
"""The stages on the screen, named for what is had after them: the text, found by words, found by meaning, all of it."""
LOCKED = ("locked", "wrong_password")
NO_USE_TO_RETRY = (
    *LOCKED, "not_pdf", "empty", "no_pages", "too_large", "too_many_pages", "unsupported", "protected",
)  # fmt: skip


def is_worked_on(record: DocumentRecord) -> bool:
    return record.state in WORKING or record.stale or record.moving_to is not None


def row(record: DocumentRecord) -> dict[str, Any]:
    """What the list component draws of a document."""
    shown_stages = stages(record)
    return {
        "id": record.id,
        "name": record.name,
        "pages": record.pages,
        "line": line(record),
        "problem": problem(record),
        "group": group(record),
        "state": state(record),
        "stages": shown_stages,
        "pace": pace(record.progress) if record.progress and shown_stages else [],
        "actions": actions(record),
        "more": more(record),
    }


def group(record: DocumentRecord) -> str:
    """What the list is narrowed by: 'attention', 'working' or 'ready'."""
    if record.state in ("failed", "partial") and record.moving_to is None:
        return "attention"
    return "working" if is_worked_on(record) else "ready"


def line(record: DocumentRecord) -> str:
    """What the document holds, and what a question finds of it now."""
    parts = [
        counted(number, word)
        for number, word in ((record.pages, "page"), (record.tables, "table"), (record.figures, "figure"))
        if number
    ]
    if record.ocr:
        sure = sum(page.confidence for page in record.ocr.values()) / len(record.ocr)
        parts.append(f"{counted(len(record.ocr), 'page')} read by OCR, {sure:.0%} sure")
    if record.moving_to is not None:
        parts.append(f"on its way to {record.moving_to}")
    elif record.stale and record.state != "failed":
        parts.append("read with earlier settings")
    elif record.state in WORKING and record.searchable:
        parts.append(searched(record))
    elif record.state == "waiting":
        parts.append(record.reason or "waits for its turn")
    elif not parts:
        parts.append(counted(record.chunks, "chunk") if record.chunks else size(record.bytes))
    return " · ".join(parts)


def searched(record: DocumentRecord) -> str:
    """How a question finds it while it is worked on."""
    if record.state != "refining":
        return "its earlier version is searched"
    return "searchable, getting better" if record.by_meaning else "searchable by its words"


def size(count: int) -> str:
    return f"{count / 1e6:,.1f} MB" if count >= 100_000 else f"{max(1, round(count / 1000)):,} kB"


def problem(record: DocumentRecord) -> str:
    """Why it could not be read, or which of its pages."""
    if record.state == "failed":
        return record.reason or "It could not be indexed; try again."
    if record.state in WORKING:
        return ""
    sentences = [*failures(record), *([record.reason] if record.reason else [])]
    return " ".join(sentences)


def failures(record: DocumentRecord) -> list[str]:
    """The pages that could not be read, told once a reason."""
    pages: dict[str, list[int]] = {}
    for failure in record.failed_pages:
        pages.setdefault(failure.reason.rstrip("."), []).append(failure.page)
    told = (f"{named(numbers)} could not be read: {reason}." for reason, numbers in pages.items())
    return [sentence[:1].upper() + sentence[1:] for sentence in told]


def named(pages: list[int]) -> str:
    if len(pages) == 1:
        return f"page {pages[0]}"
    shown = [str(page) for page in pages[:8]]
    if len(pages) > len(shown):
        return f"pages {', '.join(shown)} and {len(pages) - len(shown)} more"
    return f"pages {', '.join(shown[:-1])} and {shown[-1]}"


def state(record: DocumentRecord) -> dict[str, str]:
    """The state as symbol, words and grade."""
    if record.moving_to is not None:
        return {"sign": "◌", "words": "moving", "grade": ""}
    if record.stale and record.state not in WORKING and record.state != "failed":
        return {"sign": "◌", "words": "waiting", "grade": ""}
    match record.state:
        case "ready":
            return {"sign": "●", "words": "ready", "grade": "full"}
        case "partial":
            return {"sign": "◐", "words": partly(record), "grade": "part"}
        case "failed" if record.searchable:
            return {"sign": "◐", "words": "earlier version", "grade": "part"}
        case "failed":
            return {"sign": "○", "words": "not indexed", "grade": "none"}
        case "refining":
            return {"sign": "◌", "words": "to be refined", "grade": ""}
        case waiting:
            return {"sign": "◌", "words": waiting, "grade": ""}


def partly(record: DocumentRecord) -> str:
    if not record.failed_pages:
        return "in part"
    return f"{record.pages - len(record.failed_pages):,} of {record.pages:,} pages"


def stages(record: DocumentRecord) -> list[dict[str, Any]]:
    """Each stage with the share done, 0 to 1, while the document is worked on.

    In the refining pass the first three are done and stay so, whatever that pass cuts and embeds anew.
    """
    progress = record.progress
    if progress is None or record.state not in WORKING:
        return []
    share = min(1.0, progress.done / progress.total) if progress.total else 0.0
    if record.state != "refining":
        now = "read" if progress.stage == "read" else "words"
    elif not record.by_meaning:
        now = "meaning"
    else:
        now, share = "refine", share if progress.stage == "refine" else 1.0
    at_now = SHOWN_STAGES.index(now)
    return [
        {"name": name, "share": 1.0 if at < at_now else share if at == at_now else 0.0, "now": at == at_now}
        for at, name in enumerate(SHOWN_STAGES)
    ]


def pace(progress: Progress) -> list[str]:
    """Speed and time left, as far as they are known."""
    unit = {"read": "p/s", "refine": "p/s", "describe": "figures/s"}.get(progress.stage, "chunks/s")
    told = [f"{progress.per_s:,.1f} {unit}"] if progress.per_s else []
    if progress.left_s is not None:
        minutes, seconds = divmod(round(progress.left_s), 60)
        told.append(f"{minutes}:{seconds:02d} left")
    return told


def actions(record: DocumentRecord) -> list[str]:
    """What can be done at once: that which helps first."""
    if record.moving_to is not None:
        return []
    if record.code in LOCKED:
        return ["password"]
    opens = ["open"] if (record.pages and record.searchable) or record.chunks else []
    if opens or record.state != "failed":
        return opens
    return ["delete" if record.code in NO_USE_TO_RETRY else "retry"]


def more(record: DocumentRecord) -> list[str]:
    """What is done more seldom."""
    if record.moving_to is not None:
        return []
    again = "retry" if record.state in ("failed", "partial") else "again"
    offered = [again] if record.state not in WORKING and again not in actions(record) else []
    return [action for action in (*offered, "move", "delete") if action not in actions(record)]


def notices(records: Sequence[DocumentRecord]) -> list[dict[str, str]]:
    """What is to be said of the collection as a whole, with what can be done about it."""
    told: list[dict[str, str]] = []
    working = [record for record in records if record.state in WORKING]
    if len(working) > 1:
        searchable = sum(record.searchable for record in working)
        words = f"{counted(len(working), 'document')} to go, {searchable:,} of them searchable already."
        told.append({"text": words})
    if stale := sum(record.stale and record.state not in WORKING for record in records):
        words = f"{counted(stale, 'document')} read with earlier settings: read again now, one after the other."
        told.append({"text": words})
    if failed := len(to_retry(records)):
        words = f"{counted(failed, 'document')} could not be read whole."
        told.append({"text": words, "action": "retry-failed", "label": "Try all again"})
    return told


def to_retry(records: Sequence[DocumentRecord]) -> list[DocumentRecord]:
    """The documents that another try may help."""
    return [
        record
        for record in records
        if record.moving_to is None
        and (record.state == "partial" or (record.state == "failed" and record.code not in NO_USE_TO_RETRY))
    ]


def counted(number: int, word: str) -> str:
    return f"{number:,} {word}{'' if number == 1 else 's'}"
