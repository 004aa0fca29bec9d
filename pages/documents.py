"""Documents: put files into a collection, watch them become searchable, look into them, keep them in order."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

import streamlit as st

from pages._look import components
from pages._parts.address import go_to, hold_address
from pages._parts.asking import ask_first, each
from pages._parts.blocks import upload_report
from pages._parts.library import counted, is_worked_on, notices, row, to_retry
from pages._parts.tables import as_csv, as_html, as_xlsx, columns, measured_in, numeric
from pages._server.state import get_workbench
from rag_core.errors import RagError
from rag_core.indexing.records import Captioned, CollectionInfo, DocumentRecord
from rag_core.parsing.formats.kinds import READABLE
from rag_core.parsing.records import PageOcr
from rag_core.parsing.tables import TableView
from rag_core.types import Chunk

CHUNKS_A_PAGE = 20
REFRESH_S = 0.5
XLSX = "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet"
MENU = {
    "change": "Name and description",
    "again": "Read all again",
    "describe": "Describe figures",
    "delete-collection": "Delete collection",
}

workbench = get_workbench()
collection: str = st.session_state.collection or ""


# what was done


def uploaded(key: str) -> None:
    """Hand the files over at once and empty the uploader: what it holds stays in memory."""
    # The browser tells a list of files twice when the page is drawn anew meanwhile.
    taken: set[str] = st.session_state.setdefault("taken", set())
    files = [file for file in st.session_state[key] if file.file_id not in taken]
    taken.update(file.file_id for file in files)
    known = {document.id: document for document in workbench.documents(collection)}
    became: Counter[str] = Counter()
    said: list[tuple[str, str]] = []
    for file in files:
        try:
            record = workbench.add(file.getvalue(), file.name, collection)
        except RagError as error:
            became["refused"] += 1
            said.append((file.name, getattr(error, "reason", str(error))))
            continue
        before = known.get(record.id)
        if before is None or before.state == "failed":
            became["added"] += 1
        elif record.state == "waiting" and before.state != "waiting":
            became["a new version"] += 1
            if before.searchable:
                said.append((file.name, "It is a new version; the earlier one is searched until it is read."))
        else:
            became["here already, unchanged"] += 1
    if became:
        summary = ", ".join(f"{number:,} {what}" for what, number in became.items()) + "."
        when = " A document can be asked as soon as its row says searchable or ready." if became["added"] else ""
        st.session_state.report = (summary + when, said)
    st.session_state.uploads = st.session_state.get("uploads", 0) + 1


def acted() -> None:
    """An action of the list: some are done at once, some ask first."""
    chosen = st.session_state.library.act
    action, documents = chosen["action"], chosen["ids"]
    if action == "open":
        open_at(documents[0])
    elif action == "retry":
        each(workbench.retry, documents)
    elif action == "retry-failed":
        each(workbench.retry, [record.id for record in to_retry(workbench.documents(collection))])
    else:
        st.session_state.asking = (action, documents)
    st.session_state.redraw = True


def open_at(document: str, page: int | None = None, lit: Sequence[dict[str, Any]] = ()) -> None:
    """Open a document, on a page with places lit where they are given."""
    go_to({"document": document} | ({"page": str(page)} if page else {}))
    st.session_state.lit = (document, page, list(lit))
    if page:
        st.session_state.view = "page"


def place_chosen() -> None:
    chosen = st.session_state.reader.open
    open_at(st.query_params["document"], chosen["page"], chosen["lit"])


def closed() -> None:
    go_to({})


# the left side


def header(info: CollectionInfo | None, records: Sequence[DocumentRecord]) -> None:
    with st.container(horizontal=True, vertical_alignment="center", key="title-row"):
        st.html("<h1>Documents</h1>", width="content")
        if info is not None:
            told = (counted(info.documents, "document"), counted(info.pages, "page"), counted(info.chunks, "chunk"))
            st.text(" · ".join(filter(None, (", ".join(told), info.description))), width="stretch")
            offered = [action for action in MENU if records or action not in ("again", "describe")]
            action = st.menu_button("Collection", offered, key="collection-menu", format_func=MENU.__getitem__)
            if action:
                st.session_state.asking = (action, [record.id for record in records])
        if st.button("New collection", key="new-collection"):
            st.session_state.asking = ("new", ())


def upload() -> None:
    key = f"upload-{st.session_state.get('uploads', 0)}"
    st.file_uploader(
        f"Drop files here: {READABLE}", accept_multiple_files=True, key=key, on_change=uploaded, args=(key,),
        max_upload_size=workbench.settings.max_file_mb,
    )  # fmt: skip
    if "report" in st.session_state:
        summary, sentences = st.session_state.report
        with st.container(horizontal=True, key="report", vertical_alignment="center"):
            st.html(upload_report(summary, sentences), width="stretch")
            st.button("Close", key="report-read", type="tertiary", on_click=st.session_state.pop, args=("report",))


def library(was_working: bool) -> None:
    """The list; drawn again every half second while something is worked on, and once more when that is over."""
    records = workbench.documents(collection)
    components.library(
        key="library",
        data={
            "rows": [row(record) for record in records],
            "opened": st.query_params.get("document"),
            "notices": notices(records),
            "empty": "No documents yet. Drop files above: you can ask about each as soon as its pages are read.",
        },
        on_act_change=acted,
    )
    if st.session_state.pop("redraw", False) or (was_working and not any(map(is_worked_on, records))):
        st.rerun()


# the right side


def version(record: DocumentRecord) -> tuple[str, str, int, str, float]:
    """What changes when a document is read anew."""
    return record.id, record.sha256, record.chunks, record.state, record.seconds


@st.cache_data(max_entries=16, show_spinner=False, hash_funcs={DocumentRecord: version})
def tables_and_figures(record: DocumentRecord) -> tuple[list[Captioned], list[Captioned]]:
    """The tables, and the figures that have a picture."""
    tables, figures = workbench.tables(record.id), workbench.figures(record.id)
    return [one for one in tables if one.element.html], [one for one in figures if one.element.image]


def reader(record: DocumentRecord) -> None:
    tables, figures = tables_and_figures(record)
    labels = {"page": "Page"} if record.pages else {}
    if tables:
        labels["tables"] = f"Tables {len(tables):,}"
    if figures:
        labels["figures"] = f"Figures {len(figures):,}"
    labels["chunks"] = f"Chunks {record.chunks:,}"
    if st.session_state.get("view") not in labels:
        st.session_state.view = next(iter(labels))
    with st.container(key="reader-head"):
        with st.container(horizontal=True, vertical_alignment="center", key="reader-title"):
            st.text(record.name, width="stretch")
            st.button("Close", key="close-reader", on_click=closed)
        st.segmented_control(
            "Show", list(labels), key="view", format_func=labels.__getitem__, required=True,
            label_visibility="collapsed",
        )  # fmt: skip
    if st.session_state.view == "tables":
        table(record, tables)
    else:
        pages(record, figures)


def pages(record: DocumentRecord, figures: list[Captioned]) -> None:
    view, shown = st.session_state.view, []
    if view == "chunks":
        count = -(-record.chunks // CHUNKS_A_PAGE)
        at = st.pagination(count, key=f"chunks-{record.id}") if count > 1 else 1
        shown = workbench.chunks(record.id, limit=at * CHUNKS_A_PAGE)[(at - 1) * CHUNKS_A_PAGE :]
    asked = st.query_params.get("page", "1")
    document, lit_page, lit = st.session_state.get("lit", ("", None, []))
    page = min(max(1, record.pages), max(1, int(asked))) if asked.isdecimal() else 1
    components.reader(
        key="reader",
        data={
            "document": record.id,
            "version": "-".join(map(str, version(record))),
            "name": record.name,
            "pages": max(1, record.pages),
            "page": page,
            "lit": lit if (document, lit_page) == (record.id, page) else [],
            "failed": {str(failure.page): failure.reason for failure in record.failed_pages},
            "ocr": {str(page): read_by(ocr) for page, ocr in record.ocr.items()},
            "view": view,
            "figures": [figure_card(one) for one in figures] if view == "figures" else [],
            "chunks": [chunk_card(chunk) for chunk in shown],
        },
        on_open_change=place_chosen,
    )


def read_by(ocr: PageOcr) -> str:
    """How a page was read that has no text of its own, or none that can be trusted."""
    why = "a scan" if ocr.reason == "scan" else "its font gives wrong characters"
    return f"Read by OCR ({why}), {ocr.confidence:.0%} sure."


def figure_card(figure: Captioned) -> dict[str, Any]:
    element = figure.element
    return {
        "image": element.image,
        "page": element.place.page,
        "places": [element.place.model_dump()],
        "caption": figure.caption,
        "text": element.text,
    }


def chunk_card(chunk: Chunk) -> dict[str, Any]:
    return {
        "order": chunk.order,
        "kind": chunk.kind,
        "page": chunk.page,
        "places": [place.model_dump() for place in chunk.places],
        "section": " › ".join(chunk.section),
        "caption": chunk.caption,
        "text": chunk.text,
    }


def table(record: DocumentRecord, tables: list[Captioned]) -> None:
    def label(at: int) -> str:
        one = tables[at]
        return f"{at + 1} · page {one.element.place.page}" + (f" · {one.caption[:80]}" if one.caption else "")

    at = st.selectbox("Table", range(len(tables)), format_func=label, label_visibility="collapsed")
    element, caption = tables[at].element, tables[at].caption
    view = TableView.from_html(element.html or "", caption)
    with st.container(key="table-head"):
        if view.caption:
            st.text(view.caption)
        told = (
            f"page {element.place.page}",
            f"{len(view.cells):,} rows, {view.n_columns:,} columns",
            measured_in(view),
        )
        st.caption(" · ".join(part.replace("$", r"\$") for part in told if part))
    data = columns(view)
    names = list(data)
    right = {names[at]: st.column_config.TextColumn(alignment="right") for at in numeric(view)}
    st.dataframe(data, hide_index=True, column_config=right)
    name = f"{record.name.rsplit('.', 1)[0]}-table-{at + 1}"
    with st.container(horizontal=True):
        st.button(
            f"Open page {element.place.page}", on_click=open_at,
            args=(record.id, element.place.page, [element.place.model_dump()]),
        )  # fmt: skip
        for kind, made, mime in (
            ("CSV", as_csv(view), "text/csv"),
            ("XLSX", lambda: as_xlsx(view, f"Table {at + 1}"), XLSX),
            ("HTML", as_html(element.html or "", name), "text/html"),
        ):
            st.download_button(
                kind, made, f"{name}.{kind.lower()}", mime, icon=":material/download:", on_click="ignore"
            )


hold_address()
info = next((info for info in workbench.collections() if info.name == collection), None)
records = workbench.documents(collection)
opened = next((record for record in records if record.id == st.query_params.get("document")), None)
with st.container(key="documents"):
    header(info, records)
    left, right = st.columns([6, 5], gap="medium")
    with left, st.container(key="library-side"):
        with st.container():  # what is said of an upload does not move the list: that would draw it from nothing
            upload()
        working = any(map(is_worked_on, records))
        st.fragment(library, run_every=REFRESH_S if working else None)(working)
    with right, st.container(key="reader-side"):
        if opened is not None:
            reader(opened)
        elif any(record.searchable for record in records):
            st.caption("Open a document to see its pages, and what was read on them.")
ask_first(info)
