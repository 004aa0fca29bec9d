import random

import pytest

from rag_core.llm.reading.changes import Change, changes, settled

WORDS = "the board met in may and sold it".split()


def test_what_went_comes_before_what_came_in_its_place() -> None:
    assert changes("It met in May.", "It met in June, at noon.") == [
        Change("equal", "It met in "),
        Change("delete", "May."),
        Change("insert", "June, at noon."),
    ]


def test_a_last_word_that_goes_on_has_not_changed() -> None:
    assert changes("It met", "It met twice") == [Change("equal", "It met "), Change("insert", "twice")]


def test_the_pieces_spell_both_versions() -> None:
    chance = random.Random(1)
    for _ in range(200):
        before, after = (" ".join(chance.choices(WORDS, k=chance.randrange(12))) for _ in range(2))
        found = changes(before, after)
        assert "".join(piece.text for piece in found if piece.kind != "delete").split() == after.split()
        old = [piece.text for piece in found if piece.kind != "insert"]
        assert [word for piece in old for word in piece.split()] == before.split()


@pytest.mark.parametrize(
    ("versions", "over"),
    [
        ([], False),
        (["a", "a"], False),
        (["a", "a", "a "], True),
        (["a", "a", "b"], False),
        (["b", "a", "a", "a"], True),
    ],
)
def test_no_change_twice_is_the_end(versions: list[str], over: bool) -> None:
    assert settled(versions) == over
