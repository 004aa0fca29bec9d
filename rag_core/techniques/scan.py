"""Scan: what is asked of a whole document is answered over all its chunks, not over the ten best.

"How many figures are there", "which pages mention X", "list all tables": rules count pages, figures, tables, sections
and mentions exactly. What takes understanding ("how many quizzes in the entire course") is collected by a model batch
by batch and counted by code; without a model the scan says that it cannot count it, and where it is spoken of. Costs
one walk over the document's chunks, and with a model one call a batch.

Source: Dean and Ghemawat 2004, "MapReduce: Simplified Data Processing on Large Clusters",
https://research.google/pubs/pub62/ (the map and the reduce)
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from typing import Literal

from pydantic import BaseModel, Field

from rag_core.llm.engine import Engine, Watch
from rag_core.llm.quoting import quoted
from rag_core.llm.reading.reading import Reading
from rag_core.llm.reading.words import stems
from rag_core.llm.signature import Signature
from rag_core.techniques.base import Listed, Searcher, Technique, TechniqueSettings
from rag_core.types import Chunk, Hit, Sentence, Value

Countable = Literal["page", "figure", "table", "section", "mention", "other"]

_DOCUMENT = (
    r"(?:(?:whole|entire|full|complete|present)\s+)?"
    r"(?:document|paper|report|article|deck|slides?|slide deck|presentation|file|pdf|book|guide(?:book)?|manual)"
)
_WHOLE = re.compile(
    rf"\b(?:whole|entire|complete) (?!in\b)\w+|\bthroughout\b|\baltogether\b|\bin (?:total|all)\b"
    rf"|\b(?:in|of|throughout|does|by) (?:the|this) {_DOCUMENT}\b",
    re.IGNORECASE,
)
_HAS = re.compile(r"\b(?:are|is) there\b|\bdoes .+ (?:have|contain)\b", re.IGNORECASE)
_HOW_MANY = re.compile(
    r"\bhow many (?P<what>[\w' -]+?)"
    r"(?= (?:are|is|were|was|does|do|did|can|have|has|in|on|of|appear|occur|there|shown|included|illustrated)"
    r"(?:[\s?.,]|$)|[?.,]|$)",
    re.IGNORECASE,
)
_LIST = re.compile(
    r"\b(?:list|name|enumerate|give) (?:me )?(?:all|every|each)(?: of)?(?: the)? (?P<what>[\w' -]+?)"
    r"(?= (?:in|of|that|which|on)\b|[?.,]|$)",
    re.IGNORECASE,
)
_PAGES_WITH = re.compile(
    r"\b(?:which|what|on which|on what|list (?:all|the)|all) (?:pages?|slides?)\b.*?"
    r"\b(?:mention|contain|discuss|refer to|speak of|talk about|use|name|say|is|are)s?\b (?P<what>.+?)"
    r"(?: (?:mentioned|named|discussed|found|used))?[?.]*$",
    re.IGNORECASE,
)
_HOW_OFTEN = re.compile(
    r"\bhow (?:often|many times) (?:is|are|does|do|was|were) (?P<what>.+?) "
    r"(?:mentioned|named|used|occur|appear|said|found)",
    re.IGNORECASE,
)
_KINDS: tuple[tuple[Countable, str], ...] = (
    ("page", r"pages?|slides?"),
    ("figure", r"figures?|images?|pictures?|illustrations?"),
    ("table", r"tables?"),
    ("section", r"sections?|chapters?"),
)
_NUMBERED = {
    "figure": re.compile(r"^\W*fig(?:ure|\.)?\.?\s*(\d{1,3}(?:\.\d{1,3})?)\b", re.IGNORECASE | re.MULTILINE),
    "table": re.compile(r"^\W*table\s*(\d{1,3}(?:\.\d{1,3})?)\b", re.IGNORECASE | re.MULTILINE),
}
_MOST_CITED = 60
_ARTICLES = re.compile(r"^(?:the|a|an|any|all)\s+|^[\"'“‘]+|[\"'”’]+$", re.IGNORECASE)


class ScanSettings(TechniqueSettings):
    """How far a scan goes."""

    batch: int = Field(default=20, ge=1, le=100, description="Chunks that a model reads at once.")
    max_batches: int = Field(default=20, ge=1, le=500, description="Model calls of one scan; what is left is said.")


class WholeQuestion(Value):
    """A question for all of a document."""

    counts: Countable
    what: str = Field(description="As asked: 'figures', 'the word risk', 'quizzes'.")


class CollectInput(BaseModel):
    question: str
    passages: str = Field(description="Some of the document's chunks, numbered from 1.")


class Item(BaseModel):
    """One of the things asked for and the passage that it stands in, from 1."""

    name: str
    passage: int


class CollectOutput(BaseModel):
    items: list[Item] = Field(description='[{"name": ..., "passage": 1}, ...]; the same thing has the same name')


def nothing_collected(_inputs: CollectInput, _reading: Reading) -> CollectOutput:
    """Without a model nothing is collected: a word that occurs is not a thing that is there."""
    return CollectOutput(items=[])


COLLECT = Signature(
    name="scan.collect",
    inputs=CollectInput,
    outputs=CollectOutput,
    prompt="""\
Collect from the passages, a part of one document, every single thing that the question counts or lists. Do not count.

{passages}

Question: {question}
""",
    keyless=nothing_collected,
)


class Scanned(Value):
    """What a scan found."""

    hits: tuple[Hit, ...] = Field(description="The chunks that it rests on, in the document's order.")
    sentences: tuple[Sentence, ...]
    chunks: int = Field(description="Chunks that were read.")
    complete: bool = Field(default=True, description="Whether that is all of it, and not only where it may be.")


def whole_question(question: str) -> WholeQuestion | None:
    """What a question asks of a whole document; None where it does not."""
    if match := _PAGES_WITH.search(question) or _HOW_OFTEN.search(question):
        return WholeQuestion(counts="mention", what=_phrase(match["what"]))
    match = _HOW_MANY.search(question) or _LIST.search(question)
    if match is None or re.match(r"list all (?:the )?(?:pages|slides)", question.strip(), re.IGNORECASE):
        return None
    what = match["what"].strip()
    for counts, pattern in _KINDS:
        if re.fullmatch(pattern, what, re.IGNORECASE) and (_WHOLE.search(question) or _HAS.search(question)):
            return WholeQuestion(counts=counts, what=what.lower())
    return WholeQuestion(counts="other", what=what) if _WHOLE.search(question) else None


class Scan:
    """Reads a document from its first chunk to its last."""

    def __init__(self, settings: ScanSettings, searcher: Searcher, engine: Engine, reading: Reading) -> None:
        self._settings = settings
        self._searcher = searcher
        self._engine = engine
        self._reading = reading

    def answer(self, question: str, asked: WholeQuestion, document: Listed, watch: Watch) -> Scanned | None:
        """Answer over all chunks of a document; None where nothing of what was asked is there.

        Raises:
            StoreError: The chunks could not be read.
        """
        chunks = list(self._searcher.document(document.id))
        if asked.counts == "page":
            return _scanned(f"{document.name} has {document.pages} pages.", chunks[:1], chunks, document)
        if asked.counts == "other":
            return self._collected(question, asked, chunks, document, watch)
        found = list(_of_kind(asked, chunks))
        if not found:
            return None
        if asked.counts == "mention":
            times = sum(times for times, _ in found)
            head = f"“{asked.what}” stands {_times(times)} in {document.name}, on {_pages(len(_by_page(found)))}"
        else:
            count = sum(times for times, _ in found)
            head = f"{document.name} has {count} {asked.what.removesuffix('s') if count == 1 else asked.what}"
        return _scanned(f"{head}: {_where(found)}.", [chunk for _, chunk in found], chunks, document)

    def _collected(
        self, question: str, asked: WholeQuestion, chunks: Sequence[Chunk], document: Listed, watch: Watch
    ) -> Scanned | None:
        if self._engine.name == "keyless":
            mentions = list(_mentions(asked.what, chunks))
            if not mentions:
                return None
            text = (
                f"To count {asked.what} a model has to read the pages; without one it can only be said where the words "
                f"“{asked.what}” stand in {document.name}: {_where(mentions)}."
            )
            found = _scanned(text, [chunk for _, chunk in mentions], chunks, document)
            return found.model_copy(update={"complete": False})
        items, read = self._items(question, chunks, watch)
        if not items:
            return None
        listed = "; ".join(f"{name} (page {chunk.page})" if chunk.page else name for name, chunk in items.items())
        left = "" if read >= len(chunks) else f" The scan ended after {read} of {len(chunks)} chunks."
        text = f"{len(items)} {asked.what}: {listed}.{left}"
        return _scanned(text, list(items.values()), chunks[:read], document)

    def _items(self, question: str, chunks: Sequence[Chunk], watch: Watch) -> tuple[dict[str, Chunk], int]:
        """The things by name, each with the first chunk that has it, and how many chunks were read."""
        named: dict[str, tuple[str, Chunk]] = {}
        read = 0
        for start in range(0, len(chunks), self._settings.batch):
            if start >= self._settings.batch * self._settings.max_batches or watch.stopped() or watch.left_s() <= 0:
                break
            batch = chunks[start : start + self._settings.batch]
            passages = "\n".join(f"[{number}] {quoted(chunk.searchable_text)}" for number, chunk in enumerate(batch, 1))
            asked = CollectInput(question=question, passages=passages)
            for item in self._engine.complete(COLLECT, asked, self._reading, watch).items:
                if 0 < item.passage <= len(batch):
                    named.setdefault(" ".join(stems(item.name)) or item.name, (item.name, batch[item.passage - 1]))
            read = start + len(batch)
        return dict(named.values()), read


def _of_kind(asked: WholeQuestion, chunks: Sequence[Chunk]) -> Iterator[tuple[int, Chunk]]:
    """`(times, chunk)` of what can be counted by rule."""
    if asked.counts == "mention":
        yield from _mentions(asked.what, chunks)
    elif asked.counts == "section":
        yield from ((1, chunk) for chunk in _first_of_each(chunks, lambda chunk: chunk.section[:1]))
    else:
        yield from _numbered(asked.counts, chunks)


def _numbered(kind: str, chunks: Sequence[Chunk]) -> Iterator[tuple[int, Chunk]]:
    """Figures or tables by the numbers of their captions; where none has a number, by what was recognised."""
    seen: set[str] = set()
    for chunk in chunks:
        numbers = set(_NUMBERED[kind].findall(f"{chunk.caption}\n{chunk.text}")) - seen
        seen |= numbers
        if numbers:
            yield len(numbers), chunk
    if not seen:
        own = [chunk for chunk in chunks if chunk.kind == kind]
        # A long table is several chunks of one place.
        yield from ((1, chunk) for chunk in _first_of_each(own, lambda chunk: chunk.places or chunk.id))


def _mentions(phrase: str, chunks: Sequence[Chunk]) -> Iterator[tuple[int, Chunk]]:
    """How often the chunks have the phrase, in any inflection."""
    wanted = stems(phrase)
    for chunk in chunks:
        said = stems(f"{chunk.caption}\n{chunk.text}")
        times = sum(said[at : at + len(wanted)] == wanted for at in range(len(said))) if wanted else 0
        if times:
            yield times, chunk


def _first_of_each(chunks: Sequence[Chunk], key: Callable[[Chunk], object]) -> list[Chunk]:
    """The first chunk of each key that says something."""
    first: dict[object, Chunk] = {}
    for chunk in chunks:
        if key(chunk):
            first.setdefault(key(chunk), chunk)
    return list(first.values())


def _scanned(text: str, cited: Sequence[Chunk], read: Sequence[Chunk], document: Listed) -> Scanned:
    kept = list({chunk.id: chunk for chunk in cited}.values())[:_MOST_CITED]
    sentence = Sentence(
        text=text,
        citations=tuple(chunk.id for chunk in kept),
        computed=f"counted over {document.pages} pages, {len(read)} chunks",
    )
    hits = tuple(Hit(chunk=chunk, score=1.0, scores={"scan": 1.0}) for chunk in kept)
    return Scanned(hits=hits, sentences=(sentence,), chunks=len(read))


def _by_page(found: Sequence[tuple[int, Chunk]]) -> Counter[int]:
    counted: Counter[int] = Counter()
    for times, chunk in found:
        counted[chunk.page or 0] += times
    return counted


def _where(found: Sequence[tuple[int, Chunk]]) -> str:
    """'page 2; page 5 (3 times)'."""
    pages = sorted(_by_page(found).items())
    return "; ".join(f"page {page}" + (f" ({times})" if times > 1 else "") for page, times in pages)


def _times(count: int) -> str:
    return "once" if count == 1 else f"{count} times"


def _pages(count: int) -> str:
    return "1 page" if count == 1 else f"{count} pages"


def _phrase(what: str) -> str:
    """The phrase meant: without articles, quotes and 'the word'."""
    what = re.sub(r"\s+(?:in|of) (?:the|this) [\w.-]+(?: \w+)?$", "", what)
    bare = re.sub(r"^(?:the )?(?:word|term|phrase|name)s?\s+", "", what.strip(), flags=re.IGNORECASE)
    while (shorter := _ARTICLES.sub("", bare).strip()) != bare:
        bare = shorter
    return bare


SCAN = Technique(
    name="scan",
    label="whole document",
    group="retrieve",
    summary="Counts and lists over all pages of a document instead of the best ten chunks.",
    settings=ScanSettings,
    verb=Scan.answer,
    signatures=(COLLECT,),
)
