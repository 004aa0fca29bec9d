"""Runs: every question that was asked, to be found again, looked into, replayed, compared and passed on."""

from __future__ import annotations

import streamlit as st

from pages._look import components
from pages._parts.address import go_to, hold_address
from pages._parts.asking import done, keep_or, nothing_asked, tried
from pages._parts.comparing import tried_out
from pages._server.state import get_workbench
from rag_core.pipeline.exchange import MOST_MB
from rag_core.techniques import TECHNIQUES

workbench = get_workbench()


def opened() -> None:
    go_to({"run": st.session_state.history.open})


def compare_wanted() -> None:
    st.session_state.go = ("compare.py", {"runs": ",".join(st.session_state.history.compare)})


def beside_another_plan() -> None:
    st.session_state.go = ("compare.py", {"runs": st.session_state.inspector.compare})


def what_paid() -> None:
    run = st.session_state.inspector.pays
    st.session_state.go = ("compare.py", {"runs": run, "pays": run})


def try_out() -> None:
    st.session_state.go = ("compare.py", tried_out(st.session_state.inspector.hint))


def ask_wanted() -> None:
    st.session_state.go = ("ask.py", {})


def feedback() -> None:
    given = st.session_state.inspector.feedback
    workbench.feedback(given["run"], given["value"])


def stopped() -> None:
    workbench.stop(st.session_state.inspector.stop)


def delete_wanted() -> None:
    st.session_state.asking = ("delete-run", (st.session_state.inspector.delete,))


def changed() -> None:
    """The list is to be read anew."""
    st.session_state.runs_version = st.session_state.get("runs_version", 0) + 1


def import_wanted() -> None:
    st.session_state.asking = ("import-run", ())


@st.dialog("Import a run", on_dismiss=nothing_asked)
def import_dialog() -> None:
    """Take in a file as soon as it is there; what is wrong with it is said under it."""
    st.caption(
        "It is kept beside yours and marked as imported. Its documents stay where they are: pages that are not here "
        "cannot be shown."
    )
    file = st.file_uploader("A run as JSON, as it is exported", type="json", max_upload_size=MOST_MB)
    if file is not None and tried(lambda: go_to({"run": workbench.import_run(file.getvalue()).id})):
        changed()
        done()


@st.dialog("Delete this run?", on_dismiss=nothing_asked)
def delete_dialog(run_id: str) -> None:
    run = workbench.run(run_id)
    st.text(run.question if run else "It is gone already.")
    ledger = "; so do the runs that its ledger asked" if workbench.ledgers.get(run_id) else ""
    st.caption(f"Its record goes for good{ledger}. Its answer is not remembered any more. Export it first to keep it.")
    if keep_or("Delete") and tried(lambda: workbench.delete_run(run_id)):
        go_to({})
        changed()
        done()


def header() -> None:
    with st.container(horizontal=True, vertical_alignment="center", key="title-row"):
        st.html("<h1>Runs</h1>", width="stretch")
        st.button("Import", on_click=import_wanted)


def history(selected: str | None) -> None:
    components.history(
        key="history",
        data={
            "selected": selected,
            "version": st.session_state.get("runs_version", 0),
        },
        on_open_change=opened,
        on_compare_change=compare_wanted,
        on_ask_change=ask_wanted,
    )


def inspector(selected: str | None) -> None:
    components.run(
        key="inspector",
        data={
            "run": selected,
            "questions": {},
            "labels": {name: technique.label for name, technique in TECHNIQUES.items()},
            "alone": True,
        },
        on_feedback_change=feedback,
        on_stop_change=stopped,
        on_delete_change=delete_wanted,
        on_compare_change=beside_another_plan,
        on_pays_change=what_paid,
        on_hint_change=try_out,
    )


if "go" in st.session_state:
    page, address = st.session_state.pop("go")
    st.switch_page(page, query_params=address)
hold_address()
selected = st.query_params.get("run")
with st.container(key="runs"):
    header()
    left, right = st.columns([5, 7], gap="medium")
    with left, st.container(key="history-side"):
        history(selected)
    with right, st.container(key="inspector-side"):
        with st.container():  # its button does not move the run, which would draw it from nothing
            if selected:
                st.button("Back to the list", key="to-list", on_click=go_to, args=({},))
        inspector(selected)
action, runs = st.session_state.get("asking", (None, ()))
if action == "delete-run":
    delete_dialog(runs[0])
elif action == "import-run":
    import_dialog()
