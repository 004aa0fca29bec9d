"""Graphs of collections over a real Weaviate: what changed is read again, nothing else, and a stop loses nothing."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import uuid
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from rag_core.errors import EngineError, GraphError, RagError, Stopped, UnknownCollection
from rag_core.indexing.graph import GraphProgress, Graphs, GraphStatus, Making
from rag_core.llm.engine import Call, Engine, KeylessEngine
from rag_core.settings import ROOT, Settings
from rag_core.stores.graph import graphs_left
from rag_core.stores.graph.facts import ChunkFacts, Community, Entity, GraphStore, Mention, Relation, entity_id
from rag_core.techniques.graph.communities import Reporter
from rag_core.types import Chunk
from rag_core.workbench import Workbench
from tests.papers import a_pdf
from tests.techniques.graph.worlds import READING
from tests.techniques.scripted import a_model


class Names:
    """Says that a chunk relates every capitalised word to the first one, and counts what it was asked."""

    def __init__(self) -> None:
        self.read: list[str] = []
        self.failing = False
        self.watch = None

    def making(self, name: str = "names", *, model: bool = False) -> Making:
        def listening(watch):
            self.watch = watch
            return self

        return Making(name, listening, listening, asks_model=model, prompt_tokens=50)

    def extract(self, chunk: Chunk) -> ChunkFacts:
        if self.failing:
            call = Call(
                signature="graph.extract", engine="keyless", prompt="", reply="", note="The model is overloaded."
            )
            self.watch.called(call)
        self.read.append(chunk.text)
        names = list(dict.fromkeys(re.findall(r"[A-Z]\w+", chunk.text)))
        ids = [entity_id(name) for name in names]
        return ChunkFacts(
            chunk=chunk.id,
            document=chunk.document,
            entities=tuple(Entity(id_, name) for id_, name in zip(ids, names, strict=True)),
            mentions=tuple(Mention(id_, chunk.id) for id_ in ids),
            relations=tuple(Relation(ids[0], id_, "", 1.0, chunk.id) for id_ in ids[1:]),
        )

    def communities(self, store: GraphStore) -> Iterator[Community]:
        yield Community("all", 0, None, tuple(one.id for one in store.entities()), "All", "Everything.")


@pytest.fixture
def collection() -> str:
    return f"g {uuid.uuid4().hex}"


@pytest.fixture
def graphs(workbench: Workbench, tmp_path: Path) -> Iterator[Graphs]:
    settings = Settings(data_dir=tmp_path)
    opened = Graphs(workbench._ledger, workbench._store, settings, fingerprint=workbench._fingerprint)
    yield opened
    opened.close()


def put(workbench: Workbench, collection: str, folder: Path, name: str, *texts: str) -> str:
    """A passages file, a chunk a text."""
    folder.mkdir(exist_ok=True)
    lines = [json.dumps({"id": str(at), "title": "", "text": text}) for at, text in enumerate(texts)]
    (folder / name).write_text("\n".join(lines))
    (result,) = workbench.ingest(folder / name, collection=collection)
    assert result.state == "indexed"
    return result.document


def names_in(graphs: Graphs, collection: str) -> list[str]:
    graph = graphs.graph(collection)
    return [one.name for one in graph.entities()] if graph else []


def test_a_graph_is_built_once_and_only_what_changed_is_read_again(workbench, graphs, collection, tmp_path) -> None:
    put(workbench, collection, tmp_path / "in", "a.jsonl", "Ada met Babbage.", "Ada wrote to Lovelace.")
    put(workbench, collection, tmp_path / "in", "b.jsonl", "Turing read Ada.")
    names = Names()
    assert (graphs.status(collection).state, graphs.graph(collection)) == ("none", None)
    assert graphs.estimate(collection, names.making()).chunks == 3
    status = graphs.build(collection, names.making())
    assert (status.state, status.documents, status.chunks, status.entities, status.relations) == ("ready", 2, 3, 4, 3)
    assert (len(names.read), graphs.estimate(collection, names.making()).documents) == (3, 0)

    graphs.build(collection, names.making())
    put(workbench, collection, tmp_path / "in", "a.jsonl", "Ada met Babbage.", "Ada wrote to Somerville.")
    assert (graphs.status(collection).state, graphs.status(collection).changed) == ("stale", 1)
    assert graphs.build(collection, names.making()).state == "ready"
    assert names.read[3:] == ["Ada wrote to Somerville."]
    assert names_in(graphs, collection) == ["Ada", "Babbage", "Somerville", "Turing"]


def test_another_way_of_making_it_reads_everything_again(workbench, graphs, collection, tmp_path) -> None:
    put(workbench, collection, tmp_path / "in", "a.jsonl", "Ada met Babbage.")
    names = Names()
    graphs.build(collection, names.making())
    expected = graphs.estimate(collection, names.making("model 2", model=True))
    assert (expected.chunks, expected.model_calls, expected.input_tokens > 50) == (1, 1, True)
    graphs.build(collection, names.making("model 2", model=True))
    graphs.build(collection, names.making("model 2", model=True), anew=True)
    assert len(names.read) == 3


def test_a_stopped_build_goes_on_where_it_was(workbench, graphs, collection, tmp_path, monkeypatch) -> None:
    monkeypatch.setattr("rag_core.indexing.graph._A_WRITE", {False: 2, True: 2})
    texts = [f"Ada saw Engine{at}." for at in range(7)]
    put(workbench, collection, tmp_path / "in", "a.jsonl", *texts)
    names = Names()
    seen: list[GraphProgress] = []
    with pytest.raises(Stopped):
        graphs.build(collection, names.making(), told=seen.append, stopped=lambda: len(names.read) >= 5)
    assert (graphs.status(collection).state, graphs.status(collection).chunks) == ("stale", 4)
    assert [(one.done, one.total, one.document) for one in seen] == [(at, 7, "a.jsonl") for at in (0, 2, 4)]
    graphs.build(collection, names.making())
    assert sorted(names.read[5:]) == sorted([*texts[4:]])
    assert graphs.status(collection).entities == 8


def test_a_changed_document_keeps_its_old_facts_until_the_new_ones_are_there(
    workbench, graphs, collection, tmp_path, monkeypatch
) -> None:
    monkeypatch.setattr("rag_core.indexing.graph._A_WRITE", {False: 1, True: 1})
    put(workbench, collection, tmp_path / "in", "a.jsonl", "Ada met Babbage.")
    names = Names()
    graphs.build(collection, names.making())
    put(workbench, collection, tmp_path / "in", "a.jsonl", "Turing met Church.", "Turing met Newman.")
    with pytest.raises(Stopped):
        graphs.build(collection, names.making(), stopped=lambda: len(names.read) >= 2)
    assert {"Ada", "Babbage"} < set(names_in(graphs, collection))
    graphs.build(collection, names.making())
    assert names_in(graphs, collection) == ["Church", "Newman", "Turing"]


def test_what_a_model_failed_on_is_asked_again_and_three_in_a_row_end_the_build(
    workbench, graphs, collection, tmp_path
) -> None:
    put(workbench, collection, tmp_path / "in", "a.jsonl", "Ada met Babbage.", "Ada met Turing.")
    names = Names()
    names.failing = True
    assert graphs.build(collection, names.making("m", model=True)).state == "stale"
    put(workbench, collection, tmp_path / "in", "b.jsonl", *[f"Ada saw Engine{at}." for at in range(4)])
    with pytest.raises(EngineError, match="overloaded"):
        graphs.build(collection, names.making("m", model=True))
    names.failing = False
    names.read.clear()
    assert graphs.build(collection, names.making("m", model=True)).state == "ready"
    assert len(names.read) == 6


def test_communities_are_made_after_the_facts_and_written_only_when_they_changed(
    workbench, graphs, collection, tmp_path
) -> None:
    put(workbench, collection, tmp_path / "in", "a.jsonl", "Ada met Babbage.")
    names = Names()
    assert graphs.build(collection, names.making()).communities == 1
    version = graphs.graph(collection).version
    graphs.build(collection, names.making())
    assert graphs.graph(collection).version == version


def related(*documents: str) -> list[str]:
    """Names that make three communities of three."""
    return [f"{a}a {a}b. {a}b {a}c. {a}c {a}a." for a in documents]


def test_a_build_that_is_cut_among_the_reports_says_so_and_keeps_those_it_has(
    workbench, graphs, collection, tmp_path, monkeypatch
) -> None:
    monkeypatch.setattr("rag_core.indexing.graph._A_WRITE", {False: 500, True: 1})
    put(workbench, collection, tmp_path / "in", "a.jsonl", *related("Xa", "Ya", "Za"))
    names, asked = Names(), []
    report = json.dumps({"title": "One of three", "report": "They belong together."})

    def built_until(most: int) -> GraphStatus:
        """Build with a model, stopped once so many communities are there."""
        there: list[GraphProgress] = []
        with a_model(report) as (engine, server):
            making = replace(names.making("m", model=True), reporter=lambda watch: Reporter(engine, READING, watch))
            try:
                return graphs.build(
                    collection,
                    making,
                    told=lambda progress: there.extend([progress] * (progress.stage == "communities")),
                    stopped=lambda: len(there) >= most,
                )
            finally:
                asked.append(len(server.asked))

    with pytest.raises(Stopped):
        built_until(1)
    status = graphs.status(collection)
    assert (status.state, status.changed, status.grouped) == ("stale", 0, False)
    with pytest.raises(Stopped):
        built_until(2)
    assert [one.title for one in graphs.graph(collection).communities()] == ["One of three"] * 2
    status = built_until(9)
    assert (status.state, status.grouped, status.communities, asked) == ("ready", True, 3, [1, 1, 1])


def test_reports_that_a_model_failed_on_are_written_without_it_and_asked_for_again(
    workbench, graphs, collection, tmp_path
) -> None:
    put(workbench, collection, tmp_path / "in", "a.jsonl", *related("Xa", "Ya", "Za"))
    good = json.dumps({"title": "Three", "report": "They belong together."})

    def built(*replies: str) -> tuple[str, list[str]]:
        with a_model(*replies) as (engine, _):
            making = replace(Names().making("m", model=True), reporter=lambda watch: Reporter(engine, READING, watch))
            state = graphs.build(collection, making).state
        return state, sorted(one.made_by for one in graphs.graph(collection).communities())

    refused = "I cannot help with that."  # each time twice: it is asked to reply again
    assert built(good, refused, refused, good) == ("stale", ["keyless", "scripted", "scripted"])
    assert built(good) == ("ready", ["scripted"] * 3)
    put(workbench, collection, tmp_path / "in", "a.jsonl", *related("Xb", "Yb", "Zb"))
    with pytest.raises(EngineError, match="3 reports"):
        built(refused)
    assert graphs.status(collection).communities == 2


def test_reports_stay_until_the_model_that_is_chosen_now_has_written_others(
    workbench, graphs, collection, tmp_path
) -> None:
    put(workbench, collection, tmp_path / "in", "a.jsonl", *related("Xa", "Ya", "Za"))

    def by(engine: Engine, *, model: bool) -> Making:
        return replace(Names().making("m", model=model), reporter=lambda watch: Reporter(engine, READING, watch))

    graphs.build(collection, by(KeylessEngine(), model=False))
    there = graphs.graph(collection).communities()
    with a_model("I cannot help with that.") as (engine, _), pytest.raises(EngineError, match="3 reports"):
        graphs.build(collection, by(engine, model=True))
    assert len(there) == 3
    assert graphs.graph(collection).communities() == there
    assert not graphs.status(collection).grouped


def test_a_graph_that_lost_a_document_says_that_its_communities_are_old(
    workbench, graphs, collection, tmp_path
) -> None:
    gone = put(workbench, collection, tmp_path / "in", "a.jsonl", "Ada met Babbage.")
    put(workbench, collection, tmp_path / "in", "b.jsonl", "Ada met Turing.")
    graphs.build(collection, Names().making())
    workbench.remove("a.jsonl", collection)
    graphs.forget_document(collection, gone)
    assert (graphs.status(collection).state, graphs.status(collection).grouped) == ("stale", False)
    assert graphs.build(collection, Names().making()).state == "ready"


def test_a_deleted_document_leaves_the_graph_also_when_nobody_had_it_open(
    workbench, graphs, collection, tmp_path
) -> None:
    first = put(workbench, collection, tmp_path / "in", "a.jsonl", "Ada met Babbage.")
    put(workbench, collection, tmp_path / "in", "b.jsonl", "Ada met Turing.")
    put(workbench, collection, tmp_path / "in", "c.jsonl", "Ada met Church.")
    graphs.build(collection, Names().making())
    workbench.remove("a.jsonl", collection)
    graphs.forget_document(collection, first)
    assert names_in(graphs, collection) == ["Ada", "Church", "Turing"]
    graphs.close()
    workbench.remove("b.jsonl", collection)
    assert names_in(graphs, collection) == ["Ada", "Church"]
    assert graphs.status(collection).changed == 0
    tenant = workbench._ledger.tenant(collection)
    graphs.forget_collection(tenant)
    assert graphs.graph(collection) is None


def test_documents_that_are_not_read_to_their_end_wait(workbench, graphs, collection, tmp_path) -> None:
    paper = a_pdf(tmp_path / "p.pdf", "Ada met Babbage in the garden of the old house.")
    workbench.ingest(paper, collection=collection, quick=True)
    assert (graphs.status(collection).waiting, graphs.status(collection).documents) == (1, 0)
    with pytest.raises(RagError, match="wait until it is"):
        graphs.build(collection, Names().making())
    with pytest.raises(UnknownCollection):
        graphs.build("nowhere", Names().making())


def test_a_graph_is_built_by_one_at_a_time(workbench, graphs, collection, tmp_path) -> None:
    put(workbench, collection, tmp_path / "in", "a.jsonl", "Ada met Babbage.")
    names = Names()
    states: list[str] = []

    def told(progress: GraphProgress) -> None:
        status = graphs.status(collection)
        states.append(status.state)
        assert status.progress == progress
        with pytest.raises(RagError, match="being built already"):
            graphs.build(collection, names.making())

    graphs.build(collection, names.making(), told=told)
    assert set(states) == {"building"}


def test_a_document_that_moves_away_leaves_the_graph_that_is_open(workbench, graphs, collection, tmp_path) -> None:
    moved = put(workbench, collection, tmp_path / "in", "a.jsonl", "Ada met Babbage.")
    put(workbench, collection, tmp_path / "in", "b.jsonl", "Ada met Turing.")
    graphs.build(collection, Names().making())
    workbench.create_collection(f"{collection} 2")
    workbench.move(moved, f"{collection} 2")
    workbench._ingest.work(moved)
    assert names_in(graphs, collection) == ["Ada", "Turing"]


_WRITER = """\
import sys
from pathlib import Path
from rag_core.stores.graph.embedded import EmbeddedGraph

graph = EmbeddedGraph(Path(sys.argv[1]))
print("open", flush=True)
sys.stdin.readline()
graph.clear()
graph.close()
"""


def test_a_graph_that_another_process_wrote_is_written_again_when_that_has_ended(
    workbench, graphs, collection, tmp_path
) -> None:
    put(workbench, collection, tmp_path / "in", "a.jsonl", "Ada met Babbage.")
    graphs.build(collection, Names().making())
    graphs.close()
    file = tmp_path / "graphs" / f"{workbench._ledger.tenant(collection)}.lbug"
    command = [sys.executable, "-c", _WRITER, str(file)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd=ROOT) as other:
        assert other.stdout
        assert other.stdout.readline() == "open\n"
        assert names_in(graphs, collection) == ["Ada", "Babbage"]
        with pytest.raises(GraphError, match="Another process"):
            graphs.build(collection, Names().making(), anew=True)
        other.communicate("go on\n", timeout=60)
    assert names_in(graphs, collection) == []
    assert graphs.build(collection, Names().making()).entities == 2


def test_a_collection_that_is_renamed_while_its_graph_is_built_has_it_whole(
    workbench, graphs, collection, tmp_path
) -> None:
    put(workbench, collection, tmp_path / "in", "a.jsonl", "Ada met Babbage.")
    put(workbench, collection, tmp_path / "in", "b.jsonl", "Ada met Turing.")

    def rename(progress: GraphProgress) -> None:
        if progress.done == 1 and collection in {one.name for one in workbench.collections()}:
            workbench.change_collection(collection, f"{collection} 2", "")

    status = graphs.build(collection, Names().making(), told=rename)
    assert (status.collection, status.state, status.documents) == (f"{collection} 2", "ready", 2)
    assert names_in(graphs, f"{collection} 2") == ["Ada", "Babbage", "Turing"]


def test_graphs_that_a_killed_deletion_left_go_when_the_app_starts(workbench, graphs, collection, tmp_path) -> None:
    put(workbench, collection, tmp_path / "in", "a.jsonl", "Ada met Babbage.")
    graphs.build(collection, Names().making())
    kept = {file.name for file in (tmp_path / "graphs").iterdir()}
    for name in ("gone-1.lbug", "gone-1.lbug.wal"):
        (tmp_path / "graphs" / name).touch()
    graphs.forget_left()
    assert {file.name for file in (tmp_path / "graphs").iterdir()} == kept
    assert names_in(graphs, collection) == ["Ada", "Babbage"]


def test_a_neo4j_that_is_out_is_waited_for_once_when_the_app_starts(workbench, tmp_path, caplog) -> None:
    (tmp_path / "graphs").mkdir()
    for name in ("gone-1.left", "gone-2.left"):
        (tmp_path / "graphs" / name).touch()
    out = workbench.settings.model_copy(update={"data_dir": tmp_path, "graph_uri": "bolt://127.0.0.1:9"})
    Graphs(workbench._ledger, workbench._store, out, fingerprint="any").forget_left()
    assert len([one for one in caplog.records if "still there" in one.message]) == 1
    assert graphs_left(out) == {"gone-1", "gone-2"}
