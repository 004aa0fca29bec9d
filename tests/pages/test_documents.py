"""The Documents page, run without a browser: what it asks of the workbench, and what it says before it deletes."""

from __future__ import annotations

import time
import uuid
from collections.abc import Callable, Iterator

import pytest
from streamlit.testing.v1 import AppTest

from rag_core.techniques.describe import Estimate
from rag_core.workbench import DEMO_FOLDER, Workbench
from tests.pages.visits import pdf, screen, wait_until_read


@pytest.fixture
def box(shown: Workbench) -> Iterator[str]:
    """A collection of the test's own."""
    name = f"Box {uuid.uuid4().hex[:8]}"
    shown.create_collection(name, "For one test.")
    yield name
    until(lambda: not shown._ledger.moves())
    for info in shown.collections():
        if info.name.startswith("Box "):
            shown.delete_collection(info.name)


def look(collection: str, asking: tuple[str, list[str]] | None = None, **address: str) -> AppTest:
    """The page with a collection chosen; `asking` is what an action of the list would ask."""
    app = screen()
    app.selectbox(key="collection").set_value(collection).run()
    if asking:
        app.session_state["asking"] = asking
    for name, value in address.items():
        app.query_params[name] = value
    return app.switch_page("documents.py").run()


def press(app: AppTest, label: str) -> AppTest:
    return next(button for button in app.button if button.label == label).click().run()


def texts(app: AppTest) -> str:
    shown = (*app.text, *app.caption, *app.get("html"))
    return " ".join(getattr(one, "value", None) or one.proto.body for one in shown)


def until(settled: Callable[[], bool]) -> None:
    end = time.monotonic() + 90
    while not settled():
        assert time.monotonic() < end, "it took too long"
        time.sleep(0.05)


def add(workbench: Workbench, collection: str, *names: str) -> list[str]:
    ids = [workbench.add(pdf(f"What {name} says of ships."), name, collection).id for name in names]
    wait_until_read(workbench, collection)
    return ids


def test_a_batch_is_reported_with_a_sentence_for_each_file_that_is_refused(
    shown: Workbench, box: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    app = look(box)
    monkeypatch.setattr(shown._ingest, "_max_file_mb", 0.1)
    files = [(f"{number}.pdf", pdf(f"Ship number {number} came in."), "application/pdf") for number in range(3)]
    app.file_uploader[0].set_value([*files, ("long <b>.pdf", b"%PDF" + bytes(200_000), "application/pdf")]).run()
    assert not app.exception
    assert "3 added, 1 refused." in texts(app)
    assert "long &lt;b&gt;.pdf" in texts(app)
    assert sorted(record.name for record in shown.documents(box)) == ["0.pdf", "1.pdf", "2.pdf"]
    app.file_uploader[0].set_value(files[:1]).run()
    assert "1 here already, unchanged." in texts(app)
    app.button(key="report-read").click().run()
    assert "unchanged" not in texts(app)


def test_deleting_says_what_goes_and_keep_keeps_it(shown: Workbench, box: str) -> None:
    (document,) = add(shown, box, "a.pdf")
    app = look(box, ("delete", [document]))
    assert "1 page, 1 chunk" in texts(app)
    assert "citations" in texts(app)
    app = press(app, "Keep")
    assert shown.document(document) is not None
    press(look(box, ("delete", [document])), "Delete")
    assert shown.documents(box) == []


def test_documents_are_moved_to_another_collection(shown: Workbench, box: str) -> None:
    documents = add(shown, box, "a.pdf", "b.pdf")
    target = f"Box {uuid.uuid4().hex[:8]}"
    shown.create_collection(target)
    app = look(box, ("move", documents))
    next(one for one in app.selectbox if one.label == "To").set_value(target)
    app = press(app.run(), "Move")
    assert not app.exception
    until(lambda: len(shown.documents(target)) == 2)
    assert shown.documents(box) == []


def test_a_move_onto_a_taken_name_says_so_and_the_others_go(shown: Workbench, box: str) -> None:
    documents = add(shown, box, "a.pdf", "b.pdf")
    target = f"Box {uuid.uuid4().hex[:8]}"
    shown.create_collection(target)
    add(shown, target, "a.pdf")
    app = look(box, ("move", documents))
    next(one for one in app.selectbox if one.label == "To").set_value(target)
    app = press(app.run(), "Move")
    assert "1 of 2 documents stay as they were." in texts(app)
    until(lambda: len(shown.documents(target)) == 2)
    assert [record.name for record in shown.documents(box)] == ["a.pdf"]


def test_a_renamed_collection_stays_chosen(shown: Workbench, box: str) -> None:
    app = look(box, ("change", []))
    name = f"Box {uuid.uuid4().hex[:8]}"
    app.text_input[0].set_value(name)
    app.text_input[1].set_value("Ships & more.")
    app = press(app, "Save")
    assert app.selectbox(key="collection").value == name
    assert "Ships & more." in texts(app)


def test_a_taken_name_is_refused_in_the_dialog(shown: Workbench, box: str) -> None:
    app = look(box, ("change", []))
    app.text_input[0].set_value("Harbour")
    app = press(app, "Save")
    assert "There is a collection 'Harbour' already" in texts(app)
    assert box in [info.name for info in shown.collections()]


def test_a_collection_goes_with_its_documents_and_says_how_many(shown: Workbench, box: str) -> None:
    add(shown, box, "a.pdf", "b.pdf")
    app = look(box, ("delete-collection", []))
    assert "2 documents, 2 pages, 2 chunks" in texts(app)
    app = press(app, "Delete")
    assert box not in [info.name for info in shown.collections()]
    assert app.selectbox(key="collection").value != box


def test_reading_again_says_how_long_it_took_and_reads(shown: Workbench, box: str) -> None:
    (document,) = add(shown, box, "a.pdf")
    app = look(box, ("again", [document]))
    assert "about 1 second as last time" in texts(app)
    press(app, "Read again")
    wait_until_read(shown, box)
    assert [record.state for record in shown.documents(box)] == ["ready"]


def test_describing_figures_without_a_model_that_sees_says_what_is_missing(shown: Workbench, box: str) -> None:
    app = look(box, ("describe", []))
    assert "No model that sees is set" in texts(app)
    assert "Start" not in [button.label for button in app.button]


def test_figures_are_described_after_the_estimate_was_seen(
    shown: Workbench, box: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    begun: list[str] = []
    monkeypatch.setattr(
        shown, "estimate_descriptions", lambda name: Estimate(figures=3, input_tokens=4500, output_tokens=480)
    )
    monkeypatch.setattr(shown, "describe", begun.append)
    app = look(box, ("describe", []))
    assert "3 figures, 3 model calls, about 4,500 tokens in and 480 out." in texts(app)
    assert begun == []
    press(app, "Start")
    assert begun == [box]


def test_a_table_is_shown_as_data_with_its_title_and_opens_its_page(shown: Workbench, box: str) -> None:
    name = "dataweave-press-release.pdf"
    document = shown.add(DEMO_FOLDER / name, name, box).id
    wait_until_read(shown, box)
    app = look(box, document=document)
    app.segmented_control(key="view").set_value("tables").run()
    assert not app.exception
    (table,) = shown.tables(document)
    assert app.dataframe[0].value.shape[0] > 1
    assert f"page {table.element.place.page}" in texts(app)
    app = press(app, f"Open page {table.element.place.page}")
    assert app.segmented_control(key="view").value == "page"
    assert app.session_state["lit"] == (document, table.element.place.page, [table.element.place.model_dump()])


def test_a_page_number_that_is_none_opens_the_first(shown: Workbench, box: str) -> None:
    (document,) = add(shown, box, "a.pdf")
    for page in ("0", "99", "x", "-1"):
        assert not look(box, document=document, page=page).exception
