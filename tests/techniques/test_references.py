from collections.abc import Iterator, Sequence

import numpy as np
import pytest

from rag_core.techniques.base import Listed
from rag_core.techniques.references import (
    Named,
    References,
    ReferencesSettings,
    document_meant,
    put_first,
    references_in,
)
from rag_core.types import Chunk, Hit, SearchFilter
from tests.fakes import Documents, a_chunk

CHUNKS = [
    a_chunk("1 Introduction", id_="intro", page=1, section=("1 Introduction",)),
    a_chunk("", id_="fig1", page=2, kind="figure", caption="Figure 1: The pipeline."),
    a_chunk("Figure 1 is explained here.\nFig. 2: a line of its own", id_="text", page=3, section=("2 Method",)),
    a_chunk("a | b", id_="tab1", page=4, kind="table", caption="Table 1. Results", section=("2 Method", "2.1 Data")),
    a_chunk("", id_="fig12", page=5, kind="figure", caption="Figure 12: Losses."),
    a_chunk("Prompts", id_="app", page=8, section=("Appendix A Prompts",)),
]


class Shelf:
    def document(self, document: str) -> Iterator[Chunk]:
        return iter(CHUNKS)

    def hybrid(self, query: str, vector: np.ndarray, **asked: object) -> list[Hit]:
        raise AssertionError("nothing is searched for")


def found(question: str, documents: Documents | None = None, **settings: bool) -> Named:
    references = References(ReferencesSettings(**settings), Shelf(), documents or Documents())
    return references.find(references_in(question), question, SearchFilter())


@pytest.mark.parametrize(
    ("question", "understood"),
    [
        ("What does page 5 say?", ["page 5"]),
        ("What is on slides 3 to 5 and 9?", ["slide 3", "slide 4", "slide 5", "slide 9"]),
        ("Compare Figure 2 and Table 1.", ["figure 2", "table 1"]),
        ("See Fig. 3.2 in Section 4.1", ["figure 3.2", "section 4.1"]),
        ("What is on the first page?", ["page 1"]),
        ("How many people are on the last slide?", ["slide 1 from the end"]),
        ("What stands on the cover of the report?", ["page 1"]),
        ("the second figure", ["figure 2"]),
        ("What is said in Appendix A?", ["appendix A"]),
        ("In the Risk Factors section, what comes first?", ["section Risk Factors"]),
        ("What's the topic of UNIT 14?", ["unit 14"]),
        ("Which pages mention foxes? Answer like ['Page 2', 'Page 4'].", []),
        ("What are page likes?", []),
        ("How much did revenue grow in 2018?", []),
        ("How many tables does it have?", []),
    ],
)
def test_what_a_question_names_is_understood(question: str, understood: list[str]) -> None:
    assert [str(reference) for reference in references_in(question)] == understood


@pytest.mark.parametrize(
    ("question", "pages", "chunks"),
    [
        ("What is in Figure 1?", (2,), ("fig1",)),
        ("What is in figure 12?", (5,), ("fig12",)),
        ("And Figure 2?", (3,), ("text",)),
        ("What are the results in Table 1?", (4,), ("tab1",)),
        ("the second figure", (5,), ("fig12",)),
        ("What does section 2 say?", (3, 4), ()),
        ("What does section 2.1 say?", (4,), ()),
        ("Which prompts are in Appendix A?", (8,), ()),
        ("What does the Method section say?", (3, 4), ()),
        ("What is on the last page?", (9,), ()),
    ],
)
def test_it_is_found_by_rule(question: str, pages: tuple[int, ...], chunks: tuple[str, ...]) -> None:
    named = found(question)
    assert (named.pages, named.chunks, named.missing) == (pages, chunks, ())


def test_a_page_is_first_that_of_the_file_and_then_the_one_with_the_number_printed_on_it() -> None:
    printed = Documents(labels={"5": [7], "6985": [5]})
    assert found("page 5", printed).pages == (5, 7)
    assert found("page 6985", printed).pages == (5,)
    assert found("page 5", printed, printed_numbers=False).pages == (5,)


def test_what_the_document_does_not_have_is_said() -> None:
    named = found("Compare page 99 with Figure 7.")
    assert (named.pages, named.missing) == ((), ("page 99", "figure 7"))


@pytest.mark.parametrize(
    ("question", "meant"),
    [
        ("What does page 2 of the annual report 2022 say?", "a"),
        ("What is in ANNUAL_REPORT_2023.pdf?", "b"),
        ("What does page 2 say?", None),
        ("Compare annual report 2022 and annual report 2023", None),
    ],
)
def test_the_document_meant_is_the_only_one_named(question: str, meant: str | None) -> None:
    listed = [Listed(id="a", name="annual-report-2022.pdf"), Listed(id="b", name="annual_report_2023.pdf")]
    document = document_meant(question, listed)
    assert (document.id if document else None) == meant


def hits(*ids: str) -> list[Hit]:
    known = {chunk.id: chunk for chunk in CHUNKS}
    return [Hit(chunk=known[id_], score=1 - n / 10) for n, id_ in enumerate(ids)]


def ids(ranked: Sequence[Hit]) -> list[str]:
    return [hit.chunk.id for hit in ranked]


def test_the_figure_comes_first_then_its_page_then_the_usual_hits() -> None:
    ranked = put_first(found("Figure 1"), hits("fig1"), hits("app", "fig1", "intro"))
    assert ids(ranked) == ["fig1", "app", "intro"]
    assert [hit.score for hit in ranked] == sorted((hit.score for hit in ranked), reverse=True)


def test_several_pages_take_turns() -> None:
    named = found("pages 3 and 4")
    assert ids(put_first(named, hits("text", "tab1"), hits("app"))) == ["text", "tab1", "app"]


def test_where_the_document_is_not_known_hits_that_fit_are_moved_up() -> None:
    two = Documents(Listed(id="a", name="one.pdf"), Listed(id="b", name="two.pdf"))
    ranked = put_first(found("What is in Table 1?", two), [], hits("app", "tab1"))
    assert ids(ranked) == ["tab1", "app"]
