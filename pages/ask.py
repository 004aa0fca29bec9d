"""Ask: the chat on the left, the run that answers on the right."""

from __future__ import annotations

import tempfile
import uuid
from functools import partial
from pathlib import Path
from typing import Any

import streamlit as st

from pages._look import components
from pages._parts.comparing import tried_out
from pages._parts.plan import chosen_plan, give, plan_card
from pages._parts.plans import ask_of_plan
from pages._server.state import get_workbench
from pages._server.tabs import tell_tab
from rag_core.errors import RagError
from rag_core.pipeline.plan import plan_from_json
from rag_core.techniques import TECHNIQUES
from rag_core.workbench import DEMO_COLLECTION

PICTURES = ["png", "jpg", "jpeg"]

workbench = get_workbench()
# Known to this tab alone: who has it is told what is asked here.
st.session_state.setdefault("tab", uuid.uuid4().hex)


def ask(question: str, picture: Path | None = None) -> None:
    """Start a run and put it in the address, so that a reload and a second tab find it."""
    st.session_state.pop("problem", None)
    chat = st.query_params.get("chat") or uuid.uuid4().hex[:12]
    documents = st.session_state.get("documents", ())
    try:
        plan = chosen_plan()
        # Whoever has the router on leaves it the choice, unless documents of a collection were chosen.
        routed = plan.has("route") and not documents
        run = workbench.start(
            question,
            plan=plan,
            collection=None if routed else st.session_state.collection,
            documents=documents,
            engine=st.session_state.engine,
            chat=chat,
            picture=picture,
        )
    except RagError as error:
        st.session_state.problem = str(error)
        return
    if live := workbench.live(run):
        tell_tab(st.session_state.tab, live, question)
    st.session_state.latest = (chat, run, question)
    st.query_params.from_dict({"chat": chat, "run": run})


def asked() -> None:
    """Ask what was written, with the picture where one was given; what cannot be asked stays in the box."""
    given = st.session_state.question
    if given.files:
        with tempfile.TemporaryDirectory() as folder:
            picture = Path(folder, f"picture{Path(given.files[0].name).suffix.lower()}")
            picture.write_bytes(given.files[0].getvalue())
            ask(given.text, picture)
    else:
        ask(given.text)
    if "problem" in st.session_state:
        st.session_state.question = given.text


def example_chosen() -> None:
    ask(st.session_state.chat.ask)


def run_chosen() -> None:
    st.query_params["run"] = st.session_state.chat.select


def stop(component: str) -> None:
    workbench.stop(st.session_state[component].stop)


def feedback(component: str) -> None:
    given = st.session_state[component].feedback
    workbench.feedback(given["run"], given["value"])


def fork() -> None:
    """Start a branch and show it; the plan beside the question is the one that a branch can go on with."""
    st.session_state.pop("fork_problem", None)
    asked = st.session_state.run.fork
    edit = asked["edit"]
    try:
        if edit["kind"] == "plan":
            edit = {**edit, "plan": chosen_plan().as_json()}
        st.query_params["run"] = workbench.fork(asked["run"], edit, asked.get("step"))
    except RagError as error:
        st.session_state.fork_problem = str(error)


def shown_in_tree() -> None:
    st.query_params["run"] = st.session_state.run.select


def save_plan_of() -> None:
    """Put the plan of a branch on the card, and ask what to call it."""
    try:
        if branch := workbench.run(st.session_state.run.plan):
            give(plan_from_json(branch.plan).model_copy(update={"name": "custom"}), "")
            st.session_state.asking = ("save-plan", ())
    except RagError as error:
        st.session_state.fork_problem = str(error)


def compare(component: str) -> None:
    st.session_state.to_compare = {"runs": st.session_state[component].compare}


def what_paid(component: str) -> None:
    run = st.session_state[component].pays
    st.session_state.to_compare = {"runs": run, "pays": run}


def try_out(component: str) -> None:
    st.session_state.to_compare = tried_out(st.session_state[component].hint)


def new_chat() -> None:
    st.query_params.clear()


def open_chat() -> None:
    if chat := st.session_state.recent:
        st.query_params.from_dict({"chat": chat})


def welcome() -> dict[str, Any]:
    """What an empty chat says."""
    documents = workbench.documents(st.session_state.collection) if st.session_state.collection else []
    if not any(document.searchable for document in documents):
        return {
            "title": "Nothing to ask yet",
            "text": "Add a PDF under Documents; you can ask as soon as its pages are read.",
            "questions": [],
        }
    return {
        "title": "Ask your documents",
        "text": "Every sentence of an answer shows what holds it up, and every citation opens its page.",
        "questions": list(DEMO_QUESTIONS) if st.session_state.collection == DEMO_COLLECTION else [],
    }


DEMO_QUESTIONS = (
    "What new product was launched by the company that InnovateCorp acquired?",
    "How much revenue did InnovateCorp report for Q3 2023?",
    "Which sector grew the most in the third quarter?",
    "What is the capital of Australia?",
)


def header(empty: bool) -> None:
    with st.container(horizontal=True, key="chat-head", vertical_alignment="center", gap="small"):
        st.button("New chat", on_click=new_chat, disabled=empty)
        recent = {info.id: info.first_question for info in workbench.recent_chats()}
        if recent:
            st.selectbox(
                "Earlier chats", list(recent), index=None, key="recent", placeholder="Earlier chats",
                format_func=recent.__getitem__, on_change=open_chat, label_visibility="collapsed",
            )  # fmt: skip


def limit_to_documents() -> None:
    documents = workbench.documents(st.session_state.collection or "")
    names = [document.name for document in documents if document.searchable]
    # A document may be gone since it was chosen, or the collection another one.
    st.session_state.documents = [name for name in st.session_state.get("documents", ()) if name in names]
    st.multiselect("Documents", names, key="documents", placeholder="All documents", label_visibility="collapsed")


def questions_of(chat: str | None) -> dict[str, str]:
    """Run id -> question of a chat, oldest first."""
    if not chat:
        return {}
    questions = workbench.questions(chat)
    latest_chat, latest, question = st.session_state.get("latest", ("", "", ""))
    # A run that began this instant may not be in the history yet.
    return questions | {latest: question} if latest_chat == chat else questions


def chat_side(questions: dict[str, str], selected: str | None) -> None:
    with st.container(key="chat-side"):
        header(not questions)
        components.chat(
            key="chat",
            data={
                "tab": st.session_state.tab,
                "runs": [{"id": run, "question": question} for run, question in questions.items()],
                "selected": selected,
                "welcome": None if questions else welcome(),
            },
            on_ask_change=example_chosen,
            on_select_change=run_chosen,
            on_stop_change=partial(stop, "chat"),
            on_feedback_change=partial(feedback, "chat"),
            on_compare_change=partial(compare, "chat"),
            on_pays_change=partial(what_paid, "chat"),
            on_hint_change=partial(try_out, "chat"),
        )
        with st.container():  # what is said of a question does not move the plan: that would draw it from nothing
            if problem := st.session_state.get("problem"):
                st.warning(problem)
        with st.container(key="plan"):
            plan_card()
            limit_to_documents()
            st.chat_input(
                "Ask your documents", key="question", on_submit=asked, accept_file=True, file_type=PICTURES,
                max_upload_size=workbench.settings.max_file_mb,
            )  # fmt: skip


if to_compare := st.session_state.pop("to_compare", None):
    st.switch_page("compare.py", query_params=to_compare)
questions = questions_of(st.query_params.get("chat"))
selected = st.query_params.get("run") or next(reversed(questions), None)
st.session_state.left = (st.session_state.collection, st.query_params.to_dict() if questions else None)

with st.container(key="ask"):
    left, right = st.columns([5, 7])
    # The run comes first: it begins to listen while the rest of the page is still being drawn.
    with right, st.container(key="run-side"):
        labels = {name: technique.label for name, technique in TECHNIQUES.items()}
        components.run(
            key="run",
            data={
                "run": selected,
                "questions": questions,
                "labels": labels,
                "problem": st.session_state.pop("fork_problem", ""),
            },
            on_fork_change=fork,
            on_select_change=shown_in_tree,
            on_plan_change=save_plan_of,
            on_stop_change=partial(stop, "run"),
            on_feedback_change=partial(feedback, "run"),
            on_compare_change=partial(compare, "run"),
            on_pays_change=partial(what_paid, "run"),
            on_hint_change=partial(try_out, "run"),
        )
    with left:
        chat_side(questions, selected)
ask_of_plan()
