"""What is asked before documents and collections are changed; `asking` of the session says what is open."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import streamlit as st

from pages._parts.address import go_to
from pages._parts.library import counted
from pages._server.state import get_workbench
from rag_core.errors import RagError
from rag_core.indexing.records import CollectionInfo, DocumentRecord

MOST_NAMED = 8


def each(work: Callable[[str], Any], documents: Sequence[str]) -> None:
    """Do it to each document; what goes wrong is said on the page, and stops none of the others."""
    refused: list[tuple[str, str]] = []
    for document in documents:
        try:
            work(document)
        except RagError as error:
            record = get_workbench().document(document)
            refused.append((record.name if record else "", str(error)))
    if refused:
        st.session_state.report = (
            f"{len(refused):,} of {counted(len(documents), 'document')} stay as they were.",
            refused,
        )


def nothing_asked() -> None:
    st.session_state.pop("asking", None)


def done() -> None:
    """End a dialog."""
    nothing_asked()
    st.rerun()


def name_all(records: Sequence[DocumentRecord]) -> None:
    names = [record.name for record in records[:MOST_NAMED]]
    more = len(records) - len(names)
    st.text("\n".join([*names, *([f"and {more:,} more"] if more else [])]))


def keep_or(label: str) -> bool:
    """The two buttons of a dialog that deletes."""
    with st.container(horizontal=True, horizontal_alignment="right"):
        if st.button("Keep"):
            done()
        return st.button(label, type="primary")


@st.dialog("Delete?", on_dismiss=nothing_asked)
def delete_dialog(records: Sequence[DocumentRecord]) -> None:
    name_all(records)
    pages, chunks = sum(record.pages for record in records), sum(record.chunks for record in records)
    held = f"{counted(pages, 'page')}, {counted(chunks, 'chunk')}"
    st.caption(
        f"What was read of {'it' if len(records) == 1 else 'them'} goes too ({held}), and the kept copy of the file. "
        "Answers that cite it keep their text; their citations will say that the document is gone."
    )
    if keep_or("Delete"):
        each(get_workbench().delete, [record.id for record in records])
        if st.query_params.get("document") in {record.id for record in records}:
            go_to({})
        done()


@st.dialog("Password", on_dismiss=nothing_asked)
def password_dialog(records: Sequence[DocumentRecord]) -> None:
    with st.form("password", border=False):
        st.text(records[0].name)
        password = st.text_input("Password of this file", type="password", help="Needed to read it.")
        if st.form_submit_button("Index it", type="primary") and password:
            each(lambda document: get_workbench().retry(document, password=password), [records[0].id])
            done()


@st.dialog("Read again?", on_dismiss=nothing_asked)
def again_dialog(records: Sequence[DocumentRecord]) -> None:
    name_all(records)
    pages, seconds = sum(record.pages for record in records), sum(record.seconds for record in records)
    lasted = f", about {lasting(seconds)} as last time" if seconds else ""
    st.caption(f"{counted(pages, 'page')}{lasted}. What is there now is searched until then.")
    with st.container(horizontal=True, horizontal_alignment="right"):
        if st.button("Read again", type="primary"):
            each(get_workbench().retry, [record.id for record in records])
            done()


def lasting(seconds: float) -> str:
    return counted(max(1, round(seconds)), "second") if seconds < 90 else counted(round(seconds / 60), "minute")


@st.dialog("Move to another collection", on_dismiss=nothing_asked)
def move_dialog(records: Sequence[DocumentRecord]) -> None:
    name_all(records)
    workbench = get_workbench()
    others = [info.name for info in workbench.collections() if info.name != records[0].collection]
    target = st.selectbox(
        "To", others, index=0 if others else None, accept_new_options=True, placeholder="Name of a new collection",
        help="Choose one, or write the name of a new one. Nothing is read or embedded again; citations still open.",
    )  # fmt: skip
    with st.container(horizontal=True, horizontal_alignment="right"):
        chosen = st.button("Move", type="primary", disabled=not target)
    if chosen and target:
        if target not in others and not tried(lambda: workbench.create_collection(target)):
            return
        named = " ".join(target.split())
        each(lambda document: workbench.move(document, named), [record.id for record in records])
        go_to({})
        done()


def tried(work: Callable[[], Any]) -> bool:
    """Do it; False where it was refused, with the reason in the dialog."""
    try:
        work()
    except RagError as error:
        with st.container(border=True):
            st.text(f"○ {error}")
        return False
    return True


def collection_form(label: str, info: CollectionInfo, save: Callable[[str, str], Any]) -> None:
    with st.form("collection", border=False):
        name = st.text_input("Name", info.name, max_chars=80)
        description = st.text_input(
            "What is in it", info.description, help="Helps to find the right collection for a question."
        )
        if st.form_submit_button(label, type="primary"):
            clean = " ".join(name.split())
            if tried(lambda: save(clean, description.strip())):
                # The selector has been drawn in this run already: the frame takes the choice over in the next.
                st.session_state.next_collection = clean
                done()


@st.dialog("New collection", on_dismiss=nothing_asked)
def new_dialog() -> None:
    collection_form("Create", CollectionInfo(name=""), get_workbench().create_collection)


@st.dialog("Name and description", on_dismiss=nothing_asked)
def change_dialog(info: CollectionInfo) -> None:
    collection_form("Save", info, lambda *given: get_workbench().change_collection(info.name, *given))


@st.dialog("Delete this collection?", on_dismiss=nothing_asked)
def delete_collection_dialog(info: CollectionInfo) -> None:
    st.text(info.name)
    held = ", ".join((counted(info.documents, "document"), counted(info.pages, "page"), counted(info.chunks, "chunk")))
    workbench = get_workbench()
    built = workbench.graphs.under_way(info.name) or workbench.trees.under_way(info.name)
    stops = " What is being built over it stops in the background." if built else ""
    st.caption(f"It goes with all that is in it: {held}. Answers that cite its documents keep their text.{stops}")
    if keep_or("Delete") and tried(lambda: get_workbench().delete_collection(info.name)):
        go_to({})
        done()


@st.dialog("Describe the figures", on_dismiss=nothing_asked)
def describe_dialog(info: CollectionInfo) -> None:
    """What it would take comes first; nothing is asked of a model before the button is pressed."""
    st.caption(
        "A model that sees says what each figure shows, so that it is found by that. Captions and the words in a "
        "figure are searched already."
    )
    try:
        estimate = get_workbench().estimate_descriptions(info.name)
    except RagError as error:
        st.text(f"○ {error}")
        return
    if not estimate.figures:
        st.text("● Every figure here is described already, or there is none.")
        return
    told = (
        counted(estimate.figures, "figure"),
        counted(estimate.figures, "model call"),
        f"about {estimate.input_tokens:,} tokens in and {estimate.output_tokens:,} out",
    )
    st.text(", ".join(told) + ".")
    st.caption(
        "What that costs is your endpoint's to say. It goes on in the background, and no figure is paid for twice."
    )
    with st.container(horizontal=True, horizontal_alignment="right"):
        if st.button("Start", type="primary") and tried(lambda: get_workbench().describe(info.name)):
            done()


OF_DOCUMENTS = {"delete": delete_dialog, "password": password_dialog, "again": again_dialog, "move": move_dialog}
OF_COLLECTION = {"change": change_dialog, "describe": describe_dialog, "delete-collection": delete_collection_dialog}


def ask_first(info: CollectionInfo | None) -> None:
    """Open the dialog that an action asked for, over the collection or documents that it is about."""
    action, documents = st.session_state.get("asking", (None, ()))
    if action == "new":
        new_dialog()
    elif info is not None and action in OF_COLLECTION:
        OF_COLLECTION[action](info)
    elif action in OF_DOCUMENTS:
        records = [record for document in documents if (record := get_workbench().document(document))]
        if records:
            OF_DOCUMENTS[action](records)
