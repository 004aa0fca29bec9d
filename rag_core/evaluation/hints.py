"""Hints: from a sign that a run shows to the technique whose switch is off and that addresses it.

A rule looks for one sign: in what the question asks, in what was found for it, in how the answer is held. Where the
sign is there, the first of the rule's techniques that is off is what to try. A sign is a reason to look and no proof,
so nothing is promised: the question is asked again with that one switch on, and the two runs stand side by side.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from pydantic import Field

from rag_core.evaluation.ledger import MARGIN
from rag_core.llm.reading.parts import parts_of
from rag_core.pipeline.plan import Plan
from rag_core.pipeline.run import Run, question_alone
from rag_core.techniques import TECHNIQUES
from rag_core.techniques.auto import Kind, kind_of
from rag_core.techniques.heal import HealSettings
from rag_core.techniques.references import references_in
from rag_core.techniques.scan import whole_question
from rag_core.types import Hit, Value

MOST = 3
"""Hints of one run: who is given many tries none."""
HELPS = 0.5
"""A chunk of at least this relevance is likelier to help than not: the critic's probabilities are calibrated."""
ALL_DOCUMENTS = "all documents"


class Hint(Value):
    """What to try where an answer is wrong."""

    sign: str = Field(description="What the run shows, in a sentence.")
    technique: str = Field(description="The switch that is off; `ALL_DOCUMENTS` where the choice of documents is.")
    label: str = Field(description="What it is called.")
    step: str = Field(description="Where it works: question, retrieve, answer or check.")
    does: str = Field(description="What it does, in a sentence.")


@dataclass(frozen=True)
class Seen:
    """What the rules look at."""

    run: Run
    question: str
    relevance: Mapping[str, float]
    cited: frozenset[str]

    def relevance_of(self, hit: Hit) -> float:
        return self.relevance.get(hit.chunk.id, 0.0)


def hints(run: Run, relevance: Mapping[str, float]) -> list[Hint]:
    """What to try with a finished run, at most `MOST`; nothing where no sign leads to a switch that is off.

    Args:
        relevance: For each chunk of the evidence by id, the probability that it helps with the question.
    """
    planned = run.plan.get("techniques")  # an imported run's plan can be of any form
    if run.status != "done" or not run.searches or not isinstance(planned, dict):
        return []
    cited = frozenset(chunk for sentence in run.sentences for chunk in sentence.citations)
    seen = Seen(run, question_alone(run), relevance, cited)
    tried = set(planned)
    if "agent" in tried:  # it decides by itself what to search for next
        tried |= {"multi_hop", "sub_queries"}
    found = [_all_documents(run)] if run.documents else []
    for sign, techniques in RULES:
        technique = next((name for name in techniques if name not in tried), None)
        if technique and (told := sign(seen)):
            found.append(_hint(told, technique))
            tried.add(technique)
    return found[:MOST]


def switched_on(plan: Plan, technique: str, settings: Mapping[str, Any]) -> Plan:
    """The plan of a run with one more switch on; what was chosen for its question is not chosen anew."""
    more = plan.set(technique, **settings)
    more = more.off("auto") if more.has("auto") else more
    return more.model_copy(update={"name": f"{plan.name} with {TECHNIQUES[technique].label}"})


# the signs: a sentence where the run shows it, else nothing


def _names_a_number(seen: Seen) -> str:
    named = ", ".join(map(str, references_in(seen.question)))
    return named and f"The question names {named}, and that was searched for like any other words."


def _asks_for_all(seen: Seen) -> str:
    if whole_question(seen.question) is None:
        return ""
    return "The question is for the whole of a document, and only the chunks that a search finds were read."


def _asks_several(seen: Seen) -> str:
    parts, why = parts_of(seen.question)
    return f"{why} None of that was searched for by itself." if len(parts) > 1 else ""


def _goes_through(seen: Seen) -> str:
    why = _kind(seen, "multi_hop", "relation")
    return why and f"{why} What the first search found was not searched for in its turn."


def _asks_a_table(seen: Seen) -> str:
    tables = any(hit.chunk.kind == "table" for hit in seen.run.evidence)
    why = _kind(seen, "table", "comparison") if tables else ""
    return why and f"{why} There are tables in the evidence, and they were read as plain text."


def _nothing_found(seen: Seen) -> str:
    if seen.run.refusal and seen.run.refusal.looked_for:
        return f"No evidence speaks of: {', '.join(seen.run.refusal.looked_for)}."
    best = max(map(seen.relevance_of, seen.run.evidence), default=0.0)
    return "" if best >= HELPS else f"No chunk that was found is likely to help with the question: {best:.2f} at most."


def _left_lying(seen: Seen) -> str:
    cited = [seen.relevance_of(hit) for hit in seen.run.evidence if hit.chunk.id in seen.cited]
    others = [(hit, rank) for rank, hit in enumerate(seen.run.evidence, 1) if hit.chunk.id not in seen.cited]
    hit, rank = max(others, key=lambda other: seen.relevance_of(other[0]), default=(None, 0))
    if not cited or hit is None or (best := seen.relevance_of(hit)) < max(HELPS, max(cited) + MARGIN):
        return ""
    place = f"{hit.chunk.name}, page {hit.chunk.page}" if hit.chunk.page else hit.chunk.name
    return (
        f"Chunk {rank} ({place}) is likelier to help with the question than anything that is cited, {best:.2f} against "
        f"{max(cited):.2f}, and the answer does not use it."
    )


def _weakly_held(seen: Seen) -> str:
    quality, good = seen.run.quality_achieved, HealSettings().quality_target
    if quality is None or quality >= good:
        return ""
    return f"The self-check gave this answer {quality:.2f}, and only {good:.2f} counts as good."


def _not_checked(seen: Seen) -> str:
    return "No sentence was held against what it cites." if seen.run.sentences else ""


def _kind(seen: Seen, *kinds: Kind) -> str:
    """Why the question is of one of these kinds; empty where it is not."""
    told = kind_of(seen.question)
    return told.reason if told.kind in kinds else ""


RULES: tuple[tuple[Callable[[Seen], str], tuple[str, ...]], ...] = (
    (_names_a_number, ("references",)),
    (_asks_for_all, ("scan",)),
    (_asks_several, ("sub_queries",)),
    (_goes_through, ("multi_hop",)),
    (_asks_a_table, ("multimodal",)),
    (_nothing_found, ("expand", "hyde")),
    (_left_lying, ("rerank", "crag", "self_rag")),
    (_not_checked, ("validate",)),
    (_weakly_held, ("self_correct", "heal")),
)
"""Each sign and the techniques that address it, the likeliest first; what comes early in a run comes early here."""


def _hint(sign: str, technique: str) -> Hint:
    known = TECHNIQUES[technique]
    return Hint(sign=sign, technique=technique, label=known.label, step=known.group, does=known.summary)


def _all_documents(run: Run) -> Hint:
    return Hint(
        sign=f"Only {', '.join(run.documents)} was searched, as you chose.",
        technique=ALL_DOCUMENTS,
        label=ALL_DOCUMENTS,
        step="retrieve",
        does="Searches every document of the collection.",
    )
