"""What the trace keeps of judgements, in the form that the screens draw: ids, labels, scores and what was written."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from rag_core.llm.reading.changes import changes
from rag_core.techniques.crag import Corrected, Evaluated
from rag_core.techniques.heal import Version
from rag_core.techniques.self_correct import Revision
from rag_core.techniques.self_rag import Critique, Isrel, Reflection
from rag_core.types import Sentence


def correction(evaluated: Evaluated, corrected: Corrected, relevant: Callable[[float], bool]) -> dict[str, Any]:
    """The verdict, every chunk and strip with its score, and what came from the web."""
    scores = [(hit.chunk.id, hit.scores["crag"]) for hit in evaluated.hits]
    return {
        "verdict": corrected.verdict,
        "share": round(corrected.share, 3),
        "chunks": [{"chunk": id_, "score": score, "relevant": relevant(score)} for id_, score in scores],
        "strips": [strip.model_dump() for strip in corrected.strips],
        "query": corrected.query,
        "provider": corrected.provider,
        "web": [page.model_dump() for page in corrected.pages],
        "note": " ".join(corrected.notes),
    }


def segments(reflection: Reflection) -> dict[str, Any]:
    """Whether each chunk is relevant, and every candidate segment."""
    return {"relevance": _relevance(reflection.isrel), "candidates": _candidates(reflection), "note": reflection.note}


def matrix(critique: Critique, written: Reflection | None) -> dict[str, Any]:
    """Every sentence, by its place in the answer from 0, against every chunk; and the candidates it was made of."""
    return {
        "critic": critique.critic,
        "relevance": _relevance(critique.isrel),
        "matrix": [
            {"sentence": at, "chunk": one.chunk, "support": one.support, "probability": round(one.probability, 3)}
            for at, row in enumerate(critique.issup)
            for one in row
        ],
        "isuse": {"value": critique.usefulness, "probabilities": [round(share, 3) for share in critique.isuse]},
        "candidates": _candidates(written) if written else [],
    }


def revision(made: Revision, *, version: int, kept: bool) -> dict[str, Any]:
    """An answer and what was said of it."""
    scores = {"faithfulness": made.faithfulness, "completeness": made.completeness, "clarity": made.clarity}
    return {
        "version": version,
        "answer": made.text,
        "feedback": " ".join(made.feedback),
        "scores": {name: round(score, 3) for name, score in scores.items()},
        "sufficient": made.sufficient,
        "kept": kept,
    }


def attempt(before: Version, made: Version, *, kept: bool) -> dict[str, Any]:
    """A healed answer beside the one that it was made from."""
    return {
        "query": made.query,
        "new": list(made.new),
        "quality_before": before.quality,
        "quality_after": made.quality,
        "kept": kept,
        "answer": made.text,
        "diff": [list(change) for change in changes(before.text, made.text)],
        "healed": [
            {"issue": healing.issue, "chunk": chunk} for healing in made.healed for chunk in healing.chunks or (None,)
        ],
    }


def as_json(sentences: Sequence[Sentence]) -> list[dict[str, Any]]:
    """An answer as it goes out to those who watch."""
    return [sentence.model_dump(mode="json") for sentence in sentences]


def _relevance(judged: Sequence[Isrel]) -> list[dict[str, Any]]:
    return [
        {
            "chunk": one.chunk,
            "probability": round(one.probability, 3),
            "label": "relevant" if one.relevant else "irrelevant",
        }
        for one in judged
    ]


def _candidates(reflection: Reflection) -> list[dict[str, Any]]:
    kept = [segment for path in reflection.beam[:1] for segment in path.segments]
    return [
        {
            "segment": number,
            "text": segment.text,
            "chunk": segment.isrel.chunk,
            "score": round(segment.score, 3),
            "kept": segment in kept,
            "why": segment.rejected,
        }
        for number, round_ in enumerate(reflection.rounds, start=1)
        for segment in round_
    ]
