"""The frame of every screen: navigation, the collection, the engine."""

from __future__ import annotations

from html import escape

import streamlit as st

from pages._look.files import styles
from pages._parts.address import come_to
from pages._parts.library import counted
from pages._server.state import NotOpen, get_workbench, open_workbench
from rag_core.workbench import Workbench

SIDEBAR_PX = 216
PAGES = [
    st.Page("ask.py", title="Ask", default=True),
    st.Page("documents.py", title="Documents"),
    st.Page("compare.py", title="Compare"),
    st.Page("knowledge.py", title="Knowledge"),
    st.Page("runs.py", title="Runs"),
    st.Page("settings.py", title="Settings"),
]


def sidebar(here: st.Page, workbench: Workbench | None) -> None:
    with st.sidebar:
        st.html('<div class="logo"><i></i>Ragscope</div>')
        for page in PAGES:
            with st.container(key="here" if page.url_path == here.url_path else f"to-{page.title}"):
                back = way_back() if page is PAGES[0] and page.url_path != here.url_path else None
                st.page_link(page, label=page.title, width="stretch", query_params=back)
        if workbench is not None:
            with st.container(key="foot"):
                choose_collection(workbench)
                choose_engine(workbench)


def way_back() -> dict[str, str] | None:
    """From another page Ask opens with the chat that was left there, unless another collection was chosen since."""
    collection, address = st.session_state.get("left", (None, None))
    chosen = st.session_state.get("next_collection") or st.session_state.get("collection")
    return address if collection == chosen else None


def choose_collection(workbench: Workbench) -> None:
    collections = {info.name: info for info in workbench.collections()}
    if chosen := st.session_state.pop("next_collection", None) or collection_of_chat(workbench):
        st.session_state.collection = chosen
    if st.session_state.get("collection") not in collections:
        st.session_state.collection = workbench.default_collection() if collections else None

    info = collections.get(st.session_state.collection or "")
    held = f", {counted(info.documents, 'document')}" if info else ""
    st.selectbox(f"Collection{held}", list(collections), key="collection", filter_mode=None)


def collection_of_chat(workbench: Workbench) -> str | None:
    """After a reload, the collection of the chat in the address: the next question goes where the last one went."""
    if "collection" in st.session_state or "chat" not in st.query_params:
        return None
    runs = workbench.chat(st.query_params["chat"])
    return runs[-1].collection if runs else None


def choose_engine(workbench: Workbench) -> None:
    engines = {choice.name: choice for choice in workbench.engines()}
    if st.session_state.get("engine") not in engines:
        st.session_state.engine = next(iter(engines), None)
    st.selectbox("Engine", list(engines), key="engine", format_func=lambda name: engines[name].label, filter_mode=None)
    st.html(f'<div class="detail">{escape(engines[st.session_state.engine or ""].detail)}</div>')


# An emoji: Streamlit fetches a Material page icon from another host.
st.set_page_config(page_title="Ragscope", page_icon="🔎", layout="wide", initial_sidebar_state=SIDEBAR_PX)
page = st.navigation(PAGES, position="hidden")
come_to(page.url_path)
st.html(f"<style>{styles('tokens.css', 'shell.css')}</style>")
try:
    opened = get_workbench()
except NotOpen as problem:
    sidebar(page, None)
    with st.container(border=True, key="problem"):
        st.subheader("Ragscope is not ready", anchor=False)
        st.text(str(problem))
        st.button("Try again", on_click=open_workbench)
    st.stop()
sidebar(page, opened)
page.run()
