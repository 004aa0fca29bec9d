"""Trees over a real index: built, brought up to date, cut short, and gone with what they were made of."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest
from filelock import FileLock

from rag_core.errors import EngineError, RagError, Stopped, UnknownCollection
from rag_core.indexing.tree import TreeProgress
from rag_core.pipeline.plan import PRESETS
from rag_core.settings import ROOT, Settings
from rag_core.techniques.raptor.nodes import Node, Tree
from rag_core.techniques.raptor.retrieving import NO_TREE
from rag_core.workbench import Workbench
from tests.model_server import Turn, model_server, says

THEMES = {
    "harbour": "The harbour of Kolin takes {} ships of coal and grain in a year.",
    "forest": "Red foxes in the old forest hunt {} mice at night in winter.",
    "tax": "The tax on diesel was raised by {} cents a litre at the pump.",
}
PLAN = PRESETS["simple"].off("validate").on("raptor")


def passages(folder: Path, name: str, n: int = 9, first: int = 1) -> Path:
    """A file of so many passages on each of three themes."""
    path = folder / f"{name}.jsonl"
    lines = [
        {"id": f"{theme}{at}", "title": name, "text": text.format(at)}
        for theme, text in THEMES.items()
        for at in range(first, first + n)
    ]
    path.write_text("\n".join(map(json.dumps, lines)), encoding="utf-8")
    return path


def nodes(workbench: Workbench, collection: str) -> list[Node]:
    return [node for level in workbench.trees.tree(collection).levels for node in level]


def whole(workbench: Workbench, collection: str) -> Tree:
    return workbench.trees._trees.tree([collection])


def leaves(workbench: Workbench, collection: str) -> set[str]:
    return {leaf for node in nodes(workbench, collection) for leaf in whole(workbench, collection).leaves(node.id)}


def chunks(workbench: Workbench, collection: str) -> set[str]:
    return {chunk.id for record in workbench.documents(collection) for chunk in workbench.chunks(record.id, limit=1000)}


@pytest.fixture
def collection(workbench: Workbench, tmp_path: Path) -> str:
    """Two documents, not summarised yet."""
    name = tmp_path.name
    workbench.ingest(passages(tmp_path, "one"), passages(tmp_path, "two", first=50), collection=name)
    return name


def test_a_tree_stands_over_every_chunk_of_every_document(workbench: Workbench, collection: str) -> None:
    before = workbench.trees.status(collection)
    assert (before.state, before.documents, before.changed, before.levels) == ("none", 2, 2, ())
    told: list[TreeProgress] = []
    built = workbench.trees.build_tree(collection, engine="keyless", told=told.append)
    assert (built.state, built.changed) == ("ready", 0)
    assert leaves(workbench, collection) == chunks(workbench, collection)
    top = nodes(workbench, collection)[0]
    assert set(whole(workbench, collection).leaves(top.id)) == chunks(workbench, collection)
    assert (told[0].document, told[0].done, told[-1].done, told[-1].total) == ("one.jsonl", 0, 2, 2)
    assert told[-1].summaries == built.summaries
    found = workbench.trees.leaves(collection, top.id)
    assert {chunk.name for chunk in found} == {"one.jsonl", "two.jsonl"}


def test_bringing_up_to_date_gives_what_building_anew_gives_and_makes_little_again(
    workbench: Workbench, collection: str, tmp_path: Path
) -> None:
    workbench.trees.build_tree(collection, engine="keyless")
    kept = {node.id for node in nodes(workbench, collection) if node.document}
    workbench.ingest(passages(tmp_path, "three", first=90), collection=collection)
    assert (workbench.trees.status(collection).state, workbench.trees.status(collection).changed) == ("stale", 1)
    assert workbench.trees.estimate(collection, "keyless").documents == 1
    told: list[TreeProgress] = []
    workbench.trees.build_tree(collection, engine="keyless", told=told.append)
    updated = nodes(workbench, collection)
    assert kept < {node.id for node in updated}
    assert told[-1].summaries == len({node.id for node in updated} - kept)
    assert leaves(workbench, collection) == chunks(workbench, collection)
    workbench.trees.build_tree(collection, engine="keyless", anew=True)
    assert nodes(workbench, collection) == updated


def test_what_is_as_it_was_is_not_made_again(workbench: Workbench, collection: str) -> None:
    workbench.trees.build_tree(collection, engine="keyless")
    told: list[TreeProgress] = []
    workbench.trees.build_tree(collection, engine="keyless", told=told.append)
    assert [(one.summaries, one.total) for one in told] == [(0, 0)]


def test_with_a_document_go_its_summaries_and_all_over_it_at_once(workbench: Workbench, collection: str) -> None:
    workbench.trees.build_tree(collection, engine="keyless")
    gone = next(record for record in workbench.documents(collection) if record.name == "one.jsonl")
    workbench.delete(gone.id)
    left = nodes(workbench, collection)
    assert left
    assert {node.document for node in left} == {
        record.id for record in workbench.documents(collection) if record.id != gone.id
    }
    stored = workbench.trees._trees._trees
    assert not stored.tree(gone.id).nodes
    assert not stored.tree(workbench._ledger.tenant(collection)).nodes
    assert workbench.trees.status(collection).state == "stale"
    workbench.trees.build_tree(collection, engine="keyless")
    assert workbench.trees.status(collection).state == "ready"


def test_a_changed_document_is_not_searched_by_its_old_summaries(
    workbench: Workbench, collection: str, tmp_path: Path
) -> None:
    workbench.trees.build_tree(collection, engine="keyless")
    workbench.ingest(passages(tmp_path, "two", first=70), collection=collection)
    assert not any("ships" in node.text and " 5" in node.text for node in nodes(workbench, collection))
    workbench.trees.build_tree(collection, engine="keyless")
    assert leaves(workbench, collection) == chunks(workbench, collection)


def test_a_moved_document_takes_its_tree_along(workbench: Workbench, collection: str) -> None:
    workbench.trees.build_tree(collection, engine="keyless")
    moved = workbench.documents(collection)[0]
    own = {node.id for node in nodes(workbench, collection) if node.document == moved.id}
    other = f"{collection} other"
    workbench.create_collection(other)
    workbench.move(moved.id, other)
    workbench._ingest.work(moved.id)
    assert {node.id for node in nodes(workbench, other)} == own
    assert not own & {node.id for node in nodes(workbench, collection)}
    told: list[TreeProgress] = []
    assert workbench.trees.build_tree(other, engine="keyless", told=told.append).state == "ready"
    assert told[-1].summaries == 0


def test_a_deleted_collection_leaves_no_summary(workbench: Workbench, collection: str) -> None:
    workbench.trees.build_tree(collection, engine="keyless")
    scopes = {record.id for record in workbench.documents(collection)} | {workbench._ledger.tenant(collection)}
    tenant = workbench._ledger.tenant(collection)
    assert whole(workbench, collection).nodes
    workbench.delete_collection(collection)
    assert not scopes & workbench.trees._trees._trees.grown().keys()
    assert tenant not in workbench.trees._trees._read
    assert not [*(workbench.settings.data_dir / "trees").glob(f"{tenant}*")]


def test_a_single_chunk_stands_for_its_document_among_the_others(
    workbench: Workbench, collection: str, tmp_path: Path
) -> None:
    path = tmp_path / "short.jsonl"
    path.write_text('{"id": "x", "text": "The mill of Kolin grinds grain from the harbour."}', encoding="utf-8")
    workbench.ingest(path, collection=collection)
    workbench.trees.build_tree(collection, engine="keyless")
    assert leaves(workbench, collection) == chunks(workbench, collection)
    assert all(node.level for node in nodes(workbench, collection))


def test_a_build_waits_for_who_only_looks_at_the_lock(workbench: Workbench, collection: str) -> None:
    lock = FileLock(
        workbench.settings.data_dir / "trees" / f"{workbench._ledger.tenant(collection)}.lock", thread_local=False
    )
    Path(lock.lock_file).parent.mkdir(exist_ok=True)
    lock.acquire()
    threading.Timer(0.05, lock.release).start()
    assert workbench.trees.build_tree(collection, engine="keyless").state == "ready"


def test_a_document_that_is_deleted_during_the_build_spoils_it_for_no_other(
    workbench: Workbench, collection: str, tmp_path: Path
) -> None:
    workbench.ingest(passages(tmp_path, "leaving", first=40), collection=collection)

    def told(progress: TreeProgress) -> None:
        if progress.document == "leaving.jsonl" and workbench._ledger.named(collection, "leaving.jsonl"):
            workbench.remove("leaving.jsonl", collection)

    workbench.trees.build_tree(collection, engine="keyless", told=told)
    assert leaves(workbench, collection) == chunks(workbench, collection)


def test_two_do_not_build_the_same_tree_at_once(workbench: Workbench, collection: str) -> None:
    lock = workbench.settings.data_dir / "trees" / f"{workbench._ledger.tenant(collection)}.lock"
    lock.parent.mkdir(exist_ok=True)
    with FileLock(lock):
        assert workbench.trees.status(collection).state == "building"
        with pytest.raises(RagError, match="being built already"):
            workbench.trees.build_tree(collection, engine="keyless")
    assert workbench.trees.status(collection).state == "none"


def test_what_was_made_before_a_stop_is_not_made_again(workbench: Workbench, collection: str) -> None:
    built = workbench.trees._trees
    made = 0

    def stopped() -> bool:
        nonlocal made
        made += 1
        return made > 4

    engine = workbench._engines.get("keyless")
    with pytest.raises(Stopped):
        built.build(collection, engine, stopped=stopped)
    told: list[TreeProgress] = []
    status = built.build(collection, engine, told=told.append)
    assert told[-1].summaries == status.summaries - 4


def test_it_is_built_in_the_background_and_failures_are_told(workbench: Workbench, collection: str) -> None:
    workbench.trees.start(collection, engine="keyless")
    workbench.trees._builds._under_way[workbench._ledger.tenant(collection)].join(60)
    assert (workbench.trees.status(collection).state, workbench.trees.failed(collection)) == ("ready", None)
    empty = f"{collection} empty"
    workbench.create_collection(empty)
    workbench.trees.start(empty, engine="keyless")
    workbench.trees._builds._under_way[workbench._ledger.tenant(empty)].join(60)
    assert "add one or wait" in (workbench.trees.failed(empty) or "")
    with pytest.raises(UnknownCollection):
        workbench.trees.start("Nowhere")


def test_a_question_takes_chunks_from_under_summaries_and_cites_chunks(workbench: Workbench, collection: str) -> None:
    def ask() -> tuple[dict, tuple[bool, str], set[str]]:
        run = workbench.ask("What of the ships in the harbour?", plan=PLAN, collection=collection, engine="keyless")
        (span,) = (span for span in run.spans if span.name == "raptor")
        cited = {id_ for sentence in run.sentences for id_ in sentence.citations}
        return span.attributes, (run.techniques["raptor"].ran, run.techniques["raptor"].why), cited

    attributes, use, _ = ask()
    assert use == (False, NO_TREE)
    assert attributes["why"] == NO_TREE
    workbench.trees.build_tree(collection, engine="keyless")
    attributes, use, cited = ask()
    assert use[0]
    assert {"harbour"} & set(attributes["nodes"][0]["text"].split())
    assert set(attributes["chunks"]) <= chunks(workbench, collection)
    assert cited
    assert cited <= chunks(workbench, collection)
    assert {
        hit.chunk.id for hit in workbench._store.bm25(workbench._ledger.tenant(collection), "ships", limit=100)
    } <= (chunks(workbench, collection))


def test_a_tree_is_written_as_json_where_that_is_wanted(workbench: Workbench, collection: str, tmp_path: Path) -> None:
    workbench.trees.build_tree(collection, engine="keyless")
    workbench.trees._trees.write_json(collection, tmp_path / "out" / "tree.json")
    said = json.loads((tmp_path / "out" / "tree.json").read_text(encoding="utf-8"))
    assert {node["id"] for node in said["nodes"]} == {node.id for node in nodes(workbench, collection)}
    assert sorted(said["documents"].values()) == ["one.jsonl", "two.jsonl"]


def a_summary(prompt: str) -> Turn:
    return says(f"Kolin, {len(prompt)} signs, says {prompt.split('<passage>')[1][:40]}.", pause_s=0.05)


@pytest.mark.timeout(240)
def test_killed_in_the_middle_a_build_goes_on_where_it_was(tmp_path: Path) -> None:
    data = tmp_path / "data"
    source = [passages(tmp_path, "one", n=10), passages(tmp_path, "two", n=10, first=50)]
    with model_server() as server:
        server.then = a_summary
        env = {"RAGSCOPE_DATA_DIR": str(data), "OPENAI_BASE_URL": server.base_url, "OPENAI_MODEL": "scripted"}
        with Workbench.open(Settings.from_env(env)) as workbench:
            workbench.ingest(*source, collection="Kolin")
            program = [sys.executable, "-m", "rag_core", "tree", "build", "--collection", "Kolin"]
            building = subprocess.Popen(program, cwd=ROOT, env=os.environ | env, stderr=subprocess.DEVNULL)
            until = time.monotonic() + 120
            while len(server.asked) < 5 and time.monotonic() < until and building.poll() is None:
                time.sleep(0.01)
            os.kill(building.pid, signal.SIGKILL)
            building.wait()
            before = {str(asked["messages"]) for asked in server.asked}
            assert len(before) >= 5
            server.asked.clear()
            status = workbench.trees.build_tree("Kolin", engine="model")
            again = [str(asked["messages"]) for asked in server.asked if str(asked["messages"]) in before]
            # Only what was on its way is asked for twice: four at once, and those whose end was not yet noted.
            assert len(again) <= 4
            assert len(server.asked) == status.summaries - (len(before) - len(again))
            assert status.state == "ready"
            assert leaves(workbench, "Kolin") == chunks(workbench, "Kolin")
            assert {node.made_by for node in nodes(workbench, "Kolin")} == {"scripted"}
            workbench.trees.build_tree("Kolin", engine="keyless")
            assert {node.made_by for node in nodes(workbench, "Kolin")} == {"scripted"}, "what was paid for stays"


@pytest.mark.timeout(120)
def test_a_model_that_fails_again_and_again_ends_the_build_and_what_it_wrote_stays(tmp_path: Path) -> None:
    with model_server() as server:
        server.script, server.then = [a_summary] * 3, Turn(status=401)
        env = {"RAGSCOPE_DATA_DIR": str(tmp_path), "OPENAI_BASE_URL": server.base_url, "OPENAI_MODEL": "scripted"}
        with Workbench.open(Settings.from_env(env)) as workbench:
            workbench.ingest(passages(tmp_path, "one", n=30), collection="Kolin")
            expected = workbench.trees.estimate("Kolin")
            assert expected.model_calls == expected.summaries > 0
            assert expected.input_tokens > expected.output_tokens > 0
            with pytest.raises(EngineError, match="build again"):
                workbench.trees.build_tree("Kolin")
            server.then = a_summary
            told: list[TreeProgress] = []
            workbench.trees.build_tree("Kolin", told=told.append)
            assert told[-1].kept >= 3
            assert {node.made_by for node in nodes(workbench, "Kolin")} == {"scripted"}
