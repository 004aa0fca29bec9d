"""Evidence: hits of several searches as one ranked list. Scores are in 0..1 on all sides."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from rag_core.types import Hit


def fused(lists: Sequence[tuple[float, Sequence[Hit]]]) -> list[Hit]:
    """One list of several for the same question: each hit has the weighted mean of its scores, 0 where it is absent.

    Args:
        lists: `(weight, hits)`; what hits know of themselves is taken from the first list that has them.
    """
    total = sum(weight for weight, _ in lists) or 1.0
    best: dict[str, Hit] = {}
    scores: dict[str, float] = {}
    for weight, hits in lists:
        for hit in hits:
            best.setdefault(hit.chunk.id, hit)
            scores[hit.chunk.id] = scores.get(hit.chunk.id, 0.0) + weight * hit.score / total
    return _ranked(best[id_].model_copy(update={"score": score}) for id_, score in scores.items())


def joined(known: Sequence[Hit], found: Sequence[Hit], weight: float) -> list[Hit]:
    """One list of several for different questions: each hit has the best of its scores, the new ones' weighted.

    What is known comes first among equals.
    """
    best = {hit.chunk.id: hit for hit in known}
    for hit in found:
        score = weight * hit.score
        if hit.chunk.id not in best or best[hit.chunk.id].score < score:
            kept = best.get(hit.chunk.id, hit)
            best[hit.chunk.id] = kept.model_copy(update={"score": score})
    return _ranked(best.values())


def _ranked(hits: Iterable[Hit]) -> list[Hit]:
    return sorted(hits, key=lambda hit: -hit.score)
