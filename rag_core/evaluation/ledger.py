"""The ledger: what each technique bought on one question, and what it cost.

A question is asked again without each technique of its plan in turn; one that did not run is not left out, since
nothing would change. What is compared are grades of one judge (`grading.py`). The verdict follows three rules:

1. One of the two runs gives an answer and the other none: the answer is better where its citations hold it, at a mean
   probability of at least `HOLDS`; else having said nothing is better.
2. Both answer, and their grades differ by at least `MARGIN`: the higher one is better.
3. Else there is no difference, whatever the words are.

Better with the technique: it pays here. Better without it: it costs here. One question is a hint and no proof.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Literal

from pydantic import Field

from rag_core.evaluation.difference import Cost, Difference, cost, difference
from rag_core.evaluation.grading import Grade
from rag_core.pipeline.plan import Plan
from rag_core.pipeline.run import Run
from rag_core.techniques import TECHNIQUES
from rag_core.types import Value

HOLDS = 0.5
"""From this mean probability on an answer counts as held by what it cites: where the critic calls it supported."""
MARGIN = 0.05
"""Grades that are nearer to each other are called equal: the critic's own error is about as large."""

Verdict = Literal["pays here", "no difference", "costs here"]
State = Literal["waiting", "running", "done", "not_run", "stopped", "failed"]


class Entry(Value):
    """One technique: the run without it, and what is to be thought of the technique."""

    technique: str
    state: State
    why: str = Field(default="", description="Why it was not asked without, or what became of the attempt.")
    run: str = Field(default="", description="Id of the run without it.")
    grade: Grade | None = None
    difference: Difference | None = Field(default=None, description="From the run with it to the one without.")
    verdict: Verdict | None = None
    reason: str = Field(default="", description="The verdict in a sentence.")


class Estimate(Value):
    """What asking again without each technique will take, from what the run with all of them took."""

    runs: int
    seconds: float
    model_calls: int
    tokens: int
    money: float | None = Field(description="US dollars; None where no price is known.")


class Ledger(Value):
    """The ledger of one run."""

    run: str = Field(description="Id of the run that was asked about.")
    question: str
    plan: str
    engine: str
    state: Literal["running", "done", "stopped"]
    base: str = Field(default="", description="Id of the run that the others are held against, once there is one.")
    grade: Grade | None = Field(default=None, description="Of that run.")
    cost: Cost = Cost()
    noise_s: float | None = Field(
        default=None, description="Seconds between that run and the same one asked last; None where it was asked once."
    )
    entries: tuple[Entry, ...]

    def with_entry(self, entry: Entry) -> Ledger:
        """This ledger with that technique's entry in place of the one it had."""
        entries = tuple(entry if one.technique == entry.technique else one for one in self.entries)
        return self.model_copy(update={"entries": entries})


def opened(run: Run, plan: Plan) -> Ledger:
    """The ledger of a finished run before any is asked again."""
    return Ledger(
        run=run.id,
        question=run.question,
        plan=plan.name,
        engine=run.engine,
        state="running",
        entries=tuple(_first(run, name) for name in plan.techniques if not TECHNIQUES[name].always),
    )


def estimate(run: Run, plan: Plan, *, base_runs: int, at_once: int) -> Estimate:
    """What a ledger of this run will take.

    Args:
        base_runs: How often the run itself is asked again too.
        at_once: Runs at a time.
    """
    runs = sum(entry.state == "waiting" for entry in opened(run, plan).entries)
    runs += base_runs if runs else 0
    one = cost(run)
    return Estimate(
        runs=runs,
        seconds=math.ceil(runs / at_once) * one.seconds,
        model_calls=runs * one.model_calls,
        tokens=runs * one.tokens,
        money=None if one.money is None else runs * one.money,
    )


def without(plan: Plan, technique: str, run: Run) -> Plan:
    """The plan of a run without one of its techniques; without the router of plans, also without what that chose.

    A run's plan has what was chosen for its question, so that nothing is chosen anew when something else is left out.
    """
    left = plan.off(technique)
    if technique == "auto":
        for chosen in _chosen_by_auto(run):
            left = left if TECHNIQUES[chosen].always else left.off(chosen)
    elif left.has("auto"):
        left = left.off("auto")
    return left.model_copy(update={"name": f"{plan.name} without {TECHNIQUES[technique].label}"})


def judged(entry: Entry, with_: tuple[Run, Grade], run: Run, grade: Grade) -> Entry:
    """The entry of a technique once the run without it is over."""
    base, base_grade = with_
    found = difference(base, run)
    if run.status != "done":
        ended = "stopped" if run.status == "stopped" else "failed"
        return entry.model_copy(update={"state": ended, "run": run.id, "why": run.error or "It was stopped."})
    verdict, reason = verdict_on(base_grade, grade, found)
    return entry.model_copy(
        update={
            "state": "done",
            "run": run.id,
            "grade": grade,
            "difference": found,
            "verdict": verdict,
            "reason": reason,
        }
    )


def verdict_on(with_: Grade, without_: Grade, found: Difference) -> tuple[Verdict, str]:
    """What is to be thought of a technique, and why, by the rules above."""
    if with_.answered != without_.answered:
        return _one_answers(with_, without_)
    if not with_.answered:
        return "no difference", "Neither with it nor without it is there an answer."
    gap = with_.quality - without_.quality
    if abs(gap) >= MARGIN:
        quality = f"{with_.quality:.2f} with it, {without_.quality:.2f} without"
        if gap > 0:
            return "pays here", f"The answer is better held and nearer to the question: {quality}."
        return "costs here", f"Without it the answer is better held and nearer to the question: {quality}."
    if found.same_answer:
        return "no difference", "The answer is the same, word for word."
    return "no difference", "The words differ; what they cite holds both answers as well."


def summary(entries: Sequence[Entry]) -> str:
    """The ledger in a sentence, for where there is no room for a table."""
    told = []
    for verdict in ("pays here", "costs here", "no difference"):
        names = [TECHNIQUES[entry.technique].label for entry in entries if entry.verdict == verdict]
        told += [f"{verdict}: {', '.join(names)}"] if names else []
    return "; ".join(told) + "." if told else "No technique of the plan ran."


def _one_answers(with_: Grade, without_: Grade) -> tuple[Verdict, str]:
    answer = with_ if with_.answered else without_
    holds = answer.probability >= HOLDS
    which, other = ("With it", "without it") if with_.answered else ("Without it", "with it")
    verdict: Verdict = "pays here" if with_.answered == holds else "costs here"
    held = "that its citations hold" if holds else "that nothing holds"
    return verdict, f"{which} there is an answer {held}, {other} there is none."


def _first(run: Run, technique: str) -> Entry:
    use = run.techniques.get(technique)
    if use is None or use.ran:
        return Entry(technique=technique, state="waiting")
    return Entry(technique=technique, state="not_run", why=use.why)


def _chosen_by_auto(run: Run) -> list[str]:
    chosen = next((span.attributes.get("on") for span in run.spans if span.name == "auto"), None)
    names = chosen if isinstance(chosen, list) else []
    return [name for name in names if isinstance(name, str) and name in TECHNIQUES and name != "auto"]
