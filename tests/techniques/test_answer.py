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
    passages = ("The fox will live in a den.", "The badger will live in a sett.")
    assert len(quoted("Where do fox and badger live?", *passages, max_words=20).sentences) == 2
    assert len(quoted("Where do fox and badger live?", *passages, max_words=10).sentences) == 1


def test_what_points_back_brings_its_subject_in_the_order_of_the_document() -> None:
    told = quoted("Where does it sleep by day?", "The badger is shy. It does sleep by day in a sett. Rain falls.")
    assert [sentence.text for sentence in told.sentences][:2] == [
        "The badger is shy.",
        "It does sleep by day in a sett.",
    ]


def test_a_sentence_with_a_value_of_the_kind_asked_for_comes_before_one_without() -> None:
    told = quoted("When did the fox den open?", "The fox den did open late.", "The fox den did open in 2009.")
    assert told.sentences[0].text == "The fox den did open in 2009."


def test_where_documents_give_different_values_the_answer_says_so() -> None:
    told = quoted(
        "Who won the race in Oslo?",
        "Anna Berg won the race in Oslo by a second.",
        "Eva Lund won the race in Oslo by a second.",
        "In Oslo, the race that Eva Lund won by a second was long.",
    )
    assert [sentence.text for sentence in told.sentences] == [
        "The documents disagree: Eva Lund or Anna Berg.",
        "Eva Lund won the race in Oslo by a second.",
        "Anna Berg won the race in Oslo by a second.",
    ]
    assert told.sentences[0].passages == (2, 1)
    assert told.sentences[0].computed == "Eva Lund: 2 passages; Anna Berg: 1 passage"


def test_a_name_that_stands_nowhere_needs_closer_evidence() -> None:
    evidence = "The den of the fox is open to visitors from nine to noon in summer."
    assert quoted("Is the den of a badger open at night?", evidence).found
    assert not quoted("Is the den of Lisbon open at night?", evidence).found


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


def test_what_is_asked_of_both_is_answered_by_yes_or_no_and_what_is_said_of_each() -> None:
    told = quoted(
        "Are Ada Berg and Eva Lund both Norwegian?", "Ada Berg is a Norwegian composer.", "Eva Lund is a composer."
    )
    assert [sentence.text for sentence in told.sentences] == [
        "No, that is said of Ada Berg alone.",
        "Ada Berg is a Norwegian composer.",
        "Eva Lund is a composer.",
    ]
    assert told.sentences[0].passages == (1, 2)
