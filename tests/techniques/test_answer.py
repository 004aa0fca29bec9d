import pytest

from rag_core.llm.reading.reading import Reading
from rag_core.llm.signature import ReplyError
from rag_core.techniques.answer import (
    AnswerInput,
    AnswerOutput,
    CitedSentence,
    Passage,
    answer_by_quoting,
    read_reply,
    shown_reply,
)
from tests.fakes import WordVectors


def quoted(question: str, *passages: Passage | str, max_words: int = 60) -> AnswerOutput:
    evidence = [Passage(text=p) if isinstance(p, str) else p for p in passages]
    asked = AnswerInput(question=question, passages="", evidence=evidence, max_sentences=3, max_words=max_words)
    return answer_by_quoting(asked, Reading(WordVectors()))


def test_the_sentence_that_answers_is_quoted_with_its_passage() -> None:
    told = quoted("What colour is the fox?", "The sky is blue.", "Foxes hunt. The fox colour is red. They sleep a lot.")
    assert told.sentences[0] == CitedSentence(text="The fox colour is red.", passages=(2,))


def test_a_second_sentence_comes_only_for_what_the_first_does_not_say() -> None:
    told = quoted(
        "What colour is the fox and where does the badger live?",
        "The colour of the fox is red. The fox is red in colour.",
        "The badger does live in a sett.",
    )
    texts = [sentence.text for sentence in told.sentences]
    assert "The badger does live in a sett." in texts
    assert len([text for text in texts if "fox" in text]) == 1


def test_the_answer_stays_within_its_words() -> None:
    told = quoted(
        "fox badger", "The fox " + "runs " * 20 + "far.", "The badger " + "digs " * 20 + "deep.", max_words=30
    )
    assert len(told.sentences) == 1


def test_of_a_table_the_row_is_quoted_with_the_names_of_its_cells() -> None:
    table = Passage(kind="table", text="Segment | Q3 2023 | Q3 2022\nCloud | 30 | 25\nDevices | 20 | 22")
    told = quoted("What was Cloud in Q3 2023?", table)
    assert told.sentences[0].text == "Cloud — Q3 2023: 30; Q3 2022: 25"


def test_a_heading_is_not_quoted_for_the_sentence_under_it() -> None:
    told = quoted("What is the fox policy?", "The fox policy document\n\nThe fox policy is to let it be.")
    assert told.sentences[0].text == "The fox policy is to let it be."


@pytest.mark.parametrize("passages", [(), ("",), ("The sky is blue.",)])
def test_what_is_not_there_is_not_answered(passages: tuple[str, ...]) -> None:
    told = quoted("Who won the chess championship in Oslo?", *passages)
    assert not told.found
    assert told.sentences == []


@pytest.mark.parametrize(
    ("reply", "sentences"),
    [
        ("One. [1] Two. [2][3]", [("One.", (1,)), ("Two.", (2, 3))]),
        ("One [1]. Two [2, 3].", [("One.", (1,)), ("Two.", (2, 3))]),
        ("No marks at all.", [("No marks at all.", ())]),
        ("- First [1]\n- Second [2]", [("First", (1,)), ("Second", (2,))]),
    ],
)
def test_marks_belong_to_the_sentence_before_them(reply: str, sentences: list[tuple[str, tuple[int, ...]]]) -> None:
    assert [(s.text, s.passages) for s in read_reply(reply).sentences] == sentences


def test_the_confidence_of_a_reply_is_read_and_taken_off() -> None:
    told = read_reply("It is red [1].\n\n**CONFIDENCE:** 0.85")
    assert (told.confidence, [s.text for s in told.sentences]) == (0.85, ["It is red."])


def test_a_reply_without_an_answer_is_refused() -> None:
    with pytest.raises(ReplyError):
        read_reply("CONFIDENCE: 0.9")


@pytest.mark.parametrize("end", range(len("It is red.\nCONFIDENCE: 0.9") + 1))
def test_a_reader_never_sees_the_line_on_confidence(end: int) -> None:
    shown = shown_reply("It is red.\nCONFIDENCE: 0.9"[:end])
    assert "It is red.".startswith(shown.strip("\n"))
