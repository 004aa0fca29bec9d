from __future__ import annotations

import pytest

from rag_core.parsing.captions import label_of, labels_in, pair_captions
from rag_core.parsing.lines import Line
from rag_core.parsing.parts import Part
from rag_core.types import Box


def part(kind: str, box: tuple[float, float, float, float], *texts: str) -> Part:
    x0, y0, x1, y1 = box
    high = (y1 - y0) / max(len(texts), 1)
    lines = [Line(text, x0, y0 + n * high, x1, y0 + (n + 1) * high, 10, False) for n, text in enumerate(texts)]
    return Part(kind, Box(x0=x0, y0=y0, x1=x1, y1=y1), lines)


def paired(*parts: Part) -> list[tuple[str, str]]:
    found = list(parts)
    pair_captions(found)
    return [(each.kind, each.lines[0].text if each.lines else "") for each in found]


@pytest.mark.parametrize(
    ("text", "labels"),
    [
        ("as Figure 3 shows", ["figure 3"]),
        ("see Figs. 3 and 4", ["figure 3", "figure 4"]),
        ("Tables 1, 2 and A", ["table 1", "table 2"]),
        ("compare Fig. 2a with Table IV", ["figure 2", "table iv"]),
        ("Figure 1.2 and Chart 7", ["figure 1.2", "chart 7"]),
        ("the figure 12 percent", ["figure 12"]),
        ("a figure of speech, in the charts of 1999", []),
        ("Tablet 5 and Figurehead 2", []),
    ],
)
def test_what_a_text_names_by_number(text: str, labels: list[str]) -> None:
    assert list(labels_in(text)) == labels


def test_a_caption_tells_its_label_and_running_text_does_not() -> None:
    assert label_of("Fig. 3: Recall by year") == "figure 3"
    assert label_of("Figure 5 compares the recall of both") is None
    assert label_of("Sales by region") is None


def test_each_caption_goes_before_the_figure_that_it_stands_nearest_to() -> None:
    upper = part("figure", (100, 100, 300, 200))
    first = part("text", (100, 205, 300, 217), "Figure 1: Tides")
    lower = part("figure", (100, 240, 300, 340))
    second = part("caption", (100, 345, 300, 357), "Figure 2: Storms")
    assert paired(upper, first, lower, second) == [
        ("caption", "Figure 1: Tides"), ("figure", ""), ("caption", "Figure 2: Storms"), ("figure", "")
    ]  # fmt: skip


def test_the_caption_of_a_table_goes_to_no_figure() -> None:
    caption = part("caption", (100, 205, 300, 217), "Table 1: Tides")
    assert paired(part("figure", (100, 100, 300, 200)), caption) == [("figure", ""), ("text", "Table 1: Tides")]


def test_a_chart_without_a_number_has_its_headline_and_its_source() -> None:
    headline = part("title", (140, 80, 260, 92), "Sales by region")
    chart = part("figure", (100, 100, 300, 200))
    source = part("text", (100, 205, 300, 217), "Source: the harbour board")
    parts = [headline, chart, source]
    pair_captions(parts)
    caption, figure = parts
    assert (caption.kind, figure) == ("caption", chart)
    assert [line.text for line in caption.lines] == ["Sales by region", "Source: the harbour board"]


def test_the_end_of_a_heading_that_is_wider_than_the_figure_is_no_headline() -> None:
    heading = part("title", (100, 60, 500, 75), "Wrong postures when measuring your")
    end = part("title", (100, 78, 290, 92), "blood pressure")
    assert paired(heading, end, part("figure", (100, 100, 300, 200)))[-2:] == [
        ("title", "blood pressure"),
        ("figure", ""),
    ]


def test_a_section_heading_at_the_margin_heads_its_text_and_not_the_figure() -> None:
    heading = part("title", (100, 80, 160, 92), "1.3 Ground pin")
    assert paired(heading, part("figure", (100, 100, 400, 200)))[0] == ("title", "1.3 Ground pin")


def test_a_heading_inside_a_numbered_figure_is_a_label_in_it() -> None:
    figure = part("figure", (100, 100, 300, 200))
    figure.heads = [part("title", (140, 105, 260, 117), "Sales")]
    caption = part("caption", (100, 205, 300, 217), "Figure 1: Sales by region")
    assert paired(figure, caption)[0] == ("caption", "Figure 1: Sales by region")
    assert [line.text for line in figure.lines] == ["Sales"]
