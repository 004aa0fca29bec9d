"""The nouns every room shares: where text stands, what a chunk is, what a search and an answer give.

All are frozen values: a changed one is a copy (`model_copy(update=...)`).
"""

from __future__ import annotations

from typing import Literal

from pydantic import BaseModel, ConfigDict, Field

ElementKind = Literal["title", "text", "list", "table", "figure", "caption", "footnote", "formula", "header", "footer"]
ChunkKind = Literal["text", "table", "figure"]
Support = Literal["fully_supported", "partially_supported", "no_support"]


class Value(BaseModel):
    """A frozen record that refuses fields it does not know."""

    model_config = ConfigDict(frozen=True, extra="forbid")


class Box(Value):
    """A rectangle on a page: points (1/72 inch) from the top left corner of the page as it is displayed."""

    x0: float
    y0: float
    x1: float
    y1: float


class Place(Value):
    """Where something stands on one page."""

    page: int = Field(ge=1, description="Counts from 1.")
    boxes: tuple[Box, ...]


class Element(Value):
    """One piece of a page as a reader sees it: a heading, a paragraph, a table, a figure."""

    id: str = Field(description="Stable: the same file gives the same ids.")
    kind: ElementKind
    text: str
    place: Place
    section: tuple[str, ...] = Field(default=(), description="Headings above it, outermost first.")
    html: str | None = Field(default=None, description="The table, where kind is 'table'.")
    image: str | None = Field(default=None, description="File name of the crop, where kind is 'figure'.")


class Chunk(Value):
    """What is embedded, searched and cited."""

    id: str = Field(description="uuid5 of the document and the content: the same chunk keeps its id.")
    document: str = Field(description="Id of the document.")
    name: str = Field(description="The document's name as the user knows it.")
    kind: ChunkKind = "text"
    text: str = Field(description="As it stands in the document.")
    section: tuple[str, ...] = ()
    caption: str = ""
    places: tuple[Place, ...] = Field(
        default=(), description="A place a page, in page order. Empty only for passages that have no pages."
    )
    html: str | None = None
    image: str | None = None
    nearby: str = Field(
        default="", description="What the text, or a model, says of a figure or table: searched, not quoted."
    )
    source: str | None = Field(
        default=None, description="Id of the passage, for passages files; the address, for a page of the web."
    )
    url: str | None = Field(default=None, description="Where it stands on the web; None where a document holds it.")
    order: int = Field(default=0, ge=0, description="Position in the document.")

    @property
    def page(self) -> int | None:
        """The first page it stands on."""
        return self.places[0].page if self.places else None

    @property
    def searchable_text(self) -> str:
        """What is embedded and indexed: the text under its headings, its caption and what is said of it nearby.

        The text comes last: an embedder reads so many words, and a long table would leave it none for the others.
        """
        head = " › ".join(self.section)
        return "\n".join(part for part in (head, self.caption, self.nearby, self.text) if part)


class Hit(Value):
    """A chunk that a search found."""

    chunk: Chunk
    score: float = Field(description="What the list is ranked by, best first.")
    scores: dict[str, float] = Field(
        default_factory=dict,
        description="By name: 'dense' (cosine), 'lexical' (BM25), 'fused' (0..1). A side that missed is absent.",
    )
    relevant: bool | None = Field(
        default=None, description="Whether it helps with the question, where that was judged."
    )
    refined: str | None = Field(
        default=None, description="What of the chunk's text the answer is written from; None where all of it."
    )

    @property
    def text(self) -> str:
        """What the answer is written from; a citation still leads to the whole chunk."""
        return self.chunk.text if self.refined is None else self.refined


class CellRef(Value):
    """One cell of a table that an answer is read or computed from."""

    chunk: str = Field(description="Id of the table's chunk.")
    row: int = Field(ge=0, description="On the table's grid, headings included.")
    column: int = Field(ge=0)
    text: str = Field(description="As printed.")
    place: Place | None = Field(default=None, description="The cell's own box; None where only the table's is known.")


class Sentence(Value):
    """One sentence of an answer and what holds it up."""

    text: str
    support: Support | None = None
    probability: float | None = Field(default=None, ge=0, le=1, description="That it is supported.")
    citations: tuple[str, ...] = Field(default=(), description="Chunk ids, the strongest first.")
    cells: tuple[CellRef, ...] = Field(default=(), description="Cells that it was read or computed from by code.")
    computed: str = Field(
        default="", description="How code came to it: '3,200 − 2,900 = 300', 'counted on 24 pages'. Empty where read."
    )


class Usage(Value):
    """What model calls took."""

    model_calls: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    cost: float | None = Field(default=None, description="US dollars; None where no price is known.")

    @property
    def tokens(self) -> int:
        return self.input_tokens + self.output_tokens

    def __add__(self, other: Usage) -> Usage:
        costs = [cost for cost in (self.cost, other.cost) if cost is not None]
        return Usage(
            model_calls=self.model_calls + other.model_calls,
            input_tokens=self.input_tokens + other.input_tokens,
            output_tokens=self.output_tokens + other.output_tokens,
            cost=sum(costs) if costs else None,
        )


class SearchFilter(Value):
    """Narrows a search; an empty field narrows nothing."""

    documents: tuple[str, ...] = Field(default=(), description="Document ids.")
    kinds: tuple[ChunkKind, ...] = ()
    pages: tuple[int, ...] = ()

    def admits(self, chunk: Chunk) -> bool:
        """Whether a chunk is among what is searched."""
        return (
            (not self.documents or chunk.document in self.documents)
            and (not self.kinds or chunk.kind in self.kinds)
            and (not self.pages or any(place.page in self.pages for place in chunk.places))
        )
