"""The plan card: which plan a question is asked with, as the component that draws it and what it tells us.

The component holds the plan while it is clicked on, so that a click waits for nobody. It tells the plan as a whole; a
plan that comes from here (opened, saved) reaches it under a new stamp.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal, get_args, get_origin

import annotated_types
import streamlit as st
from pydantic.fields import FieldInfo

from pages._look import components
from pages._server.state import get_workbench
from rag_core.errors import PlanError, RagError
from rag_core.pipeline.plan import Plan, plan_from_json
from rag_core.techniques import TECHNIQUES
from rag_core.techniques.base import Technique

GROUPS = {"question": "Question", "retrieve": "Retrieve", "answer": "Answer", "check": "Check"}
FINE, COARSE = 0.05, 0.5
"""Steps of a number with a point: where it goes up to 2 at most, and beyond."""


def chosen_plan() -> Plan:
    """The plan that the card shows, which a question is asked with."""
    told = st.session_state.get("switches")
    if told and told.plan and told.plan["stamp"] == st.session_state.plan_given["stamp"]:
        return plan_from_json(told.plan["plan"])
    if "plan" not in st.session_state:
        st.session_state.plan = first_plan()
    return st.session_state.plan


def first_plan() -> Plan:
    """What a new visitor asks with; after a reload, what the chat in the address was last asked with."""
    workbench = get_workbench()
    presets = workbench.presets()
    usual = next(iter(presets.values()))
    runs = workbench.chat(st.query_params.get("chat", ""))
    if not runs:
        return usual
    last = runs[-1].plan
    try:
        # A run's own plan also has what was chosen for its question alone.
        return presets.get(last["name"]) or plan_from_json(last)
    except PlanError:  # of an earlier version, with what is not there any more
        return usual


def give(plan: Plan, base: str) -> None:
    """Have the card show this plan, as what became of the plan `base`."""
    stamp = st.session_state.get("plan_given", {"stamp": 0})["stamp"] + 1
    st.session_state.plan, st.session_state.plan_base = plan, base
    st.session_state.plan_given = {"stamp": stamp, "plan": plan.as_json(), "base": base}


@st.fragment
def plan_card() -> None:
    """The card; a click in it draws it alone, since a plan matters only when the next question is asked."""
    if "switches" not in st.session_state:  # drawn for the first time, or again after another page
        plan = chosen_plan()
        give(plan, st.session_state.get("plan_base", plan.name))
    workbench, saved = get_workbench(), {}
    usual = {name: toggle.settings for name, toggle in workbench.settings.toggles().items()}
    try:
        saved = workbench.plans()
    except RagError as error:
        st.session_state.plan_problem = str(error)
    components.plan(
        key="switches",
        data={
            **st.session_state.plan_given,
            "groups": GROUPS,
            "techniques": [drawn(one, usual.get(name, {})) for name, one in TECHNIQUES.items()],
            "presets": {name: plan.as_json() for name, plan in workbench.presets().items()},
            "saved": {name: plan.as_json() for name, plan in saved.items()},
            "forecasts": forecasts(),
            "problem": st.session_state.pop("plan_problem", ""),
        },
        on_plan_change=plan_told,
        on_act_change=acted,
    )
    if st.session_state.pop("redraw", False):
        st.rerun()  # a dialog belongs to the page


def forecasts() -> dict[str, Any]:
    """What a question will take with each plan, on the engine that is chosen; nothing where that cannot be asked."""
    try:
        told = get_workbench().forecasts(st.session_state.get("engine"))
    except RagError:  # the card and the page say why
        return {}
    return {name: one.model_dump() for name, one in told.items()}


def plan_told() -> None:
    """Keep the plan for when the card is drawn again after another page."""
    if told := st.session_state.switches.plan:
        try:
            st.session_state.plan = plan_from_json(told["plan"])
            st.session_state.plan_base = told["base"]
        except RagError as error:
            st.session_state.plan_problem = str(error)
            give(st.session_state.plan, st.session_state.plan_base)


def acted() -> None:
    if action := st.session_state.switches.act:
        st.session_state.asking = (action, ())
        st.session_state.redraw = True


def drawn(technique: Technique, usual: Mapping[str, Any]) -> dict[str, Any]:
    """What the card draws of a technique; `usual` is what the environment says of its settings."""
    fields = technique.settings.model_fields.items()
    return {
        "name": technique.name,
        "label": technique.label,
        "group": technique.group,
        "summary": technique.summary,
        "always": technique.always,
        "settings": [setting(name, info) for name, info in fields],
        "usual": technique.settings.model_validate(usual).model_dump(mode="json"),
    }


def setting(name: str, info: FieldInfo) -> dict[str, Any]:
    """One setting: what it is called, what it does, and what it can be."""
    label = name.removesuffix("_s").replace("_", " ")
    unit = ", seconds" if name.endswith("_s") else ""
    return {"name": name, "label": f"{label}{unit}", "help": info.description or "", **allowed(info)}


def allowed(info: FieldInfo) -> dict[str, Any]:
    """What a setting can be, by its type: one of a few, on or off, a number from and to, a text."""
    if get_origin(info.annotation) is Literal:
        return {"kind": "choice", "choices": get_args(info.annotation)}
    if info.annotation is bool:
        return {"kind": "switch"}
    if info.annotation not in (int, float):
        return {"kind": "text"}
    least = next((float(str(rule.ge)) for rule in info.metadata if isinstance(rule, annotated_types.Ge)), None)
    most = next((float(str(rule.le)) for rule in info.metadata if isinstance(rule, annotated_types.Le)), None)
    fine = most is not None and most <= 2
    return {
        "kind": "number",
        "least": least,
        "most": most,
        "step": 1 if info.annotation is int else FINE if fine else COARSE,
    }
