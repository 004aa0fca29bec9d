from rag_core.llm.reading.mending import CitedText, as_sentences, evidence_of, mended, quotable
from rag_core.llm.reading.reading import Reading
from rag_core.types import Sentence
from tests.fakes import WordVectors, a_chunk, a_hit

READING = Reading(WordVectors())
QUESTION = "What are revenue, profit and dividend of the third quarter?"
PASSAGES = [
    ["Rain fell.", "The profit of the third quarter was 9 million."],
    ["The dividend was 2 cents.", "It was paid in May."],
]


def told(
    answer: list[str], supported: list[float], *, most: int = 3, passages: list[list[str]] = PASSAGES
) -> list[CitedText]:
    return mended(QUESTION, answer, supported, passages, READING, most)


def test_a_quote_takes_the_place_of_what_nothing_holds_and_others_follow() -> None:
    answer = ["Revenue was 50 million.", "Profit was 70 million.", "Revenue is up."]
    assert [(one.text, one.passages) for one in told(answer, [1.0, 0.1, 0.9])] == [
        ("Revenue was 50 million.", []),
        ("The profit of the third quarter was 9 million.", [1]),
        ("Revenue is up.", []),
        ("The dividend was 2 cents.", [2]),
    ]


def test_no_more_quotes_than_allowed_and_none_that_adds_nothing() -> None:
    assert len(told(["Revenue was 50 million."], [1.0], most=1)) == 2
    assert len(told(["Revenue was 50 million."], [1.0], passages=[["Rain fell on us."]])) == 1


def test_an_answer_that_nothing_holds_and_nothing_replaces_stays() -> None:
    assert [one.text for one in told(["Rain fell."], [0.0], passages=[])] == ["Rain fell."]


def test_what_stayed_keeps_what_is_known_and_what_is_new_cites_passages_that_exist() -> None:
    before = [Sentence(text="It is 300.", computed="1 + 299", citations=("a",), probability=1.0)]
    written = [
        CitedText(text="It  is 300.", passages=[2]),
        CitedText(text="New.", passages=[2, 9, 2, 0]),
        CitedText(text="New."),
        CitedText(text=" "),
    ]
    found = as_sentences(written, before, [a_chunk("x", id_="a"), a_chunk("y", id_="b")])
    assert found == [before[0], Sentence(text="New.", citations=("b",))]


def test_the_evidence_is_what_is_cited_and_then_the_best() -> None:
    hits = [a_hit(text, id_=text) for text in "abcd"]
    answer = [Sentence(text="One.", citations=("d", "gone")), Sentence(text="Two.", citations=("c",))]
    assert [chunk.id for chunk in evidence_of(answer, hits, 3)] == ["d", "c", "a"]
    assert [chunk.id for chunk in evidence_of(answer, hits, 0)] == ["d", "c"]


def test_whole_sentences_can_be_quoted_and_a_heading_only_where_there_is_nothing_else() -> None:
    chunk = a_chunk("Results of the year\n\nAcme was founded in 1901. It makes anvils.")
    assert quotable(chunk) == ["Acme was founded in 1901.", "It makes anvils."]
    assert quotable(a_chunk("Results of the year")) == ["Results of the year"]


def test_a_row_can_be_quoted_with_the_names_of_its_cells() -> None:
    table = a_chunk("Unit | 2023 | 2022\nCloud | 30 | 25", kind="table")
    assert quotable(table) == ["Cloud — 2023: 30; 2022: 25"]
