"""References: a question that names a page, slide, figure, table or section by its number finds it by rule.

Numbers say next to nothing to vectors and little to BM25. Where the document is known (one was given, the question
names it, or there is only one) what is named comes first in the evidence; where it is not, hits that fit are moved up.
A page is meant as the reader of a file counts, and as it is printed on the paper. Costs one more search, and for
figures, tables and sections a walk over the document's chunks.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import zip_longest
from typing import Literal

from pydantic import Field

from rag_core.llm.reading.words import words
from rag_core.techniques.base import Catalogue, Listed, Searcher, Technique, TechniqueSettings
from rag_core.types import Chunk, Hit, SearchFilter, Value

Kind = Literal["page", "item", "section"]

_ORDINALS = "first second third fourth fifth sixth seventh eighth ninth tenth".split()
_FROM_THE_END = {"last": 1, "final": 1, "penultimate": 2, "second last": 2, "second to last": 2, "next to last": 2}
_ORDINAL = rf"(?:{'|'.join([*sorted(_FROM_THE_END, key=len, reverse=True), *_ORDINALS])}|\d{{1,3}}(?:st|nd|rd|th))"
_NUMBER = r"(?:\d{1,4}(?:\.\d{1,3})*[a-z]?|[A-Z](?:\.\d{1,3})*|[IVX]{1,5})"
_NUMBERS = rf"(?P<numbers>{_NUMBER}(?:\s*(?:,|and|&|or|to|through|-|–)\s*{_NUMBER})*)(?![\w%])"
_ITEMS = r"figures?|figs?|tables?|charts?|exhibits?|algorithms?|equations?|listings?|boxes|box"
_SECTIONS = r"sections?|chapters?|appendix|appendices|annex|parts?|items?|units?|notes?|articles?|steps?"
_NUMBERED: tuple[tuple[Kind, re.Pattern[str]], ...] = (
    ("page", re.compile(rf"\b(?P<what>(?i:pages?|slides?|pp?\.))\s*(?i:no\.|number|\#)?\s*{_NUMBERS}")),
    ("item", re.compile(rf"\b(?P<what>(?i:{_ITEMS}))\.?\s*{_NUMBERS}")),
    ("section", re.compile(rf"\b(?P<what>(?i:{_SECTIONS}))[\s-]+{_NUMBERS}")),
)
_COUNTED = re.compile(
    rf"\b(?P<which>{_ORDINAL})[\s-]+(?P<what>pages?|slides?|figures?|tables?|charts?)\b", re.IGNORECASE
)
_COVER = re.compile(r"\b(?:on|of|in) the (?:front )?cover\b|\b(?:cover|title|front) (?:page|slide)\b", re.IGNORECASE)
_TITLED = re.compile(
    r"\b(?:in|of|from|under|does|by) the [\"“‘']?(?P<a>[\w &/-]{3,60}?)[\"”’']? section\b"
    r"|\bsection [\"“‘'](?P<b>[^\"”’']{3,60})"
    r"|\bin the (?P<c>appendix|appendices|abstract|introduction|conclusions?|references)\b",
    re.IGNORECASE,
)
_EXAMPLE = re.compile(r"\[[^\]]*\]|\be\.g\.[^?;]*", re.IGNORECASE)
_LIST = re.compile(rf"({_NUMBER})\s*(to|through|-|–)?")
_MOST_PAGES = 30
_MOVED_UP = 0.25


class ReferencesSettings(TechniqueSettings):
    """What a number in a question may point to."""

    printed_numbers: bool = Field(
        default=True, description="A page number may be the printed one too, not only its place in the file."
    )


class Reference(Value):
    """One thing that a question names."""

    kind: Kind
    what: str = Field(description="As asked, in the singular: 'page', 'figure', 'table', 'section', ...")
    number: str = Field(default="", description="'3', '2.1', 'A'; empty for a section that is named by its title.")
    count: int = Field(default=0, description="The n-th of its kind; below zero from the end. 0 for a number.")
    title: str = ""

    def __str__(self) -> str:
        if self.count:
            return f"{self.what} {self.count}" if self.count > 0 else f"{self.what} {-self.count} from the end"
        return f"{self.what} {self.number or self.title}"


class Named(Value):
    """What a question names, and where that stands."""

    understood: tuple[Reference, ...]
    document: Listed | None = Field(description="The document meant; None where it is not known.")
    pages: tuple[int, ...] = Field(default=(), description="Where it stands, the likeliest first.")
    chunks: tuple[str, ...] = Field(default=(), description="Ids of the figures and tables meant.")
    missing: tuple[str, ...] = Field(default=(), description="What the document does not have.")


def references_in(question: str) -> list[Reference]:
    """What a question names by number or place, in its order. Examples in brackets are none."""
    text = _EXAMPLE.sub(lambda match: " " * len(match.group()), question)
    found: list[tuple[int, Reference]] = []
    for kind, pattern in _NUMBERED:
        for match in pattern.finditer(text):
            what = _singular(match["what"])
            found += [(match.start(), Reference(kind=kind, what=what, number=n)) for n in _spelled(match["numbers"])]
    for match in _COUNTED.finditer(text):
        what = _singular(match["what"])
        kind = "page" if what in ("page", "slide") else "item"
        found.append((match.start(), Reference(kind=kind, what=what, count=_count(match["which"]))))
    if cover := _COVER.search(text):
        found.append((cover.start(), Reference(kind="page", what="page", count=1)))
    for match in _TITLED.finditer(text):
        title = next(filter(None, match.groups()))
        found.append((match.start(), Reference(kind="section", what="section", title=" ".join(title.split()))))
    return list(dict.fromkeys(reference for _, reference in sorted(found, key=lambda pair: pair[0])))


def document_meant(question: str, documents: Sequence[Listed]) -> Listed | None:
    """The document that a question is about: the only one there is, or the only one that it names."""
    if len(documents) == 1:
        return documents[0]
    said = " ".join(words(_without_ending(question)))
    named = [document for document in documents if any(f" {name} " in f" {said} " for name in _names(document))]
    return named[0] if len(named) == 1 else None


class References:
    """Finds what a question names."""

    def __init__(self, settings: ReferencesSettings, searcher: Searcher, catalogue: Catalogue) -> None:
        self._settings = settings
        self._searcher = searcher
        self._catalogue = catalogue

    def find(self, understood: Sequence[Reference], question: str, where: SearchFilter) -> Named:
        """Where that stands which the question names.

        Raises:
            StoreError: The document's chunks could not be read.
        """
        searched = [one for one in self._catalogue.documents() if one.id in where.documents or not where.documents]
        document = document_meant(question, searched)
        if document is None:
            return Named(understood=tuple(understood), document=None)
        return self._placed(understood, document)

    def _placed(self, understood: Sequence[Reference], document: Listed) -> Named:
        walks = any(reference.kind != "page" for reference in understood)
        chunks = list(self._searcher.document(document.id)) if walks else []
        pages: dict[int, None] = {}
        ids: dict[str, None] = {}
        missing = []
        for reference in understood:
            if reference.kind == "page":
                at = self._pages(reference, document)
            else:
                meant = _items(reference, chunks) if reference.kind == "item" else _of_section(reference, chunks)
                at = [place.page for chunk in meant for place in chunk.places]
                if reference.kind == "item":
                    ids.update(dict.fromkeys(chunk.id for chunk in meant))
            pages.update(dict.fromkeys(at))
            if not at:
                missing.append(str(reference))
        return Named(
            understood=tuple(understood),
            document=document,
            pages=tuple(pages)[:_MOST_PAGES],
            chunks=tuple(ids),
            missing=tuple(missing),
        )

    def _pages(self, reference: Reference, document: Listed) -> list[int]:
        """The page in the file, then those that have the number printed on them."""
        if reference.count:
            counted = reference.count if reference.count > 0 else document.pages + 1 + reference.count
            return [counted] if 0 < counted <= document.pages else []
        number = int(reference.number) if reference.number.isdigit() else 0
        found = [number] if 0 < number <= document.pages else []
        if self._settings.printed_numbers:
            found += [page for page in self._catalogue.printed(document.id, reference.number) if page not in found]
        return found


def put_first(named: Named, there: Sequence[Hit], others: Sequence[Hit]) -> list[Hit]:
    """The evidence with what was named before all else.

    Args:
        there: Hits on the named pages, best first.
        others: The hits of the usual search, best first.

    Returns:
        The named figures and tables, then the named pages' hits, page by page in turn, then the others; scores fall.
    """
    if named.document is None:
        return sorted(
            (_raised(hit, _MOVED_UP) if _fits(named.understood, hit.chunk) else hit for hit in others),
            key=lambda hit: -hit.score,
        )
    by_page = [[hit for hit in there if page in _pages_of(hit.chunk)] for page in named.pages]
    in_turn = [hit for row in zip_longest(*by_page) for hit in row if hit]
    items = sorted((hit for hit in in_turn if hit.chunk.id in named.chunks), key=lambda hit: -hit.score)
    first = {hit.chunk.id: hit for hit in [*items, *in_turn]}
    step = 1 / (1 + len(first))
    raised = [_raised(hit, 2 - rank * step - hit.score) for rank, hit in enumerate(first.values())]
    return [*raised, *(hit for hit in others if hit.chunk.id not in first)]


def _raised(hit: Hit, by: float) -> Hit:
    return hit.model_copy(update={"score": hit.score + by, "scores": hit.scores | {"named": 1.0}})


def _fits(understood: Iterable[Reference], chunk: Chunk) -> bool:
    """Whether a chunk is, or stands on, what is named, as far as the chunk itself tells."""
    return any(
        reference.number == str(chunk.page) or reference.count == chunk.page
        if reference.kind == "page"
        else bool(_items(reference, [chunk]) if reference.kind == "item" else _of_section(reference, [chunk]))
        for reference in understood
    )


def _items(reference: Reference, chunks: Sequence[Chunk]) -> list[Chunk]:
    """The chunks of a numbered or counted figure or table: by caption, else by a line that begins with its name."""
    if reference.count:
        kind = "table" if reference.what == "table" else "figure"
        of_kind = [chunk for chunk in chunks if chunk.kind == kind]
        at = reference.count - 1 if reference.count > 0 else len(of_kind) + reference.count
        return of_kind[at : at + 1] if at >= 0 else []
    name = r"fig(?:ure|\.)?" if reference.what in ("figure", "fig") else re.escape(reference.what)
    pattern = re.compile(rf"^\W*{name}\.?\s*{re.escape(reference.number)}(?![\w]|\.\d)", re.IGNORECASE | re.MULTILINE)
    captioned = [chunk for chunk in chunks if pattern.search(chunk.caption)]
    return captioned or [chunk for chunk in chunks if pattern.search(chunk.text)]


def _of_section(reference: Reference, chunks: Sequence[Chunk]) -> list[Chunk]:
    """The chunks under a heading with that number, or of that title."""
    matches = _heading(reference)
    return [chunk for chunk in chunks if any(map(matches, [*chunk.section, *chunk.text.splitlines()[:1]]))]


def _heading(reference: Reference) -> Callable[[str], bool]:
    if reference.title:
        asked = words(reference.title)
        return lambda heading: asked == [word for word in words(heading) if not word[0].isdigit()][: len(asked)]
    number = re.escape(reference.number)
    bare = rf"|{number}(?:[.):]\s|\s+[^\W\d])" if reference.what in ("section", "chapter", "appendix", "part") else ""
    pattern = re.compile(rf"\W*(?:{reference.what}\s+{number}(?!\w|\.\d){bare})", re.IGNORECASE)
    return lambda heading: bool(pattern.match(heading))


def _names(document: Listed) -> Iterator[str]:
    """What people may call a document: its file name without the ending, its title."""
    for name in (document.name, document.title):
        told = words(_without_ending(name))
        if len("".join(told)) > 3:
            yield " ".join(told)


def _without_ending(name: str) -> str:
    return re.sub(
        r"[_-]+", " ", re.sub(r"\.(?:pdf|docx?|pptx?|xlsx?|html?|md|txt|jsonl)\b", "", name, flags=re.IGNORECASE)
    )


def _pages_of(chunk: Chunk) -> set[int]:
    return {place.page for place in chunk.places}


def _singular(what: str) -> str:
    word = what.lower().rstrip(".")
    known = {"appendices": "appendix", "boxes": "box", "pp": "page", "p": "page", "figs": "figure", "fig": "figure"}
    return known.get(word) or (word if word in ("appendix", "annex", "box") else word.removesuffix("s"))


def _count(which: str) -> int:
    word = " ".join(which.lower().replace("-", " ").split())
    if word in _FROM_THE_END:
        return -_FROM_THE_END[word]
    return _ORDINALS.index(word) + 1 if word in _ORDINALS else int(re.sub(r"\D", "", word))


def _spelled(numbers: str) -> list[str]:
    """'3, 5 and 7-9' -> 3, 5, 7, 8, 9."""
    found: list[str] = []
    through = False
    for number, joint in _LIST.findall(numbers):
        if through and number.isdigit() and found[-1].isdigit():
            first, last = int(found[-1]), int(number)
            found += [str(between) for between in range(first + 1, min(last, first + _MOST_PAGES) + 1)]
        else:
            found.append(number)
        through = bool(joint)
    return found


REFERENCES = Technique(
    name="references",
    label="pages and figures by number",
    group="retrieve",
    summary="Finds a page, figure, table or section that the question names by its number.",
    settings=ReferencesSettings,
    verb=References.find,
)
