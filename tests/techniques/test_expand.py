import pytest

from rag_core.llm.engine import KeylessEngine
from rag_core.llm.reading.reading import Reading
from rag_core.techniques.expand import Expand, ExpandSettings, relevance_model
from rag_core.types import Hit
from tests.fakes import Watch, WordVectors, a_hit
from tests.model_server import Turn
from tests.techniques.scripted import a_model

READING = Reading(WordVectors())
HITS = [
    a_hit("The vixen and her cubs live in a den. The vixen hunts at night."),
    a_hit("A vixen is a female fox; her cubs are born in a den."),
    a_hit("Weather for the coming week: rain."),
]


def expanded(question: str, hits: list[Hit], **settings: int):
    return Expand(ExpandSettings(**settings), KeylessEngine(), READING).expand(question, hits, Watch())


def test_the_relevance_model_is_the_mixture_of_its_documents() -> None:
    model = relevance_model([["fox", "fox", "den"], ["den", "cub"]], [3.0, 1.0])
    assert model == {
        "fox": pytest.approx(2 / 3 * 0.75),
        "den": pytest.approx(1 / 3 * 0.75 + 1 / 2 * 0.25),
        "cub": pytest.approx(1 / 2 * 0.25),
    }
    assert sum(model.values()) == pytest.approx(1)


def test_hits_without_a_score_count_the_same() -> None:
    assert relevance_model([["a"], ["b"]], [0.0, 0.0]) == {"a": 0.5, "b": 0.5}


def test_terms_are_what_several_first_hits_share_and_the_question_lacks() -> None:
    found = expanded("Where does the fox sleep?", HITS, terms=3)
    assert set(found.terms) == {"vixen", "cubs", "den"}
    assert found.query == f"Where does the fox sleep? {' '.join(found.terms)}"


def test_what_is_written_in_one_hit_alone_is_no_term() -> None:
    assert "rain" not in expanded("Where does the fox sleep?", HITS, terms=20).terms


@pytest.mark.parametrize(
    ("question", "term"),
    [("What was EPS?", "earnings per share"), ("How large were earnings per share?", "EPS")],
)
def test_an_acronym_brings_its_long_form_and_the_other_way_round(question: str, term: str) -> None:
    assert expanded(question, [a_hit("Diluted earnings per share (EPS) rose.")]).terms[0] == term


def test_without_hits_the_question_stays_as_it_is() -> None:
    found = expanded("Where does the fox sleep?", [])
    assert (found.query, found.terms) == ("Where does the fox sleep?", ())


def test_a_model_gives_terms_and_words_of_the_question_are_left_out() -> None:
    with a_model('{"terms": ["vixen", "fox", "vixen", " lair "]}') as (engine, server):
        found = Expand(ExpandSettings(terms=2), engine, READING).expand("Where does the fox sleep?", HITS, Watch())
    assert found.terms == ("vixen", "lair")
    assert "up to 2 terms" in server.asked[0]["messages"][-1]["content"]


@pytest.mark.parametrize("reply", ["no JSON here", '{"words": []}', Turn(status=401)])
def test_a_model_that_fails_is_answered_for_by_the_first_hits(reply: str | Turn) -> None:
    watch = Watch()
    with a_model(reply) as (engine, _):
        found = Expand(ExpandSettings(terms=3), engine, READING).expand("Where does the fox sleep?", HITS, watch)
    assert set(found.terms) == {"vixen", "cubs", "den"}
    assert (watch.calls[0].engine, "nswered without it" in watch.calls[0].note) == ("keyless", True)
