"""The model engine against a real HTTP server that is scripted with all a model can do wrong."""

import time
from collections.abc import Iterator

import pytest
from pydantic import BaseModel

from rag_core.errors import Stopped
from rag_core.llm.connections import ModelConnection
from rag_core.llm.likelihood import Scored
from rag_core.llm.model import ModelEngine
from rag_core.llm.reading.reading import Reading
from rag_core.llm.signature import Signature
from tests.fakes import Watch, WordVectors
from tests.model_server import ModelServer, Turn, model_server, says


class Asked(BaseModel):
    question: str


class Told(BaseModel):
    answer: str


JSON = Signature("test.json", Asked, Told, "{question}", keyless=lambda i, r: Told(answer="keyless"), max_tokens=50)
TEXT = Signature(
    "test.text", Asked, Told, "{question}", keyless=lambda i, r: Told(answer="keyless"), read=lambda t: Told(answer=t)
)
SCORED = Signature(
    "test.scored",
    Asked,
    Told,
    "{question}",
    keyless=lambda i, r: Told(answer="keyless"),
    read_scored=lambda scored: Told(answer=_said(scored)),
)
GOOD = '{"answer": "good"}'


def _said(reply: Scored) -> str:
    return ", ".join(f"{label} {share:.2f}" for label, share in reply.probabilities(0, ("yes", "no")).items())


@pytest.fixture
def server() -> Iterator[ModelServer]:
    with model_server() as running:
        yield running


def ask(
    server: ModelServer,
    signature: Signature = JSON,
    watch: Watch | None = None,
    silence_s: float = 30,
    **connection: str,
) -> tuple[str, Watch]:
    watch = watch or Watch()
    known = {"kind": "openai", "base_url": server.base_url, "model": "scripted", **connection}
    engine = ModelEngine(ModelConnection.model_validate(known), silence_s=silence_s, pause_s=0.01)
    told = engine.complete(signature, Asked(question="?"), Reading(WordVectors()), watch, stream=signature is TEXT)
    return told.answer, watch


def test_a_good_reply_is_read_and_its_tokens_are_counted(server: ModelServer) -> None:
    server.script = [says(f"<think>hm {GOOD[:-7]}</think>{GOOD}")]
    answer, watch = ask(server)
    assert answer == "good"
    (call,) = watch.calls
    assert (call.engine, call.note, call.usage.input_tokens, call.usage.output_tokens) == ("scripted", "", 11, 7)


def test_a_bad_reply_is_repaired_once_with_the_reason(server: ModelServer) -> None:
    server.script = [says("nonsense"), says(GOOD)]
    answer, watch = ask(server)
    assert answer == "good"
    assert "no JSON object" in server.asked[1]["messages"][-1]["content"]
    assert watch.calls[0].usage.model_calls == 2


@pytest.mark.parametrize("bad", ["nonsense", "", '{"wrong": 1}', "I cannot help with that.", "<think>never ends"])
def test_two_bad_replies_end_in_the_keyless_answer_and_say_so(server: ModelServer, bad: str) -> None:
    server.script = [says(bad), says(bad)]
    answer, watch = ask(server)
    assert answer == "keyless"
    assert watch.calls[0].engine == "keyless"
    assert "no usable reply" in watch.calls[0].note


def test_a_busy_server_is_waited_for_as_long_as_it_asks(server: ModelServer) -> None:
    server.script = [Turn(status=429, headers={"retry-after": "0.3"}), Turn(status=503), says(GOOD)]
    began = time.monotonic()
    answer, watch = ask(server)
    assert answer == "good"
    assert time.monotonic() - began >= 0.3
    assert "tried 3 times" in watch.calls[0].note


def test_a_wait_longer_than_the_bound_is_not_waited(server: ModelServer) -> None:
    server.script = [Turn(status=429, headers={"retry-after": "3600"})]
    began = time.monotonic()
    answer, watch = ask(server)
    assert answer == "keyless"
    assert time.monotonic() - began < 60
    assert "3600" in watch.calls[0].note


def test_a_server_that_keeps_failing_is_given_up_after_three_attempts(server: ModelServer) -> None:
    server.then = Turn(status=500)
    answer, watch = ask(server)
    assert answer == "keyless"
    assert len(server.asked) == 3
    assert "overloaded" in watch.calls[0].note


def test_a_cut_stream_is_begun_again_and_what_was_shown_is_taken_back(server: ModelServer) -> None:
    server.script = [Turn(["Half a sen"], cut=True), says("A whole sentence.")]
    answer, watch = ask(server, TEXT)
    assert answer == "A whole sentence."
    assert watch.heard == "A whole sentence."
    assert watch.restarts == 1


def test_a_stream_that_ends_without_an_end_counts_as_cut(server: ModelServer) -> None:
    server.then = Turn(["Half"], cut=True)
    answer, _ = ask(server, TEXT)
    assert answer == "keyless"


def test_thoughts_are_never_shown(server: ModelServer) -> None:
    server.script = [says("<think>secret plan</think>The answer.")]
    seen: list[str] = []

    class Listening(Watch):
        def text(self, delta: str) -> None:
            seen.append(delta)

    ask(server, TEXT, Listening())
    assert "".join(seen) == "The answer."


def test_a_silent_model_is_given_up_after_its_seconds(server: ModelServer) -> None:
    server.script = [Turn(["a"], pause_s=60)]
    began = time.monotonic()
    answer, watch = ask(server, silence_s=0.5)
    assert answer == "keyless"
    assert time.monotonic() - began < 30
    assert "silent" in watch.calls[0].note or "unreachable" not in watch.calls[0].note


def test_a_reply_without_end_is_cut_at_its_bound(server: ModelServer) -> None:
    server.script = [Turn(["blah " * 20], endless=True)]
    answer, watch = ask(server)
    assert answer == "keyless"
    assert "no end" in watch.calls[0].note


def test_a_stop_ends_the_wait_at_once(server: ModelServer) -> None:
    server.script = [Turn(["a"] * 300, pause_s=0.2)]
    watch = Watch()

    class Impatient(Watch):
        def text(self, delta: str) -> None:
            self.stop = True

    began = time.monotonic()
    with pytest.raises(Stopped):
        ask(server, TEXT, Impatient())
    assert time.monotonic() - began < 30
    assert watch.calls == []


def test_the_run_s_budget_ends_a_slow_reply(server: ModelServer) -> None:
    server.script = [Turn(["a"], pause_s=0.5)]
    answer, watch = ask(server, watch=Watch(left_s=0))
    assert answer == "keyless"
    assert "time was spent" in watch.calls[0].note


def test_a_wrong_key_an_unknown_model_and_a_dead_address_say_what_to_do(server: ModelServer) -> None:
    server.key = "right"
    assert "refused the key" in ask(server, api_key="wrong")[1].calls[0].note
    assert "no model 'other'" in ask(server, api_key="right", model="other")[1].calls[0].note
    assert "Nothing answers" in ask(server, base_url="http://127.0.0.1:9/v1")[1].calls[0].note


def test_ollama_is_spoken_to_in_its_own_protocol(server: ModelServer) -> None:
    server.script = [says(GOOD)]
    answer, watch = ask(server, kind="ollama", base_url=server.base_url.removesuffix("/v1"))
    assert answer == "good"
    assert watch.calls[0].usage.output_tokens == 7


def test_a_label_comes_with_its_probabilities_where_the_endpoint_gives_them(server: ModelServer) -> None:
    server.script = [Turn(["yes"], likely=[{"yes": 0.6, "no": 0.2, "maybe": 0.2}])]
    answer, _ = ask(server, SCORED)
    assert answer == "yes 0.75, no 0.25"
    assert server.asked[0]["top_logprobs"] == 5


def test_an_endpoint_that_gives_no_probabilities_is_taken_at_its_word(server: ModelServer) -> None:
    server.then = says("no")
    assert ask(server, SCORED)[0] == "yes 0.00, no 1.00"
    assert ask(server, SCORED, kind="ollama", base_url=server.base_url.removesuffix("/v1"))[0] == "yes 0.00, no 1.00"


def test_an_endpoint_that_refuses_to_give_them_is_asked_without_and_that_is_remembered(server: ModelServer) -> None:
    server.refuses, server.then = "logprobs", says("no")
    engine = ModelEngine(ModelConnection(kind="openai", base_url=server.base_url, model="scripted"), pause_s=0.01)
    told = [engine.complete(SCORED, Asked(question="?"), Reading(WordVectors()), Watch()).answer for _ in range(2)]
    assert told == ["yes 0.00, no 1.00"] * 2
    assert ["logprobs" in body for body in server.asked] == [True, False, False]


def test_other_signatures_do_not_ask_for_probabilities(server: ModelServer) -> None:
    server.script = [says(GOOD)]
    ask(server)
    assert "logprobs" not in server.asked[0]
    assert "top_logprobs" not in server.asked[0]
