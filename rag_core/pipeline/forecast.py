"""What a question will take with a plan: as past questions with it did, else by the counts that the plan implies."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import median
from typing import NamedTuple

from pydantic import Field

from rag_core.pipeline.plan import Plan
from rag_core.techniques.agent import AgentSettings
from rag_core.techniques.auto import PLANS
from rag_core.techniques.crag import CragSettings
from rag_core.techniques.graph.technique import GraphSettings
from rag_core.techniques.heal import HealSettings
from rag_core.techniques.hyde import HydeSettings
from rag_core.techniques.multi_hop import MultiHopSettings
from rag_core.techniques.self_correct import SelfCorrectSettings
from rag_core.techniques.sub_queries import SubQueriesSettings
from rag_core.types import Value

PAST = 25
"""As many of the latest runs of a plan are looked at."""


class Spent(NamedTuple):
    """What one run took."""

    run: str
    plan: str
    seconds: float
    calls: int


class Forecast(Value):
    """What one question is likely to take."""

    runs: int = Field(description="Past runs that it is the median of; 0: it is counted from the plan.")
    seconds: float | None = Field(default=None, description="None without past runs: a plan says nothing of time.")
    calls: int | None = Field(
        description="Of a model; counted from the plan, the most of a usual question. None where what is found decides."
    )


def forecast(plan: Plan, past: Sequence[Spent], *, model: bool) -> Forecast:
    """What a question with this plan will take.

    Args:
        past: Runs of this plan on the same engine, the latest first.
        model: Whether the engine is a model.
    """
    if latest := past[:PAST]:
        seconds, calls = (median(values) for values in ([one.seconds for one in latest], [one.calls for one in latest]))
        return Forecast(runs=len(latest), seconds=seconds, calls=round(calls))
    return Forecast(runs=0, calls=most_calls(plan) if model else 0)


def most_calls(plan: Plan) -> int | None:
    """The calls of a question whose evidence is never complete and whose answer never good; None without a bound.

    It bounds a usual question. A scan of a whole document (`ScanSettings.max_batches`), what is computed from
    tables, and a reply that is asked for once more because it could not be read come on top.
    """
    if plan.has("auto"):
        kinds = [most_calls(plan.off("auto").completed(techniques)) for techniques in PLANS.values()]
        bounded = [calls for calls in kinds if calls is not None]
        return 1 + max(bounded) if len(bounded) == len(kinds) else None
    if plan.has("self_rag") or (plan.has("graph") and plan.settings(GraphSettings).mode in ("global", "cypher")):
        return None
    once = sum(plan.has(name) for name in ("rewrite", "gate", "route", "rerank", "validate"))
    return once + _searching(plan) + _correcting(plan) + 1 + _improving(plan)


def _searching(plan: Plan) -> int:
    """Hops of four calls, the last one without a next query; a round of parts of two, the first one three."""
    hops = plan.settings(MultiHopSettings).max_hops if plan.has("multi_hop") else 1
    by_hop = plan.has("expand") + (plan.settings(HydeSettings).num_hypotheticals if plan.has("hyde") else 0)
    if plan.has("agent"):
        turns = plan.settings(AgentSettings).max_steps
        return 1 + turns * (1 + by_hop)
    hopping = 4 * hops - 1 if plan.has("multi_hop") else 0
    rounds = plan.settings(SubQueriesSettings).max_iterations if plan.has("sub_queries") else 0
    return hopping + hops * by_hop + (2 * rounds + 1 if rounds else 0)


def _correcting(plan: Plan) -> int:
    return 2 + plan.settings(CragSettings).web if plan.has("crag") else 0


def _improving(plan: Plan) -> int:
    """Refinements of two calls after a first critique; attempts at healing of three, and the check that they need."""
    refining = 1 + 2 * plan.settings(SelfCorrectSettings).max_iterations if plan.has("self_correct") else 0
    if not plan.has("heal"):
        return refining
    return refining + 3 * plan.settings(HealSettings).max_healing + (not plan.has("validate"))
