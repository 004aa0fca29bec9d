"""Whatever a model does wrong, every preset ends within its bound, by reading, and says so."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from typing import Any

import pytest

from rag_core.llm.connections import ModelConnection
from rag_core.llm.model import ATTEMPTS, ModelEngine
from rag_core.pipeline.plan import PRESETS
from rag_core.pipeline.run import Run
from tests.model_server import ModelServer, Turn, model_server
from tests.pipeline.library import FILM, QUESTION, TOWN, Library, ask

SLOW = Turn(["a"], pause_s=60)

# What the model does at every call, and what the note of the run says of it.
UNUSABLE = {
    "slow": (SLOW, "it was silent"),
    "429, to come back at once": (Turn(status=429, headers={"retry-after": "0"}), "overloaded"),
    "429, to come back in an hour": (Turn(status=429, headers={"retry-after": "3600"}), "asks to wait 3600 s"),
    "500": (Turn(status=500), "overloaded"),
    "cut stream": (Turn(["Half a sen"], cut=True), "cut off"),
    "thoughts alone": (Turn(["<think>It may be", " Kolin, or not."]), "empty"),
    "empty": (Turn([""]), "empty"),
    "100 kB": (Turn(["blah blah " * 1_000] * 10), "had no end"),
    "endless": (Turn(["blah blah " * 1_000], endless=True), "had no end"),
}
# These are text: an answer that nothing holds up, but no outputs.
NO_OUTPUTS = {
    "bad JSON": Turn(['{"query": "Silent Harbour", ']),
    "wrong fields": Turn(['{"colour": "red"}']),
    "refusal": Turn(["I cannot help with that."]),
}


@pytest.fixture(scope="module")
def server() -> Iterator[ModelServer]:
    with model_server() as running:
        asked(running, Turn(["It is so."]), "simple")  # the client's import takes seconds, once
        yield running


def asked(server: ModelServer, turn: Turn, preset: str, **how: Any) -> tuple[Run, float]:
    """The run with a model that always does the same, and the seconds that it took."""
    server.then = turn
    connection = ModelConnection(kind="openai", base_url=server.base_url, model="scripted")
    engine = ModelEngine(connection, silence_s=0.06 if turn is SLOW else 30, pause_s=0.001)
    began = time.monotonic()
    told = ask(QUESTION, PRESETS[preset], shelves(), engine, **how)
    return told, time.monotonic() - began


def shelves() -> Library:
    return Library({"Silent Harbour": [FILM], "Anton": [TOWN]})


@pytest.mark.parametrize("preset", PRESETS)
@pytest.mark.parametrize("fault", UNUSABLE)
def test_a_model_that_gives_nothing_usable_is_answered_for_by_reading(
    server: ModelServer, fault: str, preset: str
) -> None:
    turn, said = UNUSABLE[fault]
    told, seconds = asked(server, turn, preset)
    read = ask(QUESTION, PRESETS[preset], shelves())
    assert told.status == "done"
    assert (told.final_answer, told.searches) == (read.final_answer, read.searches)
    assert [hit.chunk.id for hit in told.evidence] == [hit.chunk.id for hit in read.evidence]
    assert told.note
    for prompt in told.prompts:
        assert prompt.engine == "keyless"
        assert said in prompt.note
    assert told.usage.model_calls <= ATTEMPTS * len(told.prompts)
    assert seconds < 50


@pytest.mark.parametrize("preset", PRESETS)
@pytest.mark.parametrize("fault", NO_OUTPUTS)
def test_a_reply_that_is_no_output_is_asked_for_once_more_and_then_read_instead(
    server: ModelServer, fault: str, preset: str
) -> None:
    told, _ = asked(server, NO_OUTPUTS[fault], preset)
    assert told.status == "done"
    written = {"answer.generate", "hyde.hypothetical"}
    for prompt in told.prompts:
        assert prompt.engine == ("scripted" if prompt.signature in written else "keyless")
        assert "no usable reply" in prompt.note or prompt.signature in written
    assert told.note
    assert told.sentences
    documents = FILM.chunk.text + TOWN.chunk.text
    assert all(one.support == "no_support" for one in told.sentences if one.text not in documents)


@pytest.mark.parametrize("preset", PRESETS)
def test_the_seconds_of_a_run_bound_a_model_that_is_slow_at_every_call(server: ModelServer, preset: str) -> None:
    told, seconds = asked(server, Turn(["a"], pause_s=60), preset, budget_s=0.15)
    assert seconds < 30
    assert told.status == "done"
    assert "spent" in (told.note or "")


@pytest.mark.parametrize("preset", PRESETS)
def test_a_stop_ends_every_preset_at_once_and_it_keeps_what_it_has(server: ModelServer, preset: str) -> None:
    until = time.monotonic() + 0.2
    told, seconds = asked(server, Turn(["a"], pause_s=60), preset, stopped=lambda: time.monotonic() > until)
    assert told.status == "stopped"
    assert seconds < 30
    assert {span.error_type for span in told.spans if span.error} <= {"Stopped"}


def test_a_reply_that_was_given_up_is_not_written_on(server: ModelServer) -> None:
    def writing() -> list[str]:
        return [thread.name for thread in threading.enumerate() if "process_request" in thread.name]

    asked(server, UNUSABLE["endless"][0], "simple")
    end = time.monotonic() + 60
    while writing():
        assert time.monotonic() < end, "the model goes on for nobody"
        time.sleep(0.02)
