"""Compare: one question in two to four ways side by side, and what each technique bought."""

from __future__ import annotations

import uuid
from typing import Any

import streamlit as st

from pages._look import components
from pages._parts.comparing import (
    MOST_COLUMNS,
    columns_of,
    engines_on_offer,
    examples,
    first_columns,
    make_mine,
    name_in,
    plan_of,
    plans_on_offer,
    shown_runs,
    start,
)
from pages._parts.plan import chosen_plan
from pages._server.state import get_workbench
from rag_core.errors import RagError
from rag_core.techniques import TECHNIQUES

workbench = get_workbench()


# what was done; the component is known as "columns"


def asked() -> None:
    """Start a run a column and put them in the address, so that a reload and a second tab find them."""
    setup: dict[str, Any] = st.session_state.columns.run
    # The browser tells a press twice when the page is drawn anew meanwhile.
    if setup["press"] == st.session_state.get("pressed"):
        return
    st.session_state.pressed = setup["press"]
    try:
        started = start(setup, plans_on_offer(shown_runs(address())))
    except RagError as error:
        st.session_state.compare_problem = str(error)
        return
    columns = [
        {**column, "run": one.run, "problem": one.problem}
        for column, one in zip(setup["columns"], started, strict=True)
    ]
    runs = ",".join(one.run for one in started if one.run)
    give({"question": setup["question"], "columns": columns}, runs)
    st.query_params.from_dict({"runs": runs} if runs else {})


def set_up() -> None:
    """Keep what is chosen for when the page is drawn again after another."""
    if setup := st.session_state.columns.setup:
        st.session_state.compare = st.session_state.compare | setup


def stopped() -> None:
    for run in st.session_state.columns.stop:
        workbench.stop(run)


def ledger_asked() -> None:
    run: str = st.session_state.columns.ledger
    try:
        workbench.ledgers.make(run)
    except RagError as error:
        st.session_state.compare_problem = str(error)
        return
    st.query_params["ledger"] = run


def ledger_stopped() -> None:
    workbench.ledgers.stop(st.session_state.columns.unledger)


def pair_asked() -> None:
    """Show the runs with and without a technique side by side; the ledger stays under them."""
    pair: list[str] = st.session_state.columns.pair
    st.query_params["runs"] = ",".join(pair)


def made_mine() -> None:
    run = workbench.run(st.session_state.columns.mine)
    offered = plans_on_offer([])
    if run and (plan := plan_of(run, offered)):
        make_mine(plan)
        st.session_state.compare_said = "Ask uses this plan now."


def opened() -> None:
    st.session_state.open_run = st.session_state.columns.open


# what is shown


def address() -> str:
    return st.query_params.get("runs", "")


def give(setup: dict[str, Any], runs: str) -> dict[str, Any]:
    """Have the screen show this set-up; it holds what is typed and chosen there against one of the same stamp."""
    st.session_state.compare = {**setup, "address": runs, "stamp": uuid.uuid4().hex}
    return st.session_state.compare


def shown() -> dict[str, Any]:
    """The set-up on the screen: what was chosen here, or what gave the runs of the address."""
    kept = st.session_state.get("compare")
    if kept and not address() and kept["address"]:  # back from another page, whose link has no runs
        st.query_params["runs"] = kept["address"]
        if kept.get("ledger"):
            st.query_params["ledger"] = kept["ledger"]
    if not kept or kept["address"] != address():
        runs = shown_runs(address())
        kept = give(columns_of(runs, plans_on_offer(runs)) if runs else first_columns(), address())
    return kept


def open_from_ask() -> None:
    """Come from Ask, which asks for the ledger of a run: without a model it takes seconds, so it begins at once."""
    run_id = st.query_params.pop("pays", None)
    run = workbench.run(run_id) if run_id else None
    if run is None:
        return
    st.query_params["ledger"] = run.id
    if workbench.ledgers.get(run.id) is None and run.engine == "keyless":
        try:
            workbench.ledgers.make(run.id)
        except RagError as error:
            st.session_state.compare_problem = str(error)


if run := st.session_state.pop("open_run", None):
    st.switch_page("runs.py", query_params={"run": run})
open_from_ask()
setup = shown()
setup["ledger"] = st.query_params.get("ledger", "")
offered = plans_on_offer(shown_runs(address()))
own = name_in(offered, chosen_plan())
infos = workbench.collections()
components.compare(
    key="columns",
    data={
        **setup,
        "plans": [{"name": name, "techniques": list(plan.techniques)} for name, plan in offered.items()],
        "mine": own,
        "engines": engines_on_offer(),
        "collections": [info.name for info in infos if info.documents],
        "labels": {name: technique.label for name, technique in TECHNIQUES.items()},
        "always": [name for name, technique in TECHNIQUES.items() if technique.always],
        "most": MOST_COLUMNS,
        "examples": examples(),
        "made": bool(setup["ledger"] and workbench.ledgers.get(setup["ledger"])),
        "problem": st.session_state.pop("compare_problem", ""),
        "said": st.session_state.pop("compare_said", ""),
    },
    on_setup_change=set_up,
    on_run_change=asked,
    on_stop_change=stopped,
    on_ledger_change=ledger_asked,
    on_unledger_change=ledger_stopped,
    on_pair_change=pair_asked,
    on_mine_change=made_mine,
    on_open_change=opened,
)
