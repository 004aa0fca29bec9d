"""Documents: put PDFs into a collection, watch them become searchable, look into them."""

from __future__ import annotations

from typing import Any

import streamlit as st

from pages._look import components
from pages._parts.library import counted, is_worked_on, row
from pages._parts.tables import as_csv, table_rows
from pages._server.state import get_workbench
from rag_core.errors import RagError
from rag_core.indexing.records import DocumentRecord
from rag_core.types import Chunk

CHUNKS_A_PAGE = 20
CHUNKS_AT_ONCE = 500
REFRESH_S = 0.5

workbench = get_workbench()
collection: str | None = st.session_state.collection


def uploaded(key: str) -> None:
    """Hand the files over at once and empty the uploader: what it holds stays in memory."""
    said: list[tuple[str, str]] = []
    known = {document.id for document in workbench.documents(collection or "")}
    for file in st.session_state[key]:
        try:
            record = workbench.add(file.getvalue(), file.name, collection or "")
        except RagError as error:
            said.append(("error", str(error)))
        else:
            if record.id in known and not is_worked_on(record) and record.state != "failed":
                said.append(("info", f"{file.name} is here already, unchanged."))
    st.session_state.said = said
    st.session_state.uploads = st.session_state.get("uploads", 0) + 1


def acted() -> None:
    """An action of the list: some are done at once, some ask first."""
    chosen = st.session_state.library.act
    action, document = chosen["action"], chosen["id"]
    if action == "open":
        st.query_params.from_dict({"document": document})
    elif action == "retry":
        told(lambda: workbench.retry(document))
    else:
        st.session_state.asking = (action, document)
    st.session_state.redraw = True


def told(work: Any) -> None:
    """Do it; what goes wrong is said on the page."""
    try:
        work()
    except RagError as error:
        st.session_state.said = [("error", str(error))]


def page_chosen() -> None:
    st.session_state["view"] = "page"
    st.query_params["page"] = str(st.session_state.reader.page)


def nothing_asked() -> None:
    st.session_state.pop("asking", None)


@st.dialog("Delete this document?", on_dismiss=nothing_asked)
def delete_dialog(record: DocumentRecord) -> None:
    st.text(record.name)
    st.caption("Its chunks leave the index and the file is removed. Answers that cite it stay in the history.")
    with st.container(horizontal=True, horizontal_alignment="right"):
        if st.button("Keep"):
            nothing_asked()
            st.rerun()
        if st.button("Delete", type="primary"):
            told(lambda: workbench.delete(record.id))
            if st.query_params.get("document") == record.id:
                st.query_params.clear()
            nothing_asked()
            st.rerun()


@st.dialog("Password", on_dismiss=nothing_asked)
def password_dialog(record: DocumentRecord) -> None:
    with st.form("password", border=False):
        st.text(record.name)
        password = st.text_input("Password of this PDF", type="password", help="Needed to read the file.")
        if st.form_submit_button("Index it", type="primary") and password:
            told(lambda: workbench.retry(record.id, password=password))
            nothing_asked()
            st.rerun()


@st.dialog("New collection", on_dismiss=nothing_asked)
def collection_dialog() -> None:
    with st.form("collection", border=False):
        name = st.text_input("Name", max_chars=60)
        description = st.text_input("What is in it", help="Helps to find the right collection for a question.")
        if st.form_submit_button("Create", type="primary"):
            try:
                workbench.create_collection(name.strip(), description.strip())
            except RagError as error:
                st.error(str(error))
                return
            nothing_asked()
            # The selector has been drawn in this run already: the frame takes the choice over in the next.
            st.session_state.next_collection = name.strip()
            st.rerun()


def ask_first() -> None:
    action, document = st.session_state.get("asking", (None, None))
    if action == "collection":
        collection_dialog()
    elif action and (record := workbench.document(document)):
        {"delete": delete_dialog, "password": password_dialog}[action](record)


def header() -> None:
    with st.container(horizontal=True, vertical_alignment="center", key="title-row"):
        st.html("<h1>Documents</h1>", width="content")
        counts()
        if st.button("New collection", key="new-collection"):
            st.session_state.asking = ("collection", None)


def counts() -> None:
    info = next((info for info in workbench.collections() if info.name == collection), None)
    if info is not None:
        told = (counted(info.documents, "document"), counted(info.pages, "page"), counted(info.chunks, "chunk"))
        st.text(", ".join(told), width="stretch")


def upload() -> None:
    key = f"upload-{st.session_state.get('uploads', 0)}"
    st.file_uploader(
        "Drop PDFs here", accept_multiple_files=True, key=key, on_change=uploaded, args=(key,),
        max_upload_size=workbench.settings.max_file_mb,
    )  # fmt: skip
    for kind, sentence in st.session_state.pop("said", []):
        # As text, not as markdown: a file's name may hold anything.
        with st.container(key=f"said-{kind}-{hash(sentence)}", border=True):
            st.text(("○ " if kind == "error" else "● ") + sentence)


def library(was_working: bool) -> None:
    """The list; drawn again every half second while something is worked on, and once more when that is over."""
    records = workbench.documents(collection or "")
    components.library(
        key="library",
        data={
            "rows": [row(record) for record in records],
            "opened": st.query_params.get("document"),
            "empty": "No documents yet. Drop a PDF above: you can ask about it as soon as its pages are read.",
        },
        on_act_change=acted,
    )
    if st.session_state.pop("redraw", False) or (was_working and not any(map(is_worked_on, records))):
        st.rerun()


def version(record: DocumentRecord) -> tuple[str, int, str]:
    """What changes when a document's chunks do."""
    return record.id, record.chunks, record.state


@st.cache_data(max_entries=16, show_spinner=False, hash_funcs={DocumentRecord: version})
def tables_and_figures(record: DocumentRecord) -> tuple[list[Chunk], list[Chunk]]:
    """The chunks that are tables, and those that have a picture."""
    found = workbench.chunks(record.id, limit=CHUNKS_AT_ONCE)
    return [one for one in found if one.kind == "table" and one.html], [one for one in found if one.image]


def reader(record: DocumentRecord) -> None:
    tables, figures = tables_and_figures(record)
    labels = {"page": "Page"}
    if tables:
        labels["tables"] = f"Tables {len(tables)}"
    if figures:
        labels["figures"] = f"Figures {len(figures)}"
    labels["chunks"] = f"Chunks {record.chunks:,}"
    if st.session_state.get("view") not in labels:
        st.session_state.view = "page"
    with st.container(horizontal=True, vertical_alignment="center", key="reader-head"):
        st.text(record.name, width="stretch")
        st.segmented_control(
            "Show", list(labels), key="view", format_func=labels.__getitem__, required=True,
            label_visibility="collapsed",
        )  # fmt: skip
    if st.session_state.view == "tables":
        table(tables)
    else:
        pages(record, figures)


def pages(record: DocumentRecord, figures: list[Chunk]) -> None:
    view, shown = st.session_state.view, []
    if view == "chunks":
        count = -(-record.chunks // CHUNKS_A_PAGE)
        at = st.pagination(count, key=f"chunks-{record.id}") if count > 1 else 1
        shown = workbench.chunks(record.id, limit=at * CHUNKS_A_PAGE)[(at - 1) * CHUNKS_A_PAGE :]
    asked = st.query_params.get("page", "1")
    components.reader(
        key="reader",
        data={
            "document": record.id,
            "name": record.name,
            "pages": max(1, record.pages),
            "page": min(max(1, record.pages), max(1, int(asked))) if asked.isdecimal() else 1,
            "view": view,
            "figures": [{"image": chunk.image, "page": chunk.page, "caption": chunk.caption} for chunk in figures],
            "chunks": [
                {
                    "order": chunk.order,
                    "kind": chunk.kind,
                    "page": chunk.page,
                    "section": " › ".join(chunk.section),
                    "text": chunk.text,
                }
                for chunk in shown
            ],
        },
        on_page_change=page_chosen,
    )


def table(tables: list[Chunk]) -> None:
    def label(at: int) -> str:
        chunk = tables[at]
        return f"{at + 1} · page {chunk.page}" + (f" · {chunk.caption[:80]}" if chunk.caption else "")

    at = st.selectbox("Table", range(len(tables)), format_func=label, label_visibility="collapsed")
    rows = table_rows(tables[at].html or "")
    st.dataframe(rows, hide_index=True)
    st.download_button("Download CSV", as_csv(rows), file_name=f"table-{at + 1}.csv", mime="text/csv")


with st.container(key="documents"):
    header()
    left, right = st.columns([6, 5], gap="medium")
    records = workbench.documents(collection or "")
    with left:
        upload()
        working = any(map(is_worked_on, records))
        st.fragment(library, run_every=REFRESH_S if working else None)(working)
    with right:
        opened = workbench.document(st.query_params.get("document", ""))
        if opened is not None and opened.collection == collection:
            reader(opened)
        elif any(record.searchable for record in records):
            st.caption("Open a document to see its pages, and what was read on them.")
ask_first()
