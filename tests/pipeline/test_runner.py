import threading
from collections.abc import Iterator

import pytest

from rag_core.errors import QuestionError, StoreError
from rag_core.llm.connections import ModelConnection
from rag_core.llm.engine import Engine, KeylessEngine
from rag_core.llm.model import ModelEngine
from rag_core.llm.reading.reading import Reading
from rag_core.pipeline.live import LiveRun
from rag_core.pipeline.plan import PRESETS, Plan
from rag_core.pipeline.run import Run
from rag_core.pipeline.runner import Collaborators, Request, check_question, run
from rag_core.types import Chunk, Hit
from tests.fakes import Documents, WordVectors, a_hit
from tests.model_server import Turn, model_server, says

SIMPLE = PRESETS["simple"]
HITS = [
    a_hit("The fox is red. It lives in the forest.", id_="a", page=2),
    a_hit("The sky is blue today.", id_="b", page=3),
]


class Found:
    """A collection of one document in which every search finds the same."""

    def __init__(self, hits: list[Hit] | Exception) -> None:
        self.hits = hits
        self.asked: list[dict] = []

    def hybrid(self, query: str, vector: object, **asked: object) -> list[Hit]:
        self.asked.append({"query": query, **asked})
        if isinstance(self.hits, Exception):
            raise self.hits
        return self.hits

    def document(self, document: str) -> Iterator[Chunk]:
        assert not isinstance(self.hits, Exception)
        return iter([hit.chunk for hit in self.hits])


def with_(hits: list[Hit] | Exception, engine: Engine | None = None) -> Collaborators:
    return Collaborators(
        Found(hits), Documents(), WordVectors(), Reading(WordVectors()), engine or KeylessEngine(), documents=3
    )


def asked(question: str, plan: Plan = PRESETS["simple"]) -> Request:
    return Request(question=question, plan=plan, collection="Papers")


def test_a_question_ends_in_a_cited_and_checked_answer() -> None:
    told = run(asked("What colour is the fox?"), with_(HITS))
    assert told.status == "done"
    assert told.final_answer == "The fox is red."
    assert told.sentences[0].citations == ("a",)
    assert told.sentences[0].support == "fully_supported"
    assert [span.name for span in told.spans] == [
        "retrieve",
        "answer",
        "llm.answer.generate",
        "validate",
        "llm.validate.quality",
    ]
    assert (told.total_hops, told.searches, told.usage.model_calls) == (1, 1, 0)
    assert told.techniques["validate"].ran


def test_what_is_not_there_is_said_with_what_was_looked_for() -> None:
    told = run(asked("Who won the chess championships?"), with_(HITS))
    assert told.refused
    assert told.final_answer == "It is not in your documents."
    assert told.refusal is not None
    assert set(told.refusal.looked_for) == {"won", "chess", "championships"}
    assert told.refusal.searched == 3
    assert told.techniques["validate"].why == "There was no answer to check."


def test_finding_nothing_is_a_refusal_too() -> None:
    assert run(asked("What?"), with_([])).refused


def test_a_technique_that_is_off_says_so() -> None:
    told = run(asked("What colour is the fox?", PRESETS["simple"].off("validate")), with_(HITS))
    assert told.techniques["validate"].model_dump(exclude={"seconds"}) == {"ran": False, "why": "It is switched off."}
    assert told.sentences[0].support is None


def test_a_page_that_is_named_comes_first_and_the_trace_says_what_was_understood() -> None:
    told = run(asked("What does page 3 say of the fox?"), with_(HITS))
    assert [hit.chunk.id for hit in told.evidence] == ["b", "a"]
    (span,) = [span for span in told.spans if span.name == "references"]
    assert span.attributes["understood"] == ["page 3"]
    assert (span.attributes["document"], span.attributes["pages"]) == ("report.pdf", [3])
    assert told.techniques["references"].ran
    assert [hit.chunk.id for hit in run(asked("?", SIMPLE.off("references")), with_(HITS)).evidence] == ["a", "b"]


def test_a_question_for_a_whole_document_is_answered_from_all_of_it() -> None:
    told = run(asked("Which pages mention the forest?"), with_(HITS))
    assert told.final_answer == "“forest” stands once in report.pdf, on 1 page: page 2."
    assert told.sentences[0].computed.startswith("counted over 9 pages")
    assert told.sentences[0].support == "fully_supported"
    assert [hit.chunk.id for hit in told.evidence] == ["a", "b"]
    assert told.techniques["scan"].ran
    assert told.techniques["answer"].why == "The whole document was scanned instead."


def test_where_nothing_of_what_was_asked_stands_the_usual_search_goes_on() -> None:
    told = run(asked("Which pages mention the chess championship?"), with_(HITS))
    (span,) = [span for span in told.spans if span.name == "scan"]
    assert span.attributes["why"] == "Nothing of what was asked stands in it."
    assert told.refused


def test_a_cell_of_a_table_is_the_answer_with_its_place() -> None:
    html = "<table><tr><th>Animal</th><th>Speed</th></tr><tr><td>Fox</td><td data-box='1 2 3 4'>48</td></tr></table>"
    told = run(asked("How much is the speed of the fox?"), with_([a_hit("Fox | 48", id_="t", kind="table", html=html)]))
    assert told.final_answer == "Fox, Speed: 48."
    (cell,) = told.sentences[0].cells
    assert (cell.chunk, cell.row, cell.column, cell.text) == ("t", 1, 1, "48")
    assert cell.place is not None
    assert cell.place.boxes[0].x1 == 3
    assert told.sentences[0].support == "fully_supported"


def test_an_error_of_a_step_ends_the_run_with_its_sentence() -> None:
    told = run(asked("What?"), with_(StoreError("Weaviate does not answer.")))
    assert (told.status, told.error) == ("failed", "Weaviate does not answer.")
    assert (told.spans[0].error, told.spans[0].error_type) == ("Weaviate does not answer.", "StoreError")


def test_after_a_failed_step_the_others_pass_and_say_so_and_the_run_keeps_what_it_has() -> None:
    class Broken(KeylessEngine):
        def complete(self, signature, *asked, **how):
            if signature.name == "answer.generate":
                raise StoreError("The disk is full.")
            return super().complete(signature, *asked, **how)

    heard: list[tuple[str, dict]] = []
    told = run(asked("Who is red?"), with_(HITS, Broken()), emit=lambda kind, data: heard.append((kind, data)))
    assert (told.status, told.error) == ("failed", "The disk is full.")
    assert len(told.evidence) == 2
    assert told.techniques["hybrid"].why == "It is in the plan."
    assert told.techniques["answer"].why == "It failed: The disk is full."
    assert not told.techniques["validate"].ran
    assert told.techniques["validate"].why == "The run had ended: The disk is full."
    events = [(kind, data["name"]) for kind, data in heard if kind in ("open", "exception", "close")]
    assert events[-3:] == [("open", "answer"), ("exception", "answer"), ("close", "answer")]


def test_an_error_that_nobody_foresaw_ends_the_run_with_a_record_too() -> None:
    told = run(asked("What?"), with_(ZeroDivisionError("division by zero")))
    assert told.status == "failed"
    assert "not foreseen (ZeroDivisionError" in (told.error or "")


def test_a_run_that_is_stopped_keeps_what_it_has() -> None:
    stopped = threading.Event()
    told = run(
        asked("What colour is the fox?"),
        with_(HITS),
        emit=lambda kind, data: stopped.set() if kind == "evidence" else None,
        stopped=stopped.is_set,
    )
    assert told.status == "stopped"
    assert len(told.evidence) == 2
    assert not told.sentences


def test_a_spent_budget_is_said() -> None:
    told = run(asked("What colour is the fox?"), with_(HITS), budget_s=0)
    assert "seconds were spent" in (told.note or "")


def test_at_least_the_contexts_asked_for_are_searched() -> None:
    tools = with_(HITS)
    request = Request(question="fox?", plan=PRESETS["simple"], collection="Papers", contexts=60)
    run(request, tools)
    assert tools.searcher.asked[0]["limit"] == 60  # type: ignore[attr-defined]


def test_live_events_tell_the_whole_story_in_order() -> None:
    live = LiveRun("r", "c")
    woken: list[int] = []
    live.follow(lambda: woken.append(len(live.events)))
    live.finish(run(asked("What colour is the fox?"), with_(HITS), emit=live.emit))
    kinds = [event.kind for event in live.events]
    assert kinds[0] == "open"
    assert kinds.index("evidence") < kinds.index("draft") < kinds.index("done")
    assert [event.n for event in live.events] == list(range(1, len(kinds) + 1)) == woken
    record = live.events[-1].data["record"]
    assert Run.model_validate(record) == live.record


def test_a_model_writes_the_answer_and_it_streams() -> None:
    with model_server() as server:
        server.script = [
            says("The fox is red [1]. The moon is cheese. [2]\nCONFIDENCE: 0.8"),
            says('{"quality": 0.4, "issues": ["The moon is not in the evidence."]}'),
        ]
        model = ModelEngine(ModelConnection(kind="openai", base_url=server.base_url, model="scripted"))
        streamed: list[str] = []
        told = run(
            asked("What colour is the fox?"),
            with_(HITS, model),
            emit=lambda kind, data: streamed.append(data["delta"]) if kind == "text" else None,
        )
    assert [s.text for s in told.sentences] == ["The fox is red.", "The moon is cheese."]
    assert [s.citations for s in told.sentences] == [("a",), ("b",)]
    assert [s.support for s in told.sentences] == ["fully_supported", "no_support"]
    assert (told.confidence, told.quality_achieved, told.usage.model_calls) == (0.8, 0.4, 2)
    assert "CONF" not in "".join(streamed)
    assert "".join(streamed).startswith("The fox is red")


def test_a_model_that_finds_nothing_refuses() -> None:
    with model_server() as server:
        server.script = [says("NOT IN THE PASSAGES\nCONFIDENCE: 0.9")]
        model = ModelEngine(ModelConnection(kind="openai", base_url=server.base_url, model="scripted"))
        assert run(asked("What colour is the fox?"), with_(HITS, model)).refused


def test_a_model_that_is_down_is_answered_for_and_the_reader_is_told() -> None:
    with model_server() as server:
        server.then = Turn(status=401)
        model = ModelEngine(ModelConnection(kind="openai", base_url=server.base_url, model="scripted"))
        told = run(asked("What colour is the fox?"), with_(HITS, model))
    assert told.final_answer == "The fox is red."
    assert "refused the key" in (told.note or "")


@pytest.mark.parametrize(("question", "said"), [("", "empty"), ("  \n", "empty"), ("x" * 10_000, "10,000 characters")])
def test_a_question_that_cannot_be_asked_says_why(question: str, said: str) -> None:
    with pytest.raises(QuestionError, match=said):
        check_question(question, longest=4_000)


def test_a_question_is_trimmed() -> None:
    assert check_question("  why?\x00 ", longest=100) == "why?"


def test_half_a_character_in_a_question_spoils_nothing() -> None:
    assert check_question("Where is the fox \ud83d?", 100) == "Where is the fox ??"
