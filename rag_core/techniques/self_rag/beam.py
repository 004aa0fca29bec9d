"""The beam: what a segment is worth, whether it may stay, and which answers are kept."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from rag_core.llm.reading.words import stems
from rag_core.techniques.self_rag.reflection import Isrel, Issup, Path, Segment
from rag_core.techniques.self_rag.settings import SelfRagSettings
from rag_core.types import Support

_RANKS: tuple[Support, ...] = ("no_support", "partially_supported", "fully_supported")
_USE_WEIGHTS = (-1.0, -0.5, 0.0, 0.5, 1.0)


def segment_score(settings: SelfRagSettings, isrel: Isrel, issup: Issup, isuse: Sequence[float]) -> float:
    """What a segment is worth: the weighted sum of how relevant, supported and useful it is."""
    use = sum(weight * share for weight, share in zip(_USE_WEIGHTS, isuse, strict=True))
    return settings.w_rel * isrel.probability + settings.w_sup * issup.probability + settings.w_use * use


def grown(beam: Sequence[Path], candidates: Sequence[Segment], width: int) -> tuple[Path, ...]:
    """The best answers after one more segment, best first; those that nothing goes on with have ended.

    Args:
        candidates: Those that are not rejected.
    """
    further = [
        Path(segments=(*beam[segment.path].segments, segment), ended=segment.retrieve == "no") for segment in candidates
    ]
    went_on = {segment.path for segment in candidates}
    over = [path.model_copy(update={"ended": True}) for at, path in enumerate(beam) if at not in went_on]
    best: dict[str, Path] = {}
    for path in sorted([*further, *over], key=lambda path: -path.score):
        if path.segments:
            best.setdefault(path.text, path)
    return tuple(best.values())[:width]


def checked(segment: Segment, path: Path, usable: set[str], least: Support) -> Segment:
    """The segment, with why it may not stay.

    Args:
        path: The answer that it goes on with.
        usable: Ids of the chunks that may be written from.
    """
    why = ""
    if segment.isrel.chunk not in usable:
        why = "Its chunk is irrelevant."
    elif segment.issup is None or _says_nothing_new(segment.text, path.text):
        why = "It says nothing new."
    elif _RANKS.index(segment.issup.support) < _RANKS.index(least):
        why = "Its chunk does not hold it." if segment.issup.support == "no_support" else "Its chunk holds only a part."
    return segment.model_copy(update={"rejected": why})


def usable_of(judged: Iterable[Isrel]) -> set[str]:
    """The relevant chunks; where there is none the best one, for no evidence at all is worse."""
    known = list(judged)
    relevant = {one.chunk for one in known if one.relevant}
    return relevant or {one.chunk for one in sorted(known, key=lambda one: -one.probability)[:1]}


def _says_nothing_new(text: str, written: str) -> bool:
    return set(stems(text)) <= set(stems(written))
