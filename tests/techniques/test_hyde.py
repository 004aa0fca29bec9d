import threading
import time
from collections.abc import Callable

import numpy as np
import pytest

from rag_core.errors import RagError, Stopped
from rag_core.llm.engine import KeylessEngine
from rag_core.llm.reading.reading import Reading
from rag_core.techniques.hyde import Hyde, HydeOutput, HydeSettings
from tests.fakes import Watch, WordVectors, a_hit
from tests.model_server import Turn, says
from tests.techniques.scripted import a_model

VECTORS = WordVectors()
READING = Reading(VECTORS)
HITS = [a_hit("The fox sleeps in its den all day. Nobody knows about the moon."), a_hit("A den has two exits or more.")]


class ByTemperature:
    """An engine that does with each hypothetical what is said for its temperature."""

    name = "scripted"

    def __init__(self, **does: Callable[[Watch], str]) -> None:
        self._does = does

    def complete(self, signature, inputs, reading, watch, *, stream=False) -> HydeOutput:
        return HydeOutput(text=self._does[f"at_{signature.temperature}".replace(".", "_")](watch))


def never(watch: Watch) -> str:
    while not watch.stopped():
        time.sleep(0.01)
    raise Stopped("The run was stopped.")


def broken(_: Watch) -> str:
    raise RagError("It is broken: mend it.")


def test_hypotheticals_come_in_the_order_of_their_temperatures_whichever_is_first() -> None:
    second_is_there = threading.Event()

    def slow(_: Watch) -> str:
        assert second_is_there.wait(60)
        return "In a den."

    def quick(_: Watch) -> str:
        second_is_there.set()
        return "Under a root."

    hyde = Hyde(
        HydeSettings(num_hypotheticals=2, temperature=0.5), ByTemperature(at_0_5=slow, at_0_6=quick), READING, VECTORS
    )
    assert hyde.imagine("Where does it sleep?", HITS, Watch()) == ("In a den.", "Under a root.")


def test_one_that_fails_and_one_that_is_late_spoil_none_of_the_others() -> None:
    engine = ByTemperature(at_0_7=never, at_0_8=lambda _: "In a den.", at_0_9=broken)
    watch = Watch()
    texts = Hyde(HydeSettings(timeout_s=1), engine, READING, VECTORS).imagine("Where?", HITS, watch)
    assert texts == ("In a den.",)
    assert [call.note for call in watch.calls] == ["It was not there after 1 s and is done without."]


def test_all_are_asked_for_at_the_same_time() -> None:
    together = threading.Barrier(3)

    def turn(_: str) -> Turn:
        together.wait(60)
        return says("In a den.")

    with a_model("unused") as (engine, server):
        server.then = turn
        texts = Hyde(HydeSettings(), engine, READING, VECTORS).imagine("Where does it sleep?", HITS, Watch())
        assert sorted(asked["temperature"] for asked in server.asked) == [0.7, 0.8, 0.9]
    assert texts == ("In a den.",)


def test_a_stopped_run_stops_it() -> None:
    watch = Watch()
    watch.stop = True
    with a_model(Turn(["x"], pause_s=5)) as (engine, _), pytest.raises(Stopped):
        Hyde(HydeSettings(), engine, READING, VECTORS).imagine("Where?", HITS, watch)


def test_without_a_model_sentences_of_the_first_hits_stand_for_answers_the_best_first() -> None:
    hyde = Hyde(HydeSettings(num_hypotheticals=2), KeylessEngine(), READING, VECTORS)
    texts = hyde.imagine("Where does the fox sleep in its den?", HITS, Watch())
    assert texts == ("The fox sleeps in its den all day.", "A den has two exits or more.")


def test_without_a_model_and_hits_there_is_nothing_to_imagine() -> None:
    assert Hyde(HydeSettings(), KeylessEngine(), READING, VECTORS).imagine("Where?", [], Watch()) == ()


def test_the_vector_is_the_mean_with_the_questions_own_of_unit_length() -> None:
    hyde = Hyde(HydeSettings(), KeylessEngine(), READING, VECTORS)
    texts = ["a den", "a lair"]
    mean = (VECTORS.embed_one("where?") + VECTORS.embed_one("a den") + VECTORS.embed_one("a lair")) / 3
    assert np.allclose(hyde.vector("where?", texts), mean / np.linalg.norm(mean))
    assert np.allclose(hyde.vector("where?", ()), VECTORS.embed_one("where?"))
