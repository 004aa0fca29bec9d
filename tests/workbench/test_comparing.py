"""One question in several ways at once, and without each technique in turn, over a real store."""

from __future__ import annotations

import time

import pytest

from rag_core.errors import QuestionError
from rag_core.evaluation.grading import Grader
from rag_core.evaluation.hints import ALL_DOCUMENTS
from rag_core.evaluation.ledger import Ledger
from rag_core.llm.connections import ModelConnection
from rag_core.llm.reading.reading import Reading
from rag_core.pipeline.exchange import to_file
from rag_core.pipeline.listing import RunQuery
from rag_core.pipeline.plan import PRESETS
from rag_core.pipeline.run import Run
from rag_core.workbench import Workbench
from rag_core.workbench.comparing import Column
from rag_core.workbench.ledgers import Ledgers
from tests.fakes import WordVectors
from tests.model_server import model_server, says
from tests.papers import a_pdf
from tests.workbench.waiting import finished

FOX = "The red fox lives in the old forest near Lake Wanaka. It hunts at night."
OWL = "The barn owl sleeps in the church tower of Queenstown. It eats 1,460 mice a year."
QUESTION = "Where does the barn owl sleep?"


@pytest.fixture(scope="module")
def birds(workbench: Workbench, tmp_path_factory: pytest.TempPathFactory) -> Workbench:
    """The workbench with a collection of one document on birds, and one of one on foxes."""
    folder = tmp_path_factory.mktemp("birds")
    for collection, text in (("Birds", OWL), ("Foxes", FOX)):
        workbench.ingest(a_pdf(folder / f"{collection}.pdf", text), collection=collection)
    return workbench


def made(workbench: Workbench, run: Run) -> Ledger:
    making = workbench.ledgers.make(run.id)
    assert making.wait(120)
    return making.record


def test_columns_are_ordinary_runs_and_one_that_cannot_be_asked_spoils_no_other(birds: Workbench) -> None:
    columns = [
        Column(plan=PRESETS["simple"], engine="keyless", collection="Birds"),
        Column(plan=PRESETS["balanced"], engine="keyless", collection="Foxes"),
        Column(plan=PRESETS["simple"], engine="model", collection="Birds"),
        Column(plan=PRESETS["simple"], engine="keyless", collection="Fish"),
    ]
    started = birds.comparing.compare(QUESTION, columns)
    assert [bool(one.run) for one in started] == [True, True, False, False]
    assert "No model is set" in started[2].problem
    assert "Fish" in started[3].problem
    owl, fox = (finished(birds, one.run) for one in started[:2])
    assert (owl.collection, fox.collection) == ("Birds", "Foxes")
    assert birds.run(owl.id) == owl
    assert owl.chat == "", "a comparison is no conversation"


def test_runs_side_by_side_are_graded_alike_and_held_against_the_first(birds: Workbench) -> None:
    runs = [
        birds.ask(QUESTION, plan=PRESETS["simple"], collection=collection, engine="keyless")
        for collection in ("Birds", "Birds", "Foxes")
    ]
    compared = birds.comparing.compared([run.id for run in runs])
    first, same, other = (one for one in compared if one is not None)
    assert first.difference is None
    assert first.grade == same.grade
    assert first.grade.supported == 1
    assert same.difference is not None
    assert same.difference.same_answer
    assert other.difference is not None
    assert not other.difference.shared
    assert birds.comparing.compared([runs[0].id, "gone"])[1] is None


def test_one_column_and_five_are_refused(birds: Workbench) -> None:
    for count in (1, 5):
        with pytest.raises(QuestionError, match="Two to 4"):
            birds.comparing.compare(QUESTION, [Column(plan=PRESETS["simple"])] * count)


def test_what_a_hint_names_is_tried_on_the_same_question_with_one_switch_more(birds: Workbench) -> None:
    run = birds.ask("What does the zebra cost?", collection="Birds", documents=["Birds.pdf"], engine="keyless")
    names = [hint.technique for hint in birds.comparing.hints(run.id)]
    assert names[:2] == [ALL_DOCUMENTS, "expand"]
    more = finished(birds, birds.comparing.try_out(run.id, "expand"))
    assert (more.question, more.collection, more.documents) == (run.question, "Birds", ("Birds.pdf",))
    assert {*more.plan["techniques"]} - {*run.plan["techniques"]} == {"expand"}
    wider = finished(birds, birds.comparing.try_out(run.id, ALL_DOCUMENTS))
    assert (wider.documents, wider.plan["techniques"]) == ((), run.plan["techniques"])
    with pytest.raises(QuestionError, match="not in the history"):
        birds.comparing.hints("gone")


def test_a_question_asked_by_a_picture_is_not_asked_again_without_it(birds: Workbench) -> None:
    run = birds.ask(QUESTION, plan=PRESETS["simple"], collection="Birds", engine="keyless")
    seen = run.spans[-1].model_copy(update={"name": "multimodal", "attributes": {"by_picture": True}})
    kept = birds.import_run(to_file(run.model_copy(update={"spans": (*run.spans, seen)})))
    with pytest.raises(QuestionError, match="picture"):
        birds.comparing.try_out(kept.id, "expand")
    with pytest.raises(QuestionError, match="picture"):
        birds.ledgers.estimate(kept.id)


def test_a_ledger_asks_again_without_each_technique_that_ran(birds: Workbench) -> None:
    run = birds.ask(QUESTION, plan=PRESETS["balanced"], collection="Birds", engine="keyless")
    expected = birds.ledgers.estimate(run.id)
    ledger = made(birds, run)
    assert ledger.state == "done"
    asked = [entry for entry in ledger.entries if entry.state == "done"]
    assert expected.runs == len(asked) + 2, "without a model the run itself is asked again too, first and last"
    assert ledger.noise_s is not None
    assert {entry.technique for entry in asked} == {
        name for name in run.plan["techniques"] if run.techniques[name].ran and name not in ("hybrid", "answer")
    }
    for entry in asked:
        without = birds.run(entry.run)
        assert without is not None
        assert without.plan["techniques"].keys() == run.plan["techniques"].keys() - {entry.technique}
        assert (entry.verdict, entry.reason) == ("no difference", "The answer is the same, word for word.")
    assert all(entry.why for entry in ledger.entries if entry.state == "not_run")
    listed = birds.runs(RunQuery(ledger_of=run.id))
    assert {ledger.base, *(entry.run for entry in asked)} < {one.id for one in listed.runs}
    assert listed.found == expected.runs
    assert run.id in {one.id for one in birds.runs(RunQuery(ledgers="without")).runs}


def test_a_technique_that_brings_the_answer_pays(birds: Workbench) -> None:
    question = "How many mice does it eat a year?"
    chat = "talk"
    finished(birds, birds.start(QUESTION, collection="Birds", engine="keyless", chat=chat, plan=PRESETS["simple"]))
    plan = PRESETS["simple"].on("rewrite")
    run = finished(birds, birds.start(question, collection="Birds", engine="keyless", chat=chat, plan=plan))
    ledger = made(birds, run)
    rewrite = next(entry for entry in ledger.entries if entry.technique == "rewrite")
    base = birds.run(ledger.base)
    assert base is not None
    assert base.final_answer == run.final_answer, "it was asked again as a question of its conversation"
    assert rewrite.difference is not None


def test_a_ledger_is_kept_and_made_once_at_a_time(birds: Workbench) -> None:
    run = birds.ask(QUESTION, plan=PRESETS["simple"], collection="Birds", engine="keyless")
    assert birds.ledgers.get(run.id) is None
    making = birds.ledgers.make(run.id)
    assert birds.ledgers.make(run.id) is making or making.done
    assert making.wait(120)
    folder = birds.settings.data_dir / "ledgers"
    after_a_restart = Ledgers(folder, birds._start, birds.live, birds.run, birds.chat, Grader(Reading(WordVectors())))
    assert after_a_restart.get(run.id) == making.record
    assert after_a_restart.get("../runs") is None


def test_with_a_model_the_run_stays_as_it_was_and_a_stop_ends_what_is_under_way(birds: Workbench) -> None:
    with model_server() as server:
        server.then = says("The barn owl sleeps in the church tower. [1]\nCONFIDENCE: 0.9")
        birds.connect(ModelConnection(kind="openai", model="scripted", base_url=server.base_url))
        try:
            run = birds.ask(QUESTION, plan=PRESETS["simple"].on("expand").on("rewrite"), collection="Birds")
            expected = birds.ledgers.estimate(run.id)
            assert expected.model_calls == expected.runs * run.usage.model_calls > 0
            server.then = says("The barn owl sleeps in the church tower. [1]\nCONFIDENCE: 0.9", pause_s=30)
            making = birds.ledgers.make(run.id)
            until = time.monotonic() + 60
            while not any(entry.state == "running" for entry in making.record.entries):
                assert time.monotonic() < until
                time.sleep(0.02)
            with pytest.raises(QuestionError, match="still being stopped"):
                birds.ledgers.forget(run.id, timeout_s=0)
            birds.ledgers.stop(run.id)
            assert making.wait(60)
        finally:
            birds.connect(None)
    assert making.record.state == "stopped"
    assert making.record.base == run.id
    assert making.record.noise_s is None
    assert not [entry for entry in making.record.entries if entry.state in ("waiting", "running")]


def test_a_ledger_of_what_is_no_finished_run_is_refused(birds: Workbench) -> None:
    with pytest.raises(QuestionError, match="not in the history"):
        birds.ledgers.make("gone")


def test_a_ledger_of_a_run_whose_collection_is_gone_says_so(birds: Workbench) -> None:
    run = birds.ask(QUESTION, plan=PRESETS["simple"], collection="Birds", engine="keyless")
    orphan = run.model_copy(update={"id": "elsewhere", "collection": "Hens"})
    birds._history.keep(orphan)
    ledger = made(birds, orphan)
    told = [entry.why for entry in ledger.entries if entry.state == "failed"]
    assert told
    assert all("Hens" in why and "report this" not in why for why in told)


def test_a_deleted_run_takes_its_ledger_and_what_that_asked_along_and_a_made_one_holds_no_run(birds: Workbench) -> None:
    run = birds.ask(QUESTION, plan=PRESETS["simple"], collection="Birds", engine="keyless")
    made(birds, run)
    live = birds.ledgers.live(run.id)
    assert live is not None
    assert not live._runs, "each holds all events of its run"
    birds.delete_run(run.id)
    assert birds.ledgers.get(run.id) is None
    assert not (birds.settings.data_dir / "ledgers" / f"{run.id}.json").exists()
    assert birds.run(live.record.base) is None
    assert not birds.runs(RunQuery(ledger_of=run.id)).runs


def test_an_imported_run_is_of_no_ledger(birds: Workbench) -> None:
    run = birds.ask(QUESTION, plan=PRESETS["simple"], collection="Birds", engine="keyless")
    elsewhere = run.model_copy(update={"id": "asked-elsewhere", "ledger_of": "gone"})
    assert birds.import_run(to_file(elsewhere)).ledger_of == ""
    assert "asked-elsewhere" in {one.id for one in birds.runs(RunQuery(ledgers="without")).runs}
