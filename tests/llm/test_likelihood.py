import math

import pytest

from rag_core.llm.likelihood import Scored, Token, scored

SIDES = ("[Relevant]", "[Irrelevant]")
SUPPORT = ("[Fully supported]", "[No support]", "[No support / Contradictory]")


def token(text: str, **others: float) -> Token:
    """A token with what is left of the probability of the others."""
    known = {other.replace("_", " "): math.log(value) for other, value in others.items()}
    return Token(text, known | {text: math.log(1 - sum(others.values()))})


def test_a_label_that_is_one_token_has_the_probabilities_of_that_token() -> None:
    reply = scored("[Relevant]", [token("[Relevant]", **{"[Irrelevant]": 0.2, "The": 0.2})])
    assert reply.probabilities(0, SIDES) == pytest.approx({"[Relevant]": 0.75, "[Irrelevant]": 0.25})


def test_tokens_that_do_not_spell_the_reply_count_for_nothing() -> None:
    reply = scored("[Relevant] é", [token("[Relevant]", **{"[Irrelevant]": 0.2}), token(" \\xc3"), token("\\xa9")])
    assert reply.probabilities(0, SIDES) == {"[Relevant]": 1.0, "[Irrelevant]": 0.0}


def test_a_label_of_several_tokens_is_told_apart_where_the_labels_part() -> None:
    tokens = [token("It is so. ["), token("Rel", Ir=0.3, The=0.1), token("evant", ative=0.5), token("]")]
    reply = scored("It is so. [Relevant]", tokens)
    assert reply.probabilities(10, SIDES) == pytest.approx({"[Relevant]": 0.6 / 0.9, "[Irrelevant]": 0.3 / 0.9})


def test_labels_that_begin_alike_part_where_they_end() -> None:
    reply = scored("[No support]", [token("[No", **{"[Fully": 0.2}), token(" support"), token("]", _=0.25)])
    assert reply.probabilities(0, SUPPORT) == pytest.approx(dict(zip(SUPPORT, (0.2, 0.6, 0.2), strict=True)))


def test_thoughts_before_the_text_are_left_out() -> None:
    tokens = [token("<think>[Relevant]?</think>\n"), token("[Relevant]", **{"[Irrelevant]": 0.4})]
    assert scored("[Relevant]", tokens).probabilities(0, SIDES)["[Irrelevant]"] == pytest.approx(0.4)


def test_without_tokens_the_label_that_stands_there_has_all() -> None:
    assert Scored("[No support]").probabilities(0, SUPPORT) == dict(zip(SUPPORT, (0, 1, 0), strict=True))
    assert set(Scored("Nothing.").probabilities(0, SUPPORT).values()) == {0.0}
