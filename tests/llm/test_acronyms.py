import pytest

from rag_core.llm.reading.acronyms import acronyms_of


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("Diluted earnings per share (EPS) rose.", {"EPS": "earnings per share"}),
        ("The World Health Organization (WHO)", {"WHO": "World Health Organization"}),
        ("See the picture (Fig) and the year (2019).", {}),
        ("Nothing begins so (XYZ).", {}),
        ("(ABC) stands first", {}),
    ],
)
def test_a_long_form_is_what_begins_with_the_acronyms_first_letter(text: str, found: dict[str, str]) -> None:
    assert acronyms_of(text) == found
