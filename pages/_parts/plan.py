"""The plan card: presets, techniques as switches, their settings. Drawn from the table of techniques."""

from __future__ import annotations

from typing import Any, get_args

import annotated_types
import streamlit as st
from pydantic.fields import FieldInfo

from rag_core.pipeline.plan import PRESETS, Plan
from rag_core.techniques import TECHNIQUES

GROUPS = {"question": "Question", "retrieve": "Retrieve", "check": "Check", "answer": "Answer"}


def chosen_plan() -> Plan:
    """The plan that the card shows, which a question is asked with."""
    return st.session_state.setdefault("plan", next(iter(PRESETS.values())))


@st.fragment
def plan_card() -> None:
    """The card; a click in it draws it alone, since a plan matters only when the next question is asked."""
    plan = chosen_plan()
    with st.container(horizontal=True, vertical_alignment="center", key="plan-rows", gap="small"):
        presets()
        for group, label in GROUPS.items():
            switches(plan, group, label)
        with st.popover(
            "Settings", icon=":material/tune:", type="tertiary", on_change="rerun", key="plan-settings"
        ) as popover:
            if popover.open:
                settings(plan)


def presets() -> None:
    if len(PRESETS) > 1:
        st.session_state.setdefault("preset", next(iter(PRESETS)))
        st.segmented_control(
            "Preset", list(PRESETS), key="preset", format_func=str.capitalize, required=True,
            on_change=preset_chosen, label_visibility="collapsed",
        )  # fmt: skip


def preset_chosen() -> None:
    st.session_state.plan = PRESETS[st.session_state.preset]


def switches(plan: Plan, group: str, label: str) -> None:
    """The techniques of one group that can be switched, as chips."""
    names = [name for name, technique in TECHNIQUES.items() if technique.group == group and not technique.always]
    if not names:
        return
    key = f"switch-{group}"
    st.session_state[key] = [name for name in names if name in plan.techniques]
    st.pills(
        label, names, selection_mode="multi", key=key, format_func=lambda name: TECHNIQUES[name].label,
        help="\n\n".join(f"**{TECHNIQUES[name].label}**: {TECHNIQUES[name].summary}" for name in names),
        on_change=switched, args=(names, key),
    )  # fmt: skip


def switched(names: list[str], key: str) -> None:
    plan, on = chosen_plan(), st.session_state[key]
    for name in names:
        plan = plan.on(name) if name in on else plan.off(name)
    st.session_state.plan = plan


def settings(plan: Plan) -> None:
    for name, chosen in plan.techniques.items():
        st.caption(f"**{TECHNIQUES[name].label}** · {TECHNIQUES[name].summary}")
        for field, info in type(chosen).model_fields.items():
            setting(name, field, info, getattr(chosen, field))


def setting(technique: str, field: str, info: FieldInfo, value: Any) -> None:
    """One setting as the widget that fits its type; its description is the help."""
    key = f"set-{technique}-{field}"
    st.session_state[key] = value
    label = field.replace("_", " ").capitalize()
    told = {"on_change": changed, "args": (technique, field, key)}
    shared: dict[str, Any] = {"key": key, "help": info.description, **told}
    least = next((rule.ge for rule in info.metadata if isinstance(rule, annotated_types.Ge)), None)
    most = next((rule.le for rule in info.metadata if isinstance(rule, annotated_types.Le)), None)
    if isinstance(value, bool):
        st.toggle(label, **shared)
    elif choices := get_args(info.annotation):
        st.segmented_control(label, [str(choice) for choice in choices], required=True, **shared)
    elif isinstance(value, float) and least is not None and most is not None:
        st.slider(label, float(str(least)), float(str(most)), step=0.05, **shared)
    elif isinstance(value, int) and least is not None and most is not None:
        st.slider(label, int(str(least)), int(str(most)), **shared)
    elif isinstance(value, int | float):
        st.number_input(label, **shared)
    else:
        st.text_input(label, **shared)


def changed(technique: str, field: str, key: str) -> None:
    st.session_state.plan = chosen_plan().set(technique, **{field: st.session_state[key]})
