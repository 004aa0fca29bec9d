import pytest

from rag_core.llm.reading.both import said_of_both
from rag_core.llm.reading.statements import statements

PASSAGES = ("Ada Berg is a Norwegian composer.", "Eva Lund is a Swedish composer.", "Oslo is a city.")


def says(question: str) -> tuple[bool, bool] | None:
    found = [one for number, text in enumerate(PASSAGES) for one in statements(text, number)]
    of_both = said_of_both(question, found)
    return of_both.says if of_both else None


@pytest.mark.parametrize(
    ("question", "expected"),
    [
        ("Are Ada Berg and Eva Lund both composers?", (True, True)),
        ("Are both Ada Berg and Eva Lund composers?", (True, True)),
        ("Are Ada Berg and Eva Lund both Norwegian?", (True, False)),
        ("Are Ada Berg and Eva Lund both painters?", None),
        ("Are Ada Berg and Per Dahl both composers?", None),
        ("Are Ada Berg and Eva Lund both from the same country?", None),
        ("Who are both composers, Ada Berg and Eva Lund?", None),
    ],
)
def test_what_is_asked_of_two_is_looked_for_in_what_is_said_of_each(
    question: str, expected: tuple[bool, bool] | None
) -> None:
    assert says(question) == expected
