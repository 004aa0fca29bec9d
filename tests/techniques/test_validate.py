import pytest

from rag_core.llm.critic import Critic
from rag_core.llm.engine import KeylessEngine
from rag_core.llm.reading.reading import Reading
from rag_core.techniques.validate import Validate, ValidateSettings
from rag_core.types import Sentence
from tests.fakes import Watch, WordVectors, a_chunk

READING = Reading(WordVectors())
CRITIC = Critic(READING)
EVIDENCE = "Revenue was $50 million in the third quarter of 2023."


def checked(text: str, evidence: str = EVIDENCE) -> Sentence:
    validate = Validate(ValidateSettings(), KeylessEngine(), READING, CRITIC)
    told = validate.check("?", [Sentence(text=text, citations=("a",))], {"a": a_chunk(evidence, id_="a")}, Watch())
    return told.sentences[0]


def test_a_quotation_is_fully_supported() -> None:
    assert checked(EVIDENCE).support == "fully_supported"


@pytest.mark.parametrize(
    "claim",
    ["Revenue was $70 million in the third quarter of 2023.", "The fox jumps high.", "Revenue was not $50 million."],
)
def test_what_the_evidence_does_not_say_or_gainsays_is_not_fully_supported(claim: str) -> None:
    said = checked(claim)
    assert said.support != "fully_supported"
    assert said.probability is not None
    assert said.probability < (checked(EVIDENCE).probability or 0)


def test_a_sentence_that_cites_nothing_has_no_support() -> None:
    told = Validate(ValidateSettings(), KeylessEngine(), READING, CRITIC).check(
        "?", [Sentence(text="Revenue was $50 million.")], {}, Watch()
    )
    assert (told.sentences[0].probability, told.sentences[0].support) == (0.0, "no_support")


def test_every_sentence_gets_its_label_and_the_answer_its_quality() -> None:
    chunk = a_chunk(EVIDENCE, id_="a")
    answer = [
        Sentence(text="Revenue was $50 million.", citations=("a",)),
        Sentence(text="The fox jumps high.", citations=("a",)),
    ]
    told = Validate(ValidateSettings(), KeylessEngine(), READING, CRITIC).check(
        "What was revenue?", answer, {"a": chunk}, Watch()
    )
    assert [sentence.support for sentence in told.sentences] == ["fully_supported", "no_support"]
    assert told.quality == pytest.approx(0.5, abs=0.1)
    assert told.issues == ("Sentence 2 has no support.",)
