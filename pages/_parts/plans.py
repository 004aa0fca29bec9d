"""What can be done with the plan on the card: keep it under a name, give it away, use one that was given, delete it."""

from __future__ import annotations

import json

import streamlit as st

from pages._parts.asking import done, keep_or, nothing_asked, tried
from pages._parts.plan import chosen_plan, give
from pages._server.state import get_workbench
from rag_core.errors import PlanError
from rag_core.pipeline.plan import Plan, plan_from_json

LONGEST_PLAN = 100_000
"""Characters of a plan; ours have some thousand."""


@st.dialog("Save the plan as", on_dismiss=nothing_asked)
def save_dialog() -> None:
    with st.form("save-plan", border=False):
        name = st.text_input("Name", max_chars=60, help="It stands beside the presets from then on.")
        if st.form_submit_button("Save", type="primary") and tried(lambda: keep(name)):
            done()


def keep(name: str) -> None:
    saved = get_workbench().save_plan(name, chosen_plan())
    give(saved, saved.name)


@st.dialog("Share the plan", on_dismiss=nothing_asked)
def share_dialog() -> None:
    plan = chosen_plan()
    text = json.dumps(plan.as_json(), indent=2, ensure_ascii=False)
    st.caption("The plan that is chosen now. The command line takes the file too: `ask … --plan FILE.json`.")
    with st.container(height=180):
        st.code(text, language="json")
    st.download_button("Download", text, file_name=f"{plan.name}.json", mime="application/json", on_click="ignore")
    st.caption("Or use one that you were given:")
    given = st.file_uploader("Plan as a file", type="json", max_upload_size=1, label_visibility="collapsed")
    pasted = st.text_area("Plan as JSON", height=110, placeholder='{"name": …, "techniques": {…}}')
    with st.container(horizontal=True, horizontal_alignment="right"):
        use = st.button("Use it", type="primary", disabled=not (given or pasted.strip()))
    if use and tried(lambda: take(given.getvalue() if given else pasted.encode())):
        done()


def take(data: bytes) -> None:
    """Have the card show the plan in a shared text.

    Raises:
        PlanError: It is no plan, or one with techniques or settings that are not there.
    """
    plan = shared_plan(data)
    known = get_workbench().presets() | get_workbench().plans()
    same = next((name for name, one in known.items() if one.techniques == plan.techniques), None)
    if same is None:
        give(plan.model_copy(update={"name": "custom"}), "")
    else:
        give(known[same], same)


def shared_plan(data: bytes) -> Plan:
    try:
        return plan_from_json(json.loads(data[:LONGEST_PLAN]))
    except (ValueError, RecursionError) as error:
        raise PlanError("This is no plan: it is not JSON as Share gives it.") from error


@st.dialog("Delete this plan?", on_dismiss=nothing_asked)
def delete_dialog() -> None:
    plan = chosen_plan()
    st.text(plan.name)
    st.caption("Runs that were asked with it keep it in their record.")
    if keep_or("Delete") and tried(lambda: get_workbench().delete_plan(plan.name)):
        give(plan.model_copy(update={"name": "custom"}), "")
        done()


OF_PLAN = {"save-plan": save_dialog, "share-plan": share_dialog, "delete-plan": delete_dialog}


def ask_of_plan() -> None:
    """Open the dialog that the card asked for."""
    action, _ = st.session_state.get("asking", ("", ()))
    if action in OF_PLAN:
        OF_PLAN[action]()
