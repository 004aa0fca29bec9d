"""What the Compare screen offers and shows: plans, engines and collections to choose from, and the columns."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any

import streamlit as st

from pages._parts.plan import chosen_plan, give
from pages._server.state import get_workbench
from rag_core.errors import PlanError, QuestionError, RagError
from rag_core.pipeline.plan import Plan, plan_from_json
from rag_core.pipeline.run import Run, question_alone
from rag_core.workbench import DEMO_COLLECTION
from rag_core.workbench.comparing import MOST_COLUMNS, Column, Started

FIRST_PLANS = ("simple", "balanced")
OWN = "as on Ask"
MOST_EXAMPLES = 3
DEMO_QUESTION = "What new product was launched by the company that InnovateCorp acquired, and why did it buy it?"
NO_MODEL = {"name": "model", "label": "A model: none is set, see Settings", "usable": False}


def plans_on_offer(runs: Sequence[Run]) -> dict[str, Plan]:
    """By name: the presets, the saved ones, the one on Ask where it is neither, and what the shown runs had."""
    workbench = get_workbench()
    offered = dict(workbench.presets())
    try:
        offered |= workbench.plans()
    except RagError as error:
        st.session_state.compare_problem = str(error)
    own = chosen_plan()
    if name_in(offered, own) is None:
        offered[OWN] = own
    for run in runs:
        plan = plan_of(run, offered)
        if plan is not None and name_in(offered, plan) is None:
            offered[f"{plan.name}, run {run.id[:4]}"] = plan
    return offered


def plan_of(run: Run, offered: dict[str, Plan]) -> Plan | None:
    """The plan that a run was asked with; None where it is of another version of the app."""
    try:
        # A run's own plan also has what was chosen for its question alone.
        return offered.get(str(run.plan.get("name"))) or plan_from_json(run.plan)
    except PlanError:
        return None


def name_in(offered: dict[str, Plan], plan: Plan) -> str | None:
    return next((name for name, one in offered.items() if one.techniques == plan.techniques), None)


def engines_on_offer() -> list[dict[str, Any]]:
    """What a column can be asked with; where there is no model, that is said."""
    choices = [{"name": one.name, "label": one.label, "usable": True} for one in get_workbench().engines()]
    return choices if any(one["name"] == "model" for one in choices) else [*choices, NO_MODEL]


def shown_runs(ids: str) -> list[Run]:
    """The stored runs of an address, `a,b`; those that are not here are left out, and that is said."""
    wanted = list(dict.fromkeys(one for one in ids.split(",") if one))[:MOST_COLUMNS]
    found = [run for one in wanted if (run := record_of(one))]
    under_way = [one for one in wanted if is_under_way(one)]
    if any(one not in under_way and one not in {run.id for run in found} for one in wanted):
        st.session_state.compare_problem = "A run of this comparison is not in the history any more."
    return found


def record_of(run_id: str) -> Run | None:
    """A stored run; one that began this instant is in the history a moment later."""
    workbench = get_workbench()
    for _ in range(100):
        going = is_under_way(run_id)  # looked at first: a run is kept before it is over
        if (run := workbench.run(run_id)) or not going:
            return run
        time.sleep(0.02)
    return None


def is_under_way(run_id: str) -> bool:
    live = get_workbench().live(run_id)
    return live is not None and not live.done


def tried_out(told: dict[str, str]) -> dict[str, str]:
    """Ask again with what a hint names; gives the address at which Compare shows both runs."""
    run = told["run"]
    try:
        return {"runs": f"{run},{get_workbench().comparing.try_out(run, told['technique'])}"}
    except RagError as error:
        st.session_state.compare_problem = str(error)
        return {"runs": run}


def first_columns(question: str = "") -> dict[str, Any]:
    """What a first visit shows: two plans that differ, over what is chosen at the side."""
    column = {"engine": st.session_state.get("engine"), "collection": st.session_state.get("collection")}
    return {"question": question, "columns": [{"plan": plan, **column} for plan in FIRST_PLANS]}


def examples() -> list[str]:
    """Questions to begin with: what was asked of late, or one for the demo."""
    asked = dict.fromkeys(info.first_question for info in get_workbench().recent_chats(MOST_EXAMPLES))
    demo = [DEMO_QUESTION] if st.session_state.get("collection") == DEMO_COLLECTION else []
    return [*asked] or demo


def columns_of(runs: Sequence[Run], offered: dict[str, Plan]) -> dict[str, Any]:
    """The set-up that gave these runs; beside a lone one, another plan to compare it with."""
    columns = []
    for run in runs:
        plan = plan_of(run, offered)
        columns.append(
            {
                "plan": plan and name_in(offered, plan),
                "engine": "keyless" if run.engine == "keyless" else "model",
                "collection": run.collection,
                "documents": run.documents,
                "run": run.id,
            }
        )
    if len(columns) == 1:
        other = next(name for name in FIRST_PLANS if name != columns[0]["plan"])
        columns.append({**columns[0], "plan": other, "run": ""})
    return {"question": question_alone(runs[0]), "columns": columns}


def start(setup: dict[str, Any], offered: dict[str, Plan]) -> list[Started]:
    """Start what the screen asks for.

    Raises:
        QuestionError: It cannot be compared so; nothing was started.
    """
    columns = []
    for column in setup["columns"]:
        if column["plan"] not in offered:
            raise QuestionError("Choose a plan in every column: one of them is not here any more.")
        columns.append(
            Column(
                plan=offered[column["plan"]],
                engine=column["engine"],
                collection=column["collection"],
                documents=tuple(column.get("documents") or ()),
            )
        )
    return get_workbench().comparing.compare(setup["question"], columns)


def make_mine(plan: Plan) -> None:
    """Have Ask use this plan from now on."""
    name = name_in(get_workbench().presets() | saved(), plan)
    give(plan if name else plan.model_copy(update={"name": "custom"}), name or "")


def saved() -> dict[str, Plan]:
    try:
        return get_workbench().plans()
    except RagError:
        return {}
