from __future__ import annotations

from rag_core.parsing import ChunkSettings, chunk
from rag_core.types import Box, Chunk, Element, ElementKind, Place

BOX = Box(x0=0, y0=0, x1=1, y1=1)


def element(kind: ElementKind, text: str, page: int = 1) -> Element:
    return Element(id=f"{kind}-{page}-{text}", kind=kind, text=text, place=Place(page=page, boxes=(BOX,)))


def figure_of(*elements: Element) -> Chunk:
    chunks = chunk(elements, document="doc", name="report.pdf", settings=ChunkSettings())
    (figure,) = [made for made in chunks if made.kind == "figure"]
    return figure


def test_a_figure_is_found_by_the_sentences_that_name_it_wherever_they_stand() -> None:
    figure = figure_of(
        element("text", "We begin. Recall doubles after 2019, as Figs. 2 and 3 show. Costs fall."),
        element("caption", "Figure 3: Recall by year", 2),
        element("figure", "2019 2020", 2),
        element("text", "The dip in Fig. 3 is due to the strike.", 3),
    )
    assert figure.nearby == (
        "Recall doubles after 2019, as Figs. 2 and 3 show. The dip in Fig. 3 is due to the strike."
    )
    assert "strike" in figure.searchable_text
    assert "strike" not in figure.text


def test_a_figure_without_a_number_has_the_sentence_that_leads_up_to_it() -> None:
    figure = figure_of(
        element("title", "Revenues"),
        element("text", "Revenues grew. The following outlines the components of the change:"),
        element("figure", ""),
    )
    assert figure.nearby == "The following outlines the components of the change:"


def test_text_under_another_heading_does_not_lead_up_to_a_figure() -> None:
    figure = figure_of(element("text", "Costs fell."), element("title", "Revenues"), element("figure", "2019"))
    assert figure.nearby == ""


def test_what_is_said_of_a_figure_is_part_of_its_identity() -> None:
    caption, picture = element("caption", "Figure 3: Recall"), element("figure", "2019")
    one = figure_of(caption, picture, element("text", "Figure 3 shows recall."))
    other = figure_of(caption, picture, element("text", "Figure 3 shows precision."))
    assert one.id != other.id
