"""What a question may bring of its own: the router's collections, plans by name, prompts, techniques, memories."""

import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from rag_core.errors import PlanError, QuestionError, StoreError, UnknownCollection
from rag_core.llm.signature import PromptError
from rag_core.pipeline.plan import PRESETS
from rag_core.pipeline.run import Run
from rag_core.settings import Settings
from rag_core.techniques.replacements import ReplacementError
from rag_core.types import Chunk, Hit
from rag_core.workbench import DEFAULT_COLLECTION, Workbench
from rag_core.workbench.searched import on_one_scale
from tests.model_server import model_server, says
from tests.papers import a_pdf
from tests.workbench.waiting import finished

FOX = "The red fox lives in the old forest near Lake Wanaka. It hunts at night."
TAX = "The tax on diesel rises to 0.65 dollars a litre. It is paid at the pump."
ROUTED = PRESETS["simple"].on("route")


@pytest.fixture(scope="module")
def shelves(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Workbench]:
    """Two collections of one document each."""
    folder = tmp_path_factory.mktemp("shelves")
    with Workbench.open(Settings(data_dir=folder / "data", hyde_num_hypotheticals=5, enable_hyde=True)) as opened:
        for collection, text in (("Animals", FOX), ("Taxes", TAX)):
            opened.create_collection(collection, f"Reports on {collection.lower()}")
            opened.ingest(a_pdf(folder / f"{collection}.pdf", text), collection=collection)
        yield opened


def what_became_of(run: Run, technique: str) -> tuple[bool, str]:
    return run.techniques[technique].ran, run.techniques[technique].why


def test_the_router_sends_a_question_to_its_collection(shelves: Workbench) -> None:
    for question, collection in (("Which animals hunt at night?", "Animals"), ("What taxes rise?", "Taxes")):
        run = shelves.ask(question, plan=ROUTED, engine="keyless")
        assert (run.collection, {hit.chunk.name for hit in run.evidence}) == (collection, {f"{collection}.pdf"})
        assert next(span for span in run.spans if span.name == "route").attributes["by"] == "router"


def test_the_user_s_choice_stands_before_the_router_s(shelves: Workbench) -> None:
    run = shelves.ask("What taxes rise?", plan=ROUTED, collection="Animals", engine="keyless")
    assert run.collection == "Animals"
    assert {hit.chunk.name for hit in run.evidence} == {"Animals.pdf"}
    assert what_became_of(run, "route") == (False, "You chose the collection, or there is only one.")


def test_a_chosen_document_fixes_the_collection(shelves: Workbench) -> None:
    with pytest.raises(UnknownCollection):
        shelves.ask("What taxes rise?", plan=ROUTED, collection="Nowhere")
    run = shelves.ask("What taxes rise?", plan=ROUTED, documents=["Animals"], engine="keyless")
    assert (run.collection, run.documents) == ("Animals", ("Animals.pdf",))


def test_a_default_collection_without_anything_to_search_does_not_stand_in_the_way(
    shelves: Workbench, tmp_path: Path
) -> None:
    broken = tmp_path / "broken.pdf"
    broken.write_bytes(b"%PDF-1.7 and no more")
    shelves.ingest(broken, collection=DEFAULT_COLLECTION)
    try:
        assert shelves.default_collection() == DEFAULT_COLLECTION
        assert shelves.ask("What taxes rise?", plan=ROUTED, engine="keyless").collection == "Taxes"
        with pytest.raises(QuestionError, match=r"'Documents' is searchable yet: .* collection: Animals, Taxes"):
            shelves.ask("What taxes rise?", engine="keyless")
        with pytest.raises(QuestionError, match=r"searchable yet: add one or wait until it is read\.$"):
            shelves.ask("What taxes rise?", plan=ROUTED, collection=DEFAULT_COLLECTION, engine="keyless")
    finally:
        shelves.delete_collection(DEFAULT_COLLECTION)


def test_several_collections_are_searched_as_one(shelves: Workbench) -> None:
    plan = ROUTED.set("route", most=2, threshold=0)
    run = shelves.ask("What does the fox pay in tax?", plan=plan, engine="keyless")
    assert sorted(run.collection.split(", ")) == ["Animals", "Taxes"]
    assert {hit.chunk.name for hit in run.evidence} == {"Animals.pdf", "Taxes.pdf"}


def test_scores_of_several_searches_are_scaled_over_all() -> None:
    def hit(name: str, dense: float, **lexical: float) -> Hit:
        chunk = Chunk(id=name, document="d", name="d.pdf", text=name)
        return Hit(chunk=chunk, score=1.0, scores={"dense": dense, "fused": 1.0, **lexical})

    ranked = on_one_scale([hit("best of the poor", 0.2), hit("good", 0.8, lexical=3.0), hit("fair", 0.5)], 0.5)
    assert [(one.chunk.text, round(one.score, 2)) for one in ranked] == [
        ("good", 1.0), ("fair", 0.25), ("best of the poor", 0.0),
    ]  # fmt: skip


def test_what_the_environment_switches_on_is_on_in_every_preset(shelves: Workbench) -> None:
    presets = shelves.presets()
    assert all(plan.has("hyde") and plan.name == name for name, plan in presets.items())
    assert presets["quality"].as_json()["techniques"]["hyde"]["num_hypotheticals"] == 5


def test_a_plan_is_saved_under_a_name_and_found_again(shelves: Workbench) -> None:
    plan = PRESETS["balanced"].set("hybrid", alpha=0.25)
    shelves.save_plan("  Mine,   mostly words ", plan)
    assert shelves.plans() == {"Mine, mostly words": plan.model_copy(update={"name": "Mine, mostly words"})}
    shelves.delete_plan("Mine, mostly words")
    assert shelves.plans() == {}


@pytest.mark.parametrize("name", ["", "   ", "simple", "Custom", "x" * 61, "plan.json"])
def test_a_name_that_means_something_else_is_refused(shelves: Workbench, name: str) -> None:
    with pytest.raises(PlanError):
        shelves.save_plan(name, PRESETS["simple"])


def test_a_plans_file_that_was_spoilt_says_where_it_is(shelves: Workbench) -> None:
    path = shelves.settings.data_dir / "plans.json"
    path.write_text('{"Mine": {"techniques": {"telepathy": {}}}}')
    with pytest.raises(PlanError, match=r"plans\.json cannot be used .*telepathy.*: mend it, or delete it"):
        shelves.plans()
    path.unlink()


def test_another_prompt_for_a_signature_is_sent_and_a_wrong_one_is_refused(shelves: Workbench) -> None:
    with pytest.raises(PromptError, match=r"\{evidenz\}, which it cannot fill; it can fill .*\{passages\}"):
        shelves.override({"answer.generate": "Say it: {evidenz}"})
    assert shelves.overrides().as_json() == {}
    shelves.override({"answer.generate": "Answer like a sailor. {passages} {question}"})
    with model_server() as server:
        server.script = [says("The red fox hunts at night [1].\nCONFIDENCE: 0.9")]
        settings = Settings(data_dir=shelves.settings.data_dir, openai_base_url=server.base_url, openai_model="m")
        with Workbench.open(settings) as opened:
            run = opened.ask("What hunts?", collection="Animals", plan=PRESETS["simple"].off("validate"))
    shelves.override({})
    assert run.prompts[-1].prompt.startswith("Answer like a sailor.")


def test_a_function_takes_the_place_of_a_technique(shelves: Workbench, tmp_path: Path) -> None:
    def shortest_first(query: str, hits: Any, watch: Any, *, at_least: int) -> list[Hit]:
        return sorted(hits, key=lambda hit: len(hit.chunk.text))[:at_least]

    plan = PRESETS["simple"].on("rerank")
    with Workbench.open(Settings(data_dir=shelves.settings.data_dir), techniques={"rerank": shortest_first}) as opened:
        run = opened.ask("What hunts?", collection="Animals", plan=plan, engine="keyless")
    lengths = [len(hit.chunk.text) for hit in run.evidence]
    assert lengths == sorted(lengths)
    with pytest.raises(ReplacementError, match="rerank"):
        Workbench.open(Settings(data_dir=tmp_path), techniques={"rerank": lambda: None})


class TestMemory:
    """An answer marked good comes back with a similar question, and dies with its document."""

    PLAN = PRESETS["simple"].on("memory")

    def remembered(self, workbench: Workbench, question: str) -> list[dict[str, Any]]:
        run = workbench.ask(question, plan=self.PLAN, collection="Animals", engine="keyless")
        return next(span for span in run.spans if span.name == "memory").attributes["recalled"]

    def test_a_good_answer_comes_back_as_what_it_is(self, shelves: Workbench) -> None:
        asked = shelves.ask("Where does the red fox live?", collection="Animals", engine="keyless")
        assert self.remembered(shelves, "Where does the red fox live today?") == []
        shelves.feedback(asked.id, "good")
        (recalled,) = self.remembered(shelves, "Where does the red fox live today?")
        assert recalled["answer"] == asked.final_answer
        assert set(recalled["chunks"]) == {id_ for sentence in asked.sentences for id_ in sentence.citations}
        shelves.feedback(asked.id, "wrong")
        assert self.remembered(shelves, "Where does the red fox live today?") == []

    def test_it_dies_with_its_document(self, shelves: Workbench, tmp_path: Path) -> None:
        name = f"{uuid.uuid4().hex}.pdf"
        shelves.ingest(
            a_pdf(tmp_path / name, "The kea steals the keys of hikers at Arthur's Pass."), collection="Animals"
        )
        asked = shelves.ask("What does the kea steal?", collection="Animals", documents=[name], engine="keyless")
        shelves.feedback(asked.id, "good")
        assert self.remembered(shelves, "What does the kea steal?")
        shelves.remove(name, "Animals")
        assert self.remembered(shelves, "What does the kea steal?") == []


def test_a_full_disk_does_not_swallow_feedback(shelves: Workbench, monkeypatch: pytest.MonkeyPatch) -> None:
    asked = shelves.ask("Where does the red fox live?", collection="Animals", engine="keyless")

    def full(*_: object) -> None:
        raise StoreError("The answer could not be remembered: disk full.")

    monkeypatch.setattr(shelves._memories, "keep", full)
    with pytest.raises(StoreError, match="disk full"):
        shelves.feedback(asked.id, "good")
    kept = shelves.run(asked.id)
    assert kept is not None
    assert kept.feedback == "good"


def test_a_run_that_breaks_off_ends_all_the_same(shelves: Workbench, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: object, **__: object) -> Run:
        raise ZeroDivisionError

    monkeypatch.setattr("rag_core.workbench.bench.run", broken)
    record = finished(shelves, shelves.start("Where does the fox live?", collection="Animals", engine="keyless"))
    assert (record.status, "ZeroDivisionError" in str(record.error)) == ("failed", True)
