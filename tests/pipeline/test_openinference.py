from __future__ import annotations

import json
from datetime import UTC, datetime

from rag_core.pipeline.openinference import SpanData, spans_of
from rag_core.pipeline.run import Prompt, Run
from rag_core.types import Usage
from tests.fakes import a_hit
from tests.otlp import a_run, an_event


def told(run: Run, *, texts: bool = True) -> dict[str, SpanData]:
    return {span.name: span for span in spans_of(run, texts=texts)}


def test_the_spans_hang_together_under_one_that_lasts_as_long_as_the_run() -> None:
    run = a_run(an_event(0, "retrieve"), an_event(1, "rerank", 0))
    spans = told(run)
    whole, retrieve, rerank = spans["run"], spans["retrieve"], spans["rerank"]
    assert {span.trace_id for span in spans.values()} == {int(run.id, 16)}
    assert (whole.parent_id, retrieve.parent_id, rerank.parent_id) == (None, whole.span_id, retrieve.span_id)
    began = datetime(2026, 1, 1, tzinfo=UTC).timestamp() * 1e9
    assert (whole.start_ns, whole.end_ns) == (began, began + 3e9)
    assert (rerank.start_ns, rerank.end_ns) == (began + 0.5e9, began + 0.75e9)


def test_what_was_found_has_its_ids_and_scores_and_what_stayed_its_text_and_page() -> None:
    found = {"query": "secret", "hop": 1, "chunks": ["a", "gone"], "scores": [0.9, 0.2]}
    run = a_run(an_event(0, "retrieve", attributes=found), evidence=(a_hit("It is here.", id_="a", page=4),))
    attributes = told(run)["retrieve"].attributes
    assert attributes["openinference.span.kind"] == "RETRIEVER"
    assert attributes["input.value"] == "secret"
    assert attributes["ragscope.hop"] == 1
    assert attributes["retrieval.documents.0.document.id"] == "a"
    assert attributes["retrieval.documents.0.document.score"] == 0.9
    assert attributes["retrieval.documents.0.document.content"] == "It is here."
    where = json.loads(str(attributes["retrieval.documents.0.document.metadata"]))
    assert where == {"document": "report.pdf", "page": 4}
    assert attributes["retrieval.documents.1.document.id"] == "gone"
    assert "retrieval.documents.1.document.content" not in attributes


def test_a_model_call_has_its_model_tokens_cost_and_messages() -> None:
    counts = {"input_tokens": 11, "output_tokens": 7, "cost": 0.25, "engine": "other-model", "note": ""}
    prompt = Prompt(span_id=0, signature="answer.generate", engine="other-model", prompt="Say it.", reply="It.")
    run = a_run(an_event(0, "llm.answer.generate", attributes=counts), prompts=(prompt,))
    attributes = told(run)["llm.answer.generate"].attributes
    assert attributes["openinference.span.kind"] == "LLM"
    assert attributes["llm.model_name"] == "other-model"
    counted = [attributes[f"llm.token_count.{name}"] for name in ("prompt", "completion", "total")]
    assert (*counted, attributes["llm.cost.total"]) == (11, 7, 18, 0.25)
    assert attributes["llm.input_messages.0.message.content"] == attributes["input.value"] == "Say it."
    assert attributes["llm.output_messages.0.message.content"] == attributes["output.value"] == "It."
    assert attributes["ragscope.fell_back"] is False


def test_a_model_that_was_answered_for_is_named_and_reading_alone_is_no_model_call() -> None:
    asked = Prompt(span_id=0, signature="a", engine="keyless", prompt="Say it.", reply="", note="Nothing answers.")
    read = Prompt(span_id=1, signature="b", engine="keyless", prompt="", reply="{}")
    spans = told(a_run(an_event(0, "llm.a"), an_event(1, "llm.b"), prompts=(asked, read)))
    assert spans["llm.a"].attributes["llm.model_name"] == "small-model"
    assert spans["llm.a"].attributes["ragscope.fell_back"] is True
    assert spans["llm.b"].attributes["openinference.span.kind"] == "CHAIN"
    assert "llm.model_name" not in spans["llm.b"].attributes


def test_the_whole_says_what_was_asked_and_what_it_took() -> None:
    usage = Usage(model_calls=3, input_tokens=20, output_tokens=5)
    attributes = told(a_run(final_answer="This.", searches=4, total_hops=2, usage=usage))["run"].attributes
    assert attributes["openinference.span.kind"] == "CHAIN"
    assert attributes["session.id"] == "c"
    assert (attributes["input.value"], attributes["output.value"]) == ("What is secret?", "This.")
    assert [attributes[f"ragscope.{name}"] for name in ("searches", "hops", "model_calls", "tokens")] == [4, 2, 3, 25]
    assert not [name for name in attributes if name.startswith("llm.")], "they would be added up twice"
    assert "ragscope.cost" not in attributes


def test_a_failed_step_has_the_type_and_the_message_of_its_exception() -> None:
    run = a_run(
        an_event(0, "retrieve", error="It is down.", error_type="StoreError"), status="failed", error="It is down."
    )
    spans = told(run)
    expected = {"exception.type": "StoreError", "exception.message": "It is down."}
    assert spans["retrieve"].exception == spans["run"].exception == expected
    assert told(run, texts=False)["retrieve"].exception == {"exception.type": "StoreError"}
    assert told(a_run())["run"].exception is None


def test_without_texts_nothing_goes_out_that_a_person_or_a_document_said() -> None:
    spoken = {"query": "secret", "queries": ["secret"], "recalled": [{"answer": "secret"}], "why": "It is secret."}
    counted = {"found": 2, "pages": [1, 2], "chunks": ["a"], "scores": [0.5]}
    prompt = Prompt(span_id=2, signature="x", engine="small-model", prompt="secret", reply="secret", note="secret")
    run = a_run(
        an_event(0, "retrieve", attributes={**spoken, **counted}),
        an_event(1, "gate", attributes=spoken, error="secret", error_type="StoreError"),
        an_event(2, "llm.x", attributes={"input_tokens": 1, "output_tokens": 2}),
        prompts=(prompt,),
        evidence=(a_hit("secret", id_="a", name="secret.pdf"),),
        final_answer="secret",
        collection="secret",
        plan={"name": "for the secret deal"},
        note="secret",
        status="failed",
        error="secret",
    )
    assert "secret" in str(spans_of(run, texts=True))
    spans = told(run, texts=False)
    assert "secret" not in str([*spans.values()])
    retrieve = spans["retrieve"].attributes
    assert (retrieve["ragscope.found"], retrieve["ragscope.pages"]) == (2, "[1, 2]")
    assert retrieve["retrieval.documents.0.document.id"] == "a"
    assert spans["llm.x"].attributes["llm.model_name"] == "small-model"
    assert spans["llm.x"].attributes["llm.token_count.total"] == 3
