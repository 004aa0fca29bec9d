"""The Knowledge page, run without a browser: what it says before a graph is there, while it is made, and of queries."""

from __future__ import annotations

import threading
import time
import uuid
from collections.abc import Callable, Iterator
from itertools import count

import pytest
from streamlit.testing.v1 import AppTest

from pages._parts.knowing import progressed
from rag_core.errors import UnknownCollection
from rag_core.indexing.graph import GraphProgress, Graphs, GraphStatus
from rag_core.workbench import Workbench
from tests.pages.visits import pdf, screen, wait_until_read

STORY = (
    "Nordwind acquired Seaglass Analytics in May. Seaglass Analytics makes TideBoard. TideBoard measures the harbour.",
    "Ada Marsh leads Seaglass Analytics. Ada Marsh met Nordwind in Bergen. Nordwind has an office in Bergen.",
)


@pytest.fixture
def box(shown: Workbench) -> Iterator[str]:
    """A collection of the test's own, with a document."""
    name = f"Box {uuid.uuid4().hex[:8]}"
    shown.create_collection(name, "For one test.")
    shown.add(pdf(*STORY), "story.pdf", name)
    wait_until_read(shown, name)
    yield name
    shown.delete_collection(name)


def look(collection: str) -> AppTest:
    app = screen()
    app.selectbox(key="collection").set_value(collection).run()
    return app.switch_page("knowledge.py").run()


def show(app: AppTest, view: str) -> AppTest:
    return app.segmented_control(key="knowledge_view").set_value(view).run()


def texts(app: AppTest) -> str:
    assert not app.exception
    return " ".join(str(getattr(one, "value", "")) for one in (*app.text, *app.caption))


def until(settled: Callable[[], bool]) -> None:
    end = time.monotonic() + 90
    while not settled():
        assert time.monotonic() < end, "it took too long"
        time.sleep(0.05)


def test_an_empty_collection_leads_to_documents(shown: Workbench) -> None:
    name = f"Box {uuid.uuid4().hex[:8]}"
    shown.create_collection(name)
    try:
        app = look(name)
        assert "Add documents first." in texts(app)
        assert not [button for button in app.button if button.label.startswith("Build")]
    finally:
        shown.delete_collection(name)


def test_what_building_takes_is_said_before_and_one_press_builds_it(shown: Workbench, box: str) -> None:
    app = look(box)
    assert "1 document with" in texts(app)
    assert "without a model" in texts(app)
    app.button(key="build-graph").click().run()
    until(lambda: shown.graphs.status(box).state == "ready")
    app.run()
    assert "relations." in texts(app)
    shown.add(pdf("Bergen has a harbour."), "more.pdf", box)
    wait_until_read(shown, box)
    assert "1 document changed since it was built." in texts(app.run())


def test_a_build_under_way_is_told_and_can_be_stopped(
    shown: Workbench, box: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    going, original = threading.Event(), Graphs.build

    def slow(self: Graphs, *args, **kwargs):
        assert going.wait(60)
        return original(self, *args, **kwargs)

    monkeypatch.setattr(Graphs, "build", slow)
    app = look(box)
    app.button(key="build-graph").click().run()
    assert "Looking at what has changed" in texts(app)
    app.button(key="stop-graph").click().run()
    going.set()
    until(lambda: not shown.graphs.under_way(box))
    assert "It was stopped" in texts(app.run())
    assert app.button(key="build-graph")


def test_a_collection_that_goes_while_its_build_is_looked_at_breaks_nothing(
    shown: Workbench, box: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    going, build, status = threading.Event(), Graphs.build, Graphs.status
    monkeypatch.setattr(Graphs, "build", lambda *args, **kwargs: going.wait(60) and build(*args, **kwargs))
    app = look(box)
    app.button(key="build-graph").click().run()
    looks = count(1)

    def gone_at_second(self: Graphs, collection: str) -> GraphStatus:
        if next(looks) == 2:
            raise UnknownCollection(collection, [])
        return status(self, collection)

    monkeypatch.setattr(Graphs, "status", gone_at_second)
    app.run()
    going.set()
    assert "Looking at what has changed" in texts(app)
    assert next(looks) > 3
    until(lambda: not shown.graphs.under_way(box))


def test_a_build_says_how_many_communities_it_has_though_nobody_knows_how_many_there_will_be() -> None:
    assert progressed(GraphProgress(stage="communities", done=1_200, total=0)) == (
        1.0,
        "Communities and their reports: 1,200 so far",
    )
    assert progressed(GraphProgress(document="a.pdf", done=1, total=4)) == (0.25, "Reading a.pdf: 1 of 4 chunks")


def test_queries_give_rows_and_what_writes_is_refused_in_a_sentence(shown: Workbench, box: str) -> None:
    shown.graphs.build_graph(box, engine="keyless")
    app = show(look(box), "query")
    app.button(key="example-0").click().run()
    assert "Seaglass Analytics" in app.dataframe[0].value.to_string()
    app.text_area(key="cypher-query").set_value("MATCH (e:Entity) DELETE e")
    next(button for button in app.button if button.label == "Run").click().run()
    assert not app.dataframe
    assert "DELETE" in texts(app).upper()
    assert shown.graphs.status(box).entities


def test_a_tree_is_built_and_shown_by_level(shown: Workbench, box: str) -> None:
    app = show(look(box), "tree")
    app.button(key="build-tree").click().run()
    until(lambda: shown.trees.status(box).state == "ready" and not shown.trees.under_way(box))
    assert "on level 1" in texts(app.run())
    node = shown.trees.tree(box).levels[0][0]
    app.session_state["knowledge"]["summary"] = node.id
    assert not app.run().exception
