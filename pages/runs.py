"""Runs: every question that was asked, to be found again, looked into, replayed, compared and passed on."""

from __future__ import annotations

import streamlit as st

from pages._look import components
from pages._parts.address import go_to, hold_address
from pages._parts.asking import done, keep_or, nothing_asked, tried
from pages._server.state import get_workbench
from rag_core.errors import RagError
from rag_core.pipeline.exchange import MOST_MB
from rag_core.techniques import TECHNIQUES

workbench = get_workbench()


def opened() -> None:
    go_to({"run": st.session_state.history.open})


def compared() -> None:
    go_to({"runs": ",".join(st.session_state.history.compare)})


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


def imported(key: str) -> None:
    file = st.session_state[key]
    st.session_state.pop("import_problem", None)
    if file is None:
        return
    try:
        run = workbench.import_run(file.getvalue())
    except RagError as error:
        st.session_state.import_problem = f"{file.name}: {error}"
    else:
        go_to({"run": run.id})
        changed()
    st.session_state.imports = st.session_state.get("imports", 0) + 1


@st.dialog("Delete this run?", on_dismiss=nothing_asked)
def delete_dialog(run_id: str) -> None:
    run = workbench.run(run_id)
    st.text(run.question if run else "It is gone already.")
    st.caption("Its record goes for good, and its answer is not remembered any more. Export it first to keep it.")
    if keep_or("Delete") and tried(lambda: workbench.delete_run(run_id)):
        go_to({})
        changed()
        done()


def header() -> None:
    with st.container(horizontal=True, vertical_alignment="center", key="title-row"):
        st.html("<h1>Runs</h1>", width="stretch")
        with st.popover("Import"):
            key = f"import-{st.session_state.get('imports', 0)}"
            st.file_uploader(
                "A run as JSON, as “Export” makes it", type="json", key=key, on_change=imported, args=(key,),
                max_upload_size=MOST_MB,
            )  # fmt: skip
            st.caption("It is kept beside yours and marked as imported. Pages that are not here cannot be shown.")
    if problem := st.session_state.get("import_problem"):
        with st.container(horizontal=True, key="report", vertical_alignment="center"):
            st.text(f"○ {problem}", width="stretch")
            st.button("Close", type="tertiary", on_click=st.session_state.pop, args=("import_problem",))


def history(selected: str | None, pair: list[str]) -> None:
    components.history(
        key="history",
        data={"selected": selected, "pair": pair, "version": st.session_state.get("runs_version", 0)},
        on_open_change=opened,
        on_compare_change=compared,
        on_ask_change=lambda: st.session_state.update(to_ask=True),
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
    )


hold_address()
if st.session_state.pop("to_ask", False):
    st.switch_page("ask.py")
pair = [run for run in st.query_params.get("runs", "").split(",") if run][:2]
selected = None if pair else st.query_params.get("run")
with st.container(key="runs"):
    header()
    left, right = st.columns([5, 7], gap="medium")
    with left, st.container(key="history-side-beside" if selected or pair else "history-side"):
        history(selected, pair)
    with right, st.container(key="inspector-side"):
        if selected or pair:
            st.button("Back to the list", key="to-list", on_click=go_to, args=({},))
        inspector(selected)
action, runs = st.session_state.get("asking", (None, ()))
if action == "delete-run":
    delete_dialog(runs[0])
