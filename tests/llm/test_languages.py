import pytest

from rag_core.llm.reading.languages import index_terms, language_of
from rag_core.llm.reading.words import stems


@pytest.mark.parametrize(
    ("text", "language"),
    [
        ("Die Erträge der Banken sind im letzten Jahr gestiegen.", "german"),
        ("Les revenus des banques ont augmenté pour la troisième fois.", "french"),
        ("¿Cuántos empleados trabajan en las oficinas del banco?", "spanish"),
        ("De winst van het bedrijf is in dat jaar gestegen.", "dutch"),
        ("Доходы компании выросли на три процента в этом году.", "russian"),
        ("The revenues of banks rose for the third time.", "english"),
        ("Net revenues 2023", "english"),
    ],
)
def test_common_words_tell_the_language_of_a_text(text: str, language: str) -> None:
    assert language_of(text) == language


@pytest.mark.parametrize("text", ["Who directed Die Hard and Das Boot?", "What is de la Cruz known for?"])
def test_foreign_names_do_not_make_an_english_question_foreign(text: str) -> None:
    assert language_of(text, least=1) == "english"


def test_english_is_found_by_its_stems_alone() -> None:
    text = "What were the revenues of Zürich’s banks in 2023?"
    assert index_terms(text) == stems(text)


@pytest.mark.parametrize(
    ("said", "asked", "stem"),
    [
        ("Die Erträge der Banken sind gestiegen.", "Wie hoch war der Ertrag?", "ertrag"),
        ("Les chevaux sont dans la prairie.", "Où est le cheval ?", "cheval"),
        ("Доходы компаний выросли на треть в этом году.", "Каков доход от продаж?", "доход"),
    ],
)
def test_word_forms_of_other_languages_meet(said: str, asked: str, stem: str) -> None:
    assert stem in index_terms(said)
    assert stem in index_terms(asked, least=1)


def test_text_without_spaces_is_found_by_pairs_of_characters() -> None:
    assert index_terms("東京都の2023年") == ["東京", "京都", "都の", "2023", "年"]
