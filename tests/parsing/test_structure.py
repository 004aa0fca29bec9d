from rag_core.parsing.records import Block, PageBlocks
from rag_core.parsing.structure import assemble
from rag_core.types import Box, ElementKind

TOP, MIDDLE = 20.0, 400.0


def a_page(number: int, *blocks: Block) -> PageBlocks:
    return PageBlocks(page=number, height=800, source="layout", blocks=blocks)


def a_block(text: str, *, kind: ElementKind = "text", y: float = MIDDLE) -> Block:
    return Block(kind=kind, text=text, box=Box(x0=50, y0=y, x1=500, y1=y + 12), size=11)


def kinds(*pages: PageBlocks) -> list[str]:
    return [element.kind for element in assemble(pages)]


def test_a_lone_paragraph_that_the_layout_model_calls_a_header_is_text() -> None:
    assert kinds(a_page(1, a_block("The fox lives in the forest.", kind="header", y=TOP))) == ["text"]


def test_a_header_that_comes_again_stays_a_header_whatever_its_numbers() -> None:
    pages = [
        a_page(n, a_block(f"Annual report, page {n}", kind="header", y=TOP), a_block(f"Text {n} of it."))
        for n in range(1, 5)
    ]
    assert kinds(*pages) == ["header", "text"] * 4


def test_what_comes_again_at_the_edge_is_a_header_though_nobody_said_so() -> None:
    pages = [a_page(n, a_block("Annual report", y=TOP), a_block(f"Text {n} of it.")) for n in range(1, 5)]
    assert kinds(*pages) == ["header", "text"] * 4


def test_a_page_number_at_the_edge_is_no_text_on_a_single_page_either() -> None:
    assert kinds(a_page(1, a_block("The fox."), a_block("- 1 -", y=780))) == ["text", "footer"]
