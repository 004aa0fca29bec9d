"""Knowledge: what the documents speak of as a graph, and what they say as a tree of summaries."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import streamlit as st

from pages._look import components
from pages._parts.address import go_to
from pages._parts.asking import tried
from pages._parts.blocks import escaped
from pages._parts.knowing import (
    MOST_SUMMARIES,
    about_entity,
    as_columns,
    community_outline,
    cost,
    entity_rows,
    passage,
    progressed,
    query_examples,
    several,
    tree_outline,
    written,
)
from pages._parts.library import counted
from pages._parts.network import legend_rows, part_of, spec, titled, whole_of
from pages._server.state import get_workbench
from rag_core.errors import QueryRefused, RagError
from rag_core.indexing.graph import GraphStatus
from rag_core.indexing.tree import TreeStatus
from rag_core.stores.graph.facts import Community, GraphStore
from rag_core.techniques.graph.cypher import SCHEMA
from rag_core.types import Chunk
from rag_core.workbench.trees import TreeView

REFRESH_S = 0.5
MOST_PASSAGES = 12
MOST_ROWS = 200
GRAPH_PX = 480
VIEWS = {"graph": "Graph", "communities": "Communities", "tree": "Tree", "query": "Query"}
HOPS = {0: "All", 1: "1 step around", 2: "2 steps around"}
SHOWS = {
    "graph": "The graph shows what your documents speak of and how it is related: people, companies, products, terms. "
    "Each leads to the passages that say it, and questions over several documents find their way along it.",
    "tree": "The tree shows your documents summarised, level over level, from single passages up to the whole "
    "collection. Each summary leads down to the pages it was made of.",
}
ALL = ""

workbench = get_workbench()
collection: str = st.session_state.collection or ""
makers = {"graph": workbench.graphs, "tree": workbench.trees}
chosen: dict[str, str] = st.session_state.setdefault("knowledge", {})
"""What is chosen of this collection: an entity, a community, a summary."""


# what was done


def start(what: str) -> None:
    if tried(lambda: makers[what].start(collection, engine=st.session_state.engine)):
        st.rerun()


def entity_chosen(entity: str) -> None:
    chosen["entity"] = entity


def listed(key: str, what: str) -> None:
    """An entry of a list was pressed."""
    chosen[what] = st.session_state[key].choose


def node_pressed() -> None:
    """A node of the picture was pressed; one that is pressed again stays chosen."""
    for selection in st.session_state.network.selection.selected:
        if selection["data_type"] == "node" and selection["data_indices"]:
            entity_chosen(st.session_state.in_picture[selection["data_indices"][0]])


def community_filtered(key: str) -> None:
    """A community of the legend was pressed: it alone, or all again."""
    one = st.session_state[key].choose
    st.session_state.community = ALL if one == st.session_state.get("community") else one


def went(key: str) -> None:
    """A relation, or an entity of a community, was pressed."""
    entity_chosen(st.session_state[key].go)
    st.session_state.knowledge_view = "graph"


def community_shown() -> None:
    st.session_state.community = chosen["community"]
    st.session_state.knowledge_view = "graph"


def page_chosen(key: str) -> None:
    st.session_state.open_page = st.session_state[key].open


# how it is


def standing(what: str) -> GraphStatus | TreeStatus | None:
    """Say how a graph or tree is, and offer what makes it so; None where there is nothing to look at."""
    maker = makers[what]
    status = maker.status(collection)
    building = status.state == "building" or maker.under_way(collection)
    there = status.entities if isinstance(status, GraphStatus) else status.levels
    with st.container():  # what is said of it does not move what is under it: that would draw it from nothing
        if building:
            with st.container(border=True, key=f"{what}-building"):
                st.fragment(building_now, run_every=REFRESH_S)(what)
        elif not there:
            offer(what, status)
        elif said := outdated(what, status):
            with st.container(horizontal=True, vertical_alignment="center", key="stale"):
                st.text(said, width="stretch")
                if st.button("Update", key=f"update-{what}"):
                    start(what)
    return status if there else None


def outdated(what: str, status: GraphStatus | TreeStatus) -> str:
    """Why it is to be updated, and what that takes; empty where it is as it should be."""
    todo = makers[what].estimate(collection, st.session_state.engine).documents
    changed = f"{counted(status.changed, 'document')} changed since it was built." if status.changed else ""
    other = "It was made by another engine than the one chosen now." if todo and not changed else ""
    grouped = not isinstance(status, GraphStatus) or status.grouped
    lacking = "" if grouped else "The communities and their reports are not all of what it says now."
    said = " ".join(filter(None, (makers[what].failed(collection), changed, other, lacking)))
    return " ".join(filter(None, (said, estimated(what) if todo else ""))) if said else ""


def building_now(what: str) -> None:
    """How far the work is; drawn again every half second, and the page once more when it is over."""
    maker = makers[what]
    try:
        status = maker.status(collection)
        over = status.state != "building" and not maker.under_way(collection)
    except RagError:  # another tab renamed or deleted it meanwhile: the whole page knows what to show then
        st.rerun()
    if over:
        st.rerun()
    share, words = progressed(status.progress)
    with st.container(horizontal=True, vertical_alignment="center"):
        st.text(words, width="stretch")
        st.button("Stop", key=f"stop-{what}", on_click=maker.stop, args=(collection,))
    st.progress(share)


def offer(what: str, status: GraphStatus | TreeStatus) -> None:
    """One sentence on what there will be, what it takes, one button."""
    failed = makers[what].failed(collection)
    with st.container(border=True, key=f"{what}-none"):
        st.text(SHOWS[what])
        if not status.documents:
            waiting = status.waiting > 0
            st.caption("The documents are still being read." if waiting else "Add documents first.")
            st.page_link("documents.py", label="Go to Documents")
            return
        if failed:
            st.text(failed)
        st.caption(estimated(what))
        if st.button(f"Build the {what}", key=f"build-{what}", type="primary"):
            start(what)


def estimated(what: str) -> str:
    try:
        return cost(what, makers[what].estimate(collection, st.session_state.engine))
    except RagError as error:
        return str(error)


# the graph


def graph_view(store: GraphStore) -> None:
    communities = whole_of(store).communities
    left, right = st.columns([8, 5], gap="medium")
    with left:
        words = tools(store, communities)
        picture(store, words)
    with right, st.container(key="knowledge-side"):
        entity = next(iter(store.entities([chosen["entity"]])), None) if chosen.get("entity") else None
        if entity is None:
            side("entity", {"nothing": "Choose an entity, in the picture or in the list, to see what is said of it."})
            return
        around = store.neighbours([entity.id], limit=80)
        found = workbench.graphs.passages(collection, entity.id, limit=MOST_PASSAGES + 1)
        side("entity", about_entity(entity, around, communities), found)


def tools(store: GraphStore, communities: Sequence[Community]) -> str:
    """The search and the filters; gives what is searched for."""
    kinds = [kind for (kind,) in store.cypher(
        "MATCH (e:Entity) WHERE e.kind <> '' RETURN DISTINCT e.kind AS kind ORDER BY kind", limit=60
    ).rows]  # fmt: skip
    named = {one.id: titled(one) for one in communities if one.title}
    for key, known in (("community", named), ("kind", kinds)):
        if st.session_state.get(key, ALL) not in (ALL, *known):
            st.session_state[key] = ALL
    with st.container(horizontal=True, vertical_alignment="bottom", key="graph-tools"):
        words = st.text_input(
            "Find an entity", key="entity-words", type="search", live=True, placeholder="Find an entity",
            label_visibility="collapsed", persist_state="session", width=220,
        )  # fmt: skip
        st.selectbox(
            "Community", [ALL, *named], key="community", format_func=lambda id_: named.get(id_, "All communities"),
            label_visibility="collapsed", width=240, persist_state="session",
        )  # fmt: skip
        if kinds:
            st.selectbox(
                "Kind", [ALL, *kinds], key="kind", format_func=lambda kind: kind or "All kinds",
                label_visibility="collapsed", width=150, persist_state="session",
            )  # fmt: skip
        if chosen.get("entity"):
            st.segmented_control(
                "Around it", list(HOPS), key="hops", format_func=HOPS.__getitem__, default=0, required=True,
                label_visibility="collapsed", persist_state="session",
            )  # fmt: skip
    return words


def picture(store: GraphStore, words: str) -> None:
    dark = st.context.theme.type == "dark"
    entity = chosen.get("entity", "")
    community, kind = st.session_state.get("community", ALL), st.session_state.get("kind", ALL)
    hops = (st.session_state.get("hops") or 0) if entity else 0
    part = part_of(store, community=community, kind=kind, entity=entity, hops=hops)
    st.session_state.in_picture = [one.id for one in part.entities]
    rows = legend_rows(part, dark)
    alt = f"The graph: {several(len(part.entities), 'entities', 'entity')}"
    st.echarts_chart(spec(part, entity, dark), height=GRAPH_PX, key="network", on_select=node_pressed, alt=alt)
    components.outline(
        key="legend",
        data={
            "label": "Communities in the picture", "look": "legend", "empty": "",
            "roots": [row["id"] for row in rows],
            "nodes": {row["id"]: {**row, "note": ""} for row in rows},
            "chosen": community or None,
        },
        on_choose_change=lambda: community_filtered("legend"),
    )  # fmt: skip
    left_out = f", the most central of {len(part.entities) + part.left_out:,}" if part.left_out else ""
    st.caption(
        f"{several(len(part.entities), 'entities', 'entity')}{left_out}, {counted(len(part.links), 'relation')}. "
        "Drag to move, scroll to zoom."
    )
    found = store.search(words, limit=50) if words else list(part.entities)
    colours = {at: row["colour"] for at, row in enumerate(rows)}
    components.outline(
        key="entities",
        data={
            "label": "Entities", "look": "outline card", "empty": "No entity is called so.",
            "roots": [one.id for one in found],
            "nodes": entity_rows(found, part, colours, rows[-1]["colour"] if rows else ""),
            "chosen": entity,
        },
        on_choose_change=lambda: listed("entities", "entity"),
    )  # fmt: skip


def communities_view(store: GraphStore) -> None:
    communities = whole_of(store).communities
    left, right = st.columns([6, 5], gap="medium")
    with left:
        outlined("communities", "community", community_outline(communities), "No group of entities is worth a report.")
    with right, st.container(key="knowledge-side"):
        one = next((one for one in communities if one.id == chosen.get("community")), None)
        if one is None:
            side("community-side", {"nothing": "Choose a community to read the report on it."})
            return
        inside = store.entities(one.entities[:60])
        data = {
            "title": titled(one),
            "note": f"level {one.level} · {len(one.entities):,} entities{written(one.made_by)}",
            "text": one.report,
            "actions": [{"id": "show", "label": "Show in the graph"}],
            "linked": "Its entities, the most connected first",
            "links": [{"id": each.id, "title": each.name, "says": each.kind, "evidence": ""} for each in inside],
        }
        side("community-side", data)


def tree_view(view: TreeView) -> None:
    left, right = st.columns([7, 5], gap="medium")
    total = sum(map(len, view.levels))
    with left:
        levels = len(view.levels)
        parts = [f"{len(level):,} on level {levels - at}" for at, level in enumerate(view.levels)]
        cut = f" The topmost {MOST_SUMMARIES:,} are shown." if total > MOST_SUMMARIES else ""
        st.caption(f"{total:,} summaries: {', '.join(parts)}.{cut}")
        outlined("summaries", "summary", tree_outline(view), "")
    with right, st.container(key="knowledge-side"):
        node = next((node for level in view.levels for node in level if node.id == chosen.get("summary")), None)
        if node is None:
            side("summary-side", {"nothing": "Choose a summary to read it, with the passages that it was made of."})
            return
        leaves = workbench.trees.leaves(collection, node.id)
        data = {
            "title": view.documents.get(node.document, "Over several documents"),
            "note": f"level {node.level} · of {counted(len(leaves), 'passage')}{written(node.made_by)}",
            "text": node.text,
        }
        side("summary-side", data, leaves)


def outlined(key: str, what: str, entries: dict[str, Any], empty: str) -> None:
    components.outline(
        key=key,
        data={
            "label": key.capitalize(),
            "look": "outline card tall",
            "empty": empty,
            "chosen": chosen.get(what),
            **entries,
        },
        on_choose_change=lambda: listed(key, what),
    )


def side(key: str, data: dict[str, Any], found: Sequence[Chunk] = ()) -> None:
    """The right side: what was chosen, and its passages."""
    components.passages(
        key=key,
        data={"actions": [], "links": [], "linked": "", **data, "more": len(found) > MOST_PASSAGES,
              "passages": [passage(chunk) for chunk in found[:MOST_PASSAGES]]},
        on_act_change=community_shown, on_go_change=lambda: went(key), on_open_change=lambda: page_chosen(key),
    )  # fmt: skip


# the query


def query_view(store: GraphStore) -> None:
    examples = query_examples(store)
    with st.container(key="examples", horizontal=True):
        for at, (title, query) in enumerate(examples):
            st.button(escaped(title), key=f"example-{at}", on_click=example_chosen, args=(query,))
    with st.form("cypher", border=False):
        query = st.text_area("Cypher, to read only", key="cypher-query", height=140, persist_state="session",
                             placeholder="MATCH (e:Entity) RETURN e.name LIMIT 20")  # fmt: skip
        asked = st.form_submit_button("Run", type="primary")
    if asked:
        st.session_state.cypher_asked = query
    if query := st.session_state.get("cypher_asked", "").strip():
        answered(store, query)
    with st.expander("What can be asked for"):
        st.code(SCHEMA, language=None)


def example_chosen(query: str) -> None:
    st.session_state["cypher-query"] = st.session_state.cypher_asked = query


def answered(store: GraphStore, query: str) -> None:
    try:
        table = store.cypher(query, limit=MOST_ROWS)
    except QueryRefused as error:
        with st.container(border=True, key="refused"):
            st.text(str(error))
        return
    if not table.rows:
        st.text("Nothing in the graph is so.")
        return
    rows = counted(len(table.rows), "row")
    st.caption(f"The first {rows}; there are more." if table.cut else f"{rows}; {MOST_ROWS} are shown at most.")
    st.dataframe(as_columns(table), hide_index=True)


if there := st.session_state.pop("open_page", None):
    lit = [place for place in there["places"] if place["page"] == there["page"]]
    address = {"document": there["document"]} | ({"page": str(there["page"])} if there["page"] else {})
    st.session_state.lit = (there["document"], there["page"], lit)
    if there["page"]:
        st.session_state.view = "page"
    go_to(address, "documents")
    st.switch_page("documents.py", query_params=address)
if chosen.get("collection") != collection:
    chosen.clear()
    chosen["collection"] = collection
if asked := st.query_params.get("entity"):
    chosen["entity"] = asked
    del st.query_params["entity"]
with st.container(key="knowledge"):
    with st.container(horizontal=True, vertical_alignment="center", key="title-row"):
        st.html("<h1>Knowledge</h1>", width="content")
        view = st.segmented_control(
            "Show", list(VIEWS), key="knowledge_view", default="graph", format_func=VIEWS.__getitem__, required=True,
            label_visibility="collapsed", persist_state="session",
        )  # fmt: skip
        told = st.empty()
    try:
        if view == "tree":
            if standing("tree"):
                tree_view(workbench.trees.tree(collection))
        elif standing("graph") and (graph := workbench.graphs.graph(collection)):
            size = graph.size()
            told.text(f"{size.entities:,} entities, {size.relations:,} relations, {size.communities:,} communities")
            {"graph": graph_view, "communities": communities_view, "query": query_view}[view](graph)
    except RagError as problem:
        st.text(str(problem))
