import pytest

from rag_core.llm.engine import KeylessEngine
from rag_core.llm.reading.reading import Reading
from rag_core.techniques.validate import Validate, ValidateSettings, support
from rag_core.types import Sentence
from tests.fakes import Watch, WordVectors, a_chunk

READING = Reading(WordVectors())
EVIDENCE = "Revenue was $50 million in the third quarter of 2023."


@pytest.mark.parametrize(
    ("claim", "least", "most"),
    [
        ("Revenue was $50 million.", 1.0, 1.0),
        ("Revenue was $70 million.", 0.0, 0.5),
        ("The fox jumps high.", 0.0, 0.0),
    ],
)
def test_support_is_the_words_and_numbers_that_stand_there(claim: str, least: float, most: float) -> None:
    assert least <= support(claim, [EVIDENCE], READING) <= most


def test_a_sentence_that_cites_nothing_has_no_support() -> None:
    assert support("Revenue was $50 million.", [], READING) == 0.0


def test_every_sentence_gets_its_label_and_the_answer_its_quality() -> None:
    chunk = a_chunk(EVIDENCE, id_="a")
    answer = [
        Sentence(text="Revenue was $50 million.", citations=("a",)),
        Sentence(text="The fox jumps high.", citations=("a",)),
    ]
    told = Validate(ValidateSettings(), KeylessEngine(), READING).check(
        "What was revenue?", answer, {"a": chunk}, Watch()
    )
    assert [sentence.support for sentence in told.sentences] == ["fully_supported", "no_support"]
    assert told.quality == 0.5
    assert told.issues == ("Sentence 2 has no support.",)
