import pytest
from hypothesis import given
from hypothesis import strategies as st

from rag_core.llm.reading.sentences import sentences


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("One. Two! Three?", ["One.", "Two!", "Three?"]),
        (
            "Dr. Smith paid $1.2 million, e.g. in cash. It closed.",
            ["Dr. Smith paid $1.2 million, e.g. in cash.", "It closed."],
        ),
        ("See Fig. 3 for J. Doe. Next.", ["See Fig. 3 for J. Doe.", "Next."]),
        ("Points:\n- first\n- second", ["Points:", "first", "second"]),
        ("A title\n\nThen text.", ["A title", "Then text."]),
        ("これは文です。次の文です。", ["これは文です。", "次の文です。"]),
        ('He said "No." Then left.', ['He said "No."', "Then left."]),
        ("", []),
    ],
)
def test_text_is_cut_where_a_reader_would(text: str, expected: list[str]) -> None:
    assert sentences(text) == expected


@given(st.lists(st.text(alphabet="abC.!? \n1", max_size=30)).map(" ".join))
def test_no_letter_is_lost(text: str) -> None:
    kept = "".join("".join(sentences(text)).split())
    assert [c for c in kept if c.isalpha()] == [c for c in text if c.isalpha()]
