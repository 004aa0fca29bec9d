"""Records of runs, made by hand."""

from __future__ import annotations

from collections.abc import Sequence

from rag_core.pipeline.plan import PRESETS, Plan
from rag_core.pipeline.run import Run, TechniqueUse
from rag_core.types import Sentence, Usage
from tests.fakes import a_hit

QUESTION = "Where does the barn owl sleep?"
OWL = "The barn owl sleeps in the church tower."


def a_run(
    *texts: str,
    found: Sequence[str] = (),
    cites: Sequence[str] = (),
    plan: Plan = PRESETS["simple"],
    ran: Sequence[str] | None = None,
    **fields: object,
) -> Run:
    """A finished run whose answer has these sentences, with `found` as chunk ids in their order."""
    known = {
        "id": "r",
        "chat": "",
        "question": QUESTION,
        "plan": plan.as_json(),
        "engine": "keyless",
        "collection": "Birds",
        "created_at": "2026-01-01T00:00:00.000+00:00",
        "status": "done",
        "final_answer": " ".join(texts),
        "refused": not texts,
        "sentences": tuple(Sentence(text=text, citations=tuple(cites)) for text in texts),
        "evidence": tuple(a_hit(OWL, id_=chunk) for chunk in found),
        "techniques": {
            name: TechniqueUse(ran=ran is None or name in ran, why="It had nothing to do.") for name in plan.techniques
        },
        "usage": Usage(),
    }
    return Run.model_validate({**known, **fields})
