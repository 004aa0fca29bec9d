from collections.abc import Sequence
from decimal import Decimal

import pytest

from rag_core.llm.connections import ModelConnection
from rag_core.llm.engine import Engine, KeylessEngine
from rag_core.llm.model import ModelEngine
from rag_core.llm.reading.reading import Reading
from rag_core.parsing.tables import Quantity
from rag_core.techniques.multimodal import Multimodal, MultimodalSettings, operation_in, periods_in, shown
from rag_core.types import Hit, SearchFilter, Sentence
from tests.fakes import Watch, WordVectors, a_chunk
from tests.model_server import model_server, says


def table(*rows: Sequence[str], caption: str = "", id_: str = "t") -> Hit:
    head, *body = rows
    html = "".join(f"<th>{cell}</th>" for cell in head)
    html = f"<tr>{html}</tr>" + "".join("<tr>" + "".join(f"<td>{cell}</td>" for cell in row) + "</tr>" for row in body)
    text = "\n".join(" | ".join(row) for row in rows)
    chunk = a_chunk(text, id_=id_, kind="table", html=f"<table>{html}</table>", caption=caption)
    return Hit(chunk=chunk, score=1.0)


INCOME = table(
    ("", "2019", "2018"),
    ("Net sales", "3,200", "2,900"),
    ("Audit fees (1)", "40", "50"),
    ("Net profit", "(120)", "80"),
    ("Cash", "—", "10"),
    caption="Income (in millions of $)",
)
TOWNS = table(
    ("Town", "Hotel", "Guests"), ("London", "£ 220", "41%"), ("Denver", "£ 180", "22%"), ("Total", "£ 400", "")
)
SALARIES = table(
    ("Name", "Fiscal Year", "Salary"),
    ("Ann Lee", "2018", "$ 100"),
    ("Ann Lee", "2019", "$ 130"),
    ("Bo Ek", "2019", "$ 90"),
)


def answered(question: str, *hits: Hit, engine: Engine | None = None) -> Sentence | None:
    technique = Multimodal(MultimodalSettings(), engine or KeylessEngine(), Reading(WordVectors()))
    return technique.answer(question, hits, Watch())


@pytest.mark.parametrize(
    ("question", "hit", "text", "cells"),
    [
        ("What were net sales in 2019?", INCOME, "Net sales, 2019: $ 3,200 million.", ["3,200"]),
        ("What was the net profit in 2019?", INCOME, "Net profit, 2019: −$ 120 million.", ["(120)"]),
        (
            "What were net sales in 2019 and 2018 respectively?",
            INCOME,
            "Net sales, 2019: $ 3,200 million; Net sales, 2018: $ 2,900 million.",
            ["3,200", "2,900"],
        ),
        ("What is the hotel limit for London?", TOWNS, "London, Hotel: £ 220.", ["£ 220"]),
        ("What percentage of guests were in Denver?", TOWNS, "Denver, Guests: 22%.", ["22%"]),
        ("What was the salary of Ann Lee in 2018?", SALARIES, "Ann Lee, Salary: $ 100.", ["$ 100"]),
    ],
)
def test_a_question_for_a_number_is_answered_by_its_cell(question: str, hit: Hit, text: str, cells: list[str]) -> None:
    sentence = answered(question, hit)
    assert sentence is not None
    assert sentence.text.removeprefix("Probably: ") == text
    assert [cell.text for cell in sentence.cells] == cells
    assert sentence.citations == ("t",)
    assert sentence.computed == ""


@pytest.mark.parametrize(
    ("question", "hit", "computed", "said"),
    [
        ("What is the change in net sales from 2018 to 2019?", INCOME, "3,200 − 2,900 = 300", "is $ 300 million."),
        (
            "What is the change in audit fees as a percentage between 2018 and 2019?",
            INCOME,
            "(40 − 50) / 50 × 100 = −20.00",
            "is −20.00%.",
        ),
        (
            "What were the average net sales for 2018 and 2019?",
            INCOME,
            "(2,900 + 3,200) / 2 = 3,050.00",
            "$ 3,050.00 mill",
        ),
        ("What is the sum of the hotel limit in London and Denver?", TOWNS, "220 + 180 = 400", "is £ 400."),
        ("By how much is the hotel limit higher in London than in Denver?", TOWNS, "220 − 180 = 40", "is £ 40."),
        (
            "What is the difference of guests between London and Denver?",
            TOWNS,
            "41 − 22 = 19",
            "is 19 percentage points.",
        ),
        ("What is the ratio of net sales to audit fees in 2019?", INCOME, "3,200 / 40 = 80.00", "is 80.00."),
        (
            "What is the difference in salary between Ann Lee and Bo Ek in 2019?",
            SALARIES,
            "130 − 90 = 40",
            "is $ 40.",
        ),
    ],
)
def test_what_is_to_be_computed_is_computed_by_code_and_shown(
    question: str, hit: Hit, computed: str, said: str
) -> None:
    sentence = answered(question, hit)
    assert sentence is not None
    assert sentence.computed == computed
    assert said in sentence.text
    assert len(sentence.cells) == 2


def test_the_highest_is_a_row_and_totals_are_none() -> None:
    sentence = answered("Which town has the highest hotel limit?", TOWNS)
    assert sentence is not None
    assert sentence.text.endswith("London, Hotel: £ 220.")


def test_a_cell_is_said_to_be_probable_where_the_table_leaves_some_of_the_question_open() -> None:
    sure = answered("What were net sales in 2019?", INCOME)
    unsure = answered("What were the net sales of the London branch in 2019?", INCOME)
    assert sure is not None
    assert unsure is not None
    assert sure.text.startswith("Net sales")
    assert unsure.text.startswith("Probably: Net sales")
    assert unsure.probability is not None
    assert sure.probability is not None
    assert unsure.probability < 0.6 < sure.probability


def test_a_cell_that_is_hardly_the_one_meant_is_none() -> None:
    assert answered("What were the net sales of the London branch for winter coats in 2019?", INCOME) is None


@pytest.mark.parametrize(
    "question",
    [
        "Why did net sales grow?",
        "What were net sales in 2021?",
        "What do audit fees relate to?",
        "How many penguins live in Antarctica?",
        "How much cash was there in 2017?",
    ],
)
def test_what_the_table_does_not_say_is_left_to_the_text(question: str) -> None:
    assert answered(question, INCOME) is None


def test_nothing_is_computed_from_what_does_not_go_together() -> None:
    mixed = table(("", "2019"), ("Sales", "$ 30"), ("Share", "10%"))
    assert answered("What is the sum of sales and share in 2019?", mixed) is None
    nothing = table(("", "2019"), ("Sales", "$ 30"), ("Costs", "$ 0"))
    assert answered("What is the ratio of sales to costs in 2019?", nothing) is None, "nobody divides by zero"


def test_a_model_says_which_cells_and_code_computes() -> None:
    cells = '[{"table": 1, "row": 1, "column": 1}, {"table": 2, "row": 1, "column": 2}]'
    reply = f'{{"operation": "difference", "cells": {cells}}}'
    other = table(("", "2019", "2018"), ("Sales", "9", "7"), caption="(in millions of $)", id_="u")
    with model_server() as server:
        server.script = [says(reply)]
        model = ModelEngine(ModelConnection(kind="openai", base_url=server.base_url, model="scripted"))
        sentence = answered("What is the difference of net sales here and there?", INCOME, other, engine=model)
    assert sentence is not None
    assert sentence.computed == "3,200 − 7 = 3,193"
    assert sentence.citations == ("t", "u")


def test_cells_that_a_model_makes_up_are_not_answered_with() -> None:
    with model_server() as server:
        server.script = [says('{"operation": "sum", "cells": [{"table": 3, "row": 99, "column": 1}]}')]
        model = ModelEngine(ModelConnection(kind="openai", base_url=server.base_url, model="scripted"))
        assert answered("What is the sum of net sales?", INCOME, engine=model) is None


@pytest.mark.parametrize(
    ("question", "operation"),
    [
        ("What percentage of assets is cash?", "share"),
        ("What was the percentage change in sales?", "change"),
        ("What is the debt to equity ratio?", "ratio"),
        ("How much more did A cost than B?", "difference"),
        ("What was the average price?", "average"),
        ("Which region had the worst result?", "lowest"),
        ("What was revenue in 2019?", "read"),
    ],
)
def test_the_operation_is_read_from_the_question(question: str, operation: str) -> None:
    assert operation_in(question) == operation


@pytest.mark.parametrize(
    ("text", "periods"),
    [
        ("third quarter of 2023", {"2023", "q3"}),
        ("Q3 23", {"2023", "q3"}),
        ("FY'18 and 2019", {"2018", "2019"}),
        ("12 weeks, 45 %", set()),
    ],
)
def test_periods_are_told_however_they_are_written(text: str, periods: set[str]) -> None:
    assert periods_in(text) == periods


def test_numbers_are_shown_with_unit_and_scale() -> None:
    assert shown(Quantity(Decimal("50.0"), "$", 10**6)) == "$ 50.0 million"
    assert shown(Quantity(Decimal("-3.1"), "%")) == "−3.1%"
    assert shown(Quantity(Decimal(1200), "USD")) == "1,200 USD"


class Seen:
    """Figures that every search finds."""

    def __init__(self, *hits: Hit, by_picture: bool = False) -> None:
        self.hits, self.by_picture = hits, by_picture

    def like(self, question: str, *, limit: int, where: SearchFilter) -> list[Hit]:
        return [*self.hits[:limit]]


@pytest.mark.parametrize(
    ("question", "by_picture", "order"),
    [
        ("How did sales grow?", False, ["text", "both", "seen"]),
        ("Which chart shows how sales grew?", False, ["both", "seen", "text"]),
        ("What is this?", True, ["both", "seen", "text"]),
    ],
)
def test_figures_found_by_what_they_show_come_first_where_a_picture_is_wanted(
    question: str, by_picture: bool, order: list[str]
) -> None:
    text, both = (Hit(chunk=a_chunk(id_, id_=id_), score=score) for id_, score in (("text", 0.8), ("both", 0.5)))
    seen = [Hit(chunk=a_chunk(id_, id_=id_), score=0.3, scores={"image": 0.3}) for id_ in ("both", "seen")]
    figures = Seen(*seen, by_picture=by_picture)
    technique = Multimodal(MultimodalSettings(), KeylessEngine(), Reading(WordVectors()), figures)
    found = technique.with_figures(question, [text, both], SearchFilter())
    assert [hit.chunk.id for hit in found] == order
    assert {hit.chunk.id for hit in found if "image" in hit.scores} == {"both", "seen"}
    assert [hit.score for hit in found] == sorted((hit.score for hit in found), reverse=True)
