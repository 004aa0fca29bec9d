"""Tables as tables: a question for a number is answered by its cell, or computed by code from several.

The engine only says which cells are meant and what to do with them; values, units and scales are read from the table,
and sums, differences, averages, ratios and changes are computed exactly and shown with their cells. Without a model
rows and columns are found by their headings. Costs some milliseconds, or one model call where something is computed.

Where CLIP is on, figures are found by what they show too: by the question, or by a picture given with it.

Sources: Herzig et al. 2020, "TaPas: Weakly Supervised Table Parsing via Pre-training",
https://arxiv.org/abs/2004.02349 (cells and an operation over them, instead of an answer in words);
Radford et al. 2021, "Learning Transferable Visual Models From Natural Language Supervision",
https://arxiv.org/abs/2103.00020
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from decimal import ROUND_HALF_EVEN, Decimal
from typing import Literal

from pydantic import BaseModel, Field, SkipValidation

from rag_core.llm.engine import Engine, Watch
from rag_core.llm.quoting import quoted
from rag_core.llm.reading.asked import subject_of
from rag_core.llm.reading.reading import Reading
from rag_core.llm.reading.wordings import other_wordings
from rag_core.llm.reading.words import stems
from rag_core.llm.signature import Signature
from rag_core.parsing.tables import Quantity, TableView, is_nil
from rag_core.techniques.base import Figures, Technique, TechniqueSettings
from rag_core.types import CellRef, Chunk, Hit, Place, SearchFilter, Sentence

Operation = Literal["read", "sum", "difference", "average", "ratio", "share", "change", "highest", "lowest"]

_ASKED: tuple[tuple[Operation, str], ...] = (
    (
        "share",
        r"\b(?:what|which) (?:percent(?:age)?|share|proportion|portion) of\b|\bas an? (?:percentage|share|%) of\b",
    ),
    (
        "change",
        r"\b(?:percent(?:age)?|%)\s+(?:change|increase|decrease|decline|growth|difference)|\bgrowth rate\b"
        r"|\b(?:change|increase|decrease|grow|growth|decline|differ\w*)\b.*\b(?:as a percentage|in percent\b|in %)"
        r"|\bwhat percentage did\b",
    ),
    ("ratio", r"\bratio\b|\bmultiple of\b|\bhow many times\b"),
    ("average", r"\baverage\b|\bmean\b"),
    ("sum", r"\bsum\b|\badd(?:ed)? up\b|\bcombined\b|\btotal of\b.*\band\b|\btogether\b|\bin total\b"),
    (
        "difference",
        r"\bdifference\b|\bdiffer\b|\bby how (?:much|many)\b|\bchange in\b|\bchanged?\b.*\b(?:from|between)\b"
        r"|\bhow (?:much|many)\b.*\b(?:more|less|fewer|higher|lower|larger|smaller|greater|stronger|weaker)\b"
        r"|\b(?:grow|rise|fall|increase|decrease|decline)\b.*\bfrom\b.*\bto\b",
    ),
    ("highest", r"\b(?:highest|largest|biggest|greatest|most|fastest|best)\b"),
    ("lowest", r"\b(?:lowest|smallest|least|fewest|slowest|worst|cheapest)\b"),
)
_NUMBER_WANTED = re.compile(
    r"\bhow (?:much|many|large|high|big|long)\b"
    r"|\bwhat (?:\w+ ){0,2}(?:was|is|were|are|did|does|do|will|share|applies)\b"
    r"|\bwhich year\b|\bcost\b|\bamount\b|\brespectively\b",
    re.IGNORECASE,
)
_COUNTS = re.compile(r"\bhow (?:much|many)\b", re.IGNORECASE)
_NO_NUMBER = re.compile(
    r"^\W*(?:why|explain|describe|summari[sz]e|who|when|where|how (?:do|does|did|is|are|was|were|can)\b)"
    r"|\b(?:consists? of|relate[sd]? to|made of|mean by|reasons?)\b",
    re.IGNORECASE,
)
_YEAR = re.compile(r"\b((?:19|20)\d\d)\b|\b(?:FY|[QH][1-4]|CY)\s?['’]?(\d\d)\b|['’](\d\d)\b", re.IGNORECASE)
_QUARTER = re.compile(r"\b[QT]([1-4])(?:\b|(?=\d\d))|\b([1-4])Q|\b(first|second|third|fourth) quarter\b", re.IGNORECASE)
_ONE_YEAR = re.compile(r"(?:FY\s?)?(?:19|20)\d\d", re.IGNORECASE)
_MARKS = re.compile(r"\(\w{1,2}\)|(?:\s?\.){3,}")
_QUARTERS = ("first", "second", "third", "fourth")
_TOTAL = re.compile(r"\b(?:total|sum|overall|all)\b", re.IGNORECASE)
_SCALE_WORDS = {1: "", 10**3: " thousand", 10**6: " million", 10**9: " billion", 10**12: " trillion"}
_SURE = 0.6
"""Cells less likely than this to be the ones meant are said to be probable only."""
_TWO: frozenset[Operation] = frozenset({"difference", "ratio", "share", "change"})
# 'Figure' is left out: with a number it is found by that, without one it is often a number that is meant.
_PICTURE_WANTED = re.compile(
    r"\b(?:charts?|graphs?|diagrams?|pictures?|images?|photo\w*|maps?|logos?|drawings?|illustrations?)\b",
    re.IGNORECASE,
)
# A row counts as named from this share of its label on: names are shortened and misspelt in questions.
_NAMED = 0.5
_ROWS_COMPARED = 6


class MultimodalSettings(TechniqueSettings):
    """How tables and figures take part in an answer."""

    tables: int = Field(default=8, ge=1, le=30, description="Tables of the evidence that are looked into.")
    certainty: float = Field(
        default=0.4,
        ge=0,
        le=1,
        description="How likely cells must be the ones meant, else rows and sentences are quoted.",
    )
    figures: int = Field(
        default=2, ge=1, le=10, description="With CLIP: figures found by what they show that join the evidence."
    )


class CellChoice(BaseModel):
    """A slot of a table; tables count from 1, rows and columns from 0."""

    table: int
    row: int
    column: int


class ChooseInput(BaseModel):
    question: str
    tables: str = Field(description="The tables as the model reads them, with the numbers of rows and columns.")
    views: SkipValidation[list[TableView]] = Field(description="The same, in the same order.")
    about: list[str] = Field(description="What each table is about: its document, section and caption.")


class ChooseOutput(BaseModel):
    operation: Operation = Field(description="read, sum, difference, average, ratio, share, change, highest or lowest")
    cells: list[CellChoice] = Field(
        description='[{"table": 1, "row": 2, "column": 3}, ...] in the order that the operation takes them: for a '
        "difference a - b, for a ratio a / b, for a change old then new; [] where no table has the answer"
    )
    certainty: float = Field(default=1.0, ge=0, le=1, description="0 to 1: that these are the cells meant.")


def operation_in(question: str) -> Operation:
    """What a question wants done with numbers."""
    for name, pattern in _ASKED:
        if re.search(pattern, question, re.IGNORECASE):
            return name
    return "read"


def choose_by_headings(inputs: ChooseInput, reading: Reading) -> ChooseOutput:
    """The cells whose row and column headings, and whose table, say most of what was asked."""
    operation = operation_in(inputs.question)
    matches = [
        _Match(view, about, inputs.question, reading) for view, about in zip(inputs.views, inputs.about, strict=True)
    ]
    choices: list[tuple[float, int, Operation, _Slots]] = [
        (fit, number, done, cells)
        for number, match in enumerate(matches)
        for done, cells, fit in _choices(operation, match)
    ]
    if not choices:
        return ChooseOutput(operation=operation, cells=[], certainty=0)
    fit, number, done, cells = max(choices, key=lambda choice: choice[0])
    certainty = _calibrated(min(1.0, fit), matches[number].taken_up(cells))
    return ChooseOutput(operation=done, cells=_numbered(number + 1, cells), certainty=certainty)


def _calibrated(fit: float, taken_up: float) -> float:
    """How likely the cells chosen are the ones meant.

    Fitted on the tables of the demo questions and of a random half of UDA's (52 answers); on MMLongBench's, which had
    no part in it, the Brier score is 0.13 where the fit itself has 0.31.
    """
    return 1 / (1 + math.exp(3.7 - 2.6 * fit - 2.5 * taken_up))


CHOOSE = Signature(
    name="multimodal.choose",
    inputs=ChooseInput,
    outputs=ChooseOutput,
    prompt="""\
Say which cells of the tables answer the question, and what is to be computed from them. Do not compute it yourself.

{tables}

Question: {question}
""",
    keyless=choose_by_headings,
)


class Multimodal:
    """Answers from the cells of tables, and finds figures by what they show."""

    def __init__(
        self, settings: MultimodalSettings, engine: Engine, reading: Reading, figures: Figures | None = None
    ) -> None:
        self._settings = settings
        self._engine = engine
        self._reading = reading
        self.figures = figures

    def with_figures(self, question: str, hits: Sequence[Hit], where: SearchFilter) -> list[Hit]:
        """The evidence with the figures that show most of what is asked.

        Returns:
            These figures first where the question asks for a picture or comes with one, else after all other hits;
            with their closeness as 'image', and scores that keep the list's order.
        """
        if self.figures is None:
            return [*hits]
        seen = {hit.chunk.id: hit for hit in self.figures.like(question, limit=self._settings.figures, where=where)}
        others = {hit.chunk.id: hit for hit in hits}
        if self.figures.by_picture or _PICTURE_WANTED.search(question):
            best = hits[0].score if hits else 1.0
            first = [_placed(hit, others.get(chunk_id, hit), best) for chunk_id, hit in seen.items()]
            return [*first, *(hit for chunk_id, hit in others.items() if chunk_id not in seen)]
        last = hits[-1].score if hits else 1.0
        placed = [_placed(seen[hit.chunk.id], hit, hit.score) if hit.chunk.id in seen else hit for hit in hits]
        return [*placed, *(_placed(hit, hit, last) for chunk_id, hit in seen.items() if chunk_id not in others)]

    def answer(self, question: str, hits: Sequence[Hit], watch: Watch) -> Sentence | None:
        """The answer that cells give; None where the question wants no number or no table has it.

        Returns:
            One sentence that cites the table and its cells, and says how it was computed.
        """
        tables = [hit.chunk for hit in hits if hit.chunk.html][: self._settings.tables]
        operation = operation_in(question)
        if not tables or _NO_NUMBER.search(question) or (operation == "read" and not _NUMBER_WANTED.search(question)):
            return None
        if operation == "read" and self._engine.name != "keyless":
            return None  # a model reads single cells by itself, in the evidence
        views = [TableView.from_html(chunk.html or "", chunk.caption) for chunk in tables]
        asked = ChooseInput(
            question=question,
            tables="\n".join(_as_grid(number, view) for number, view in enumerate(views, start=1)),
            views=views,
            about=[" ".join([chunk.name, *chunk.section, chunk.caption]) for chunk in tables],
        )
        chosen = self._engine.complete(CHOOSE, asked, self._reading, watch)
        cells = [
            _Found(tables[at.table - 1], views[at.table - 1], at.row, at.column)
            for at in chosen.cells
            if 0 < at.table <= len(tables) and _is_in(views[at.table - 1], at)
        ]
        if not cells or chosen.certainty < self._settings.certainty:
            return None
        return _sentence(chosen.operation, cells, chosen.certainty)


def _placed(seen: Hit, hit: Hit, score: float) -> Hit:
    return hit.model_copy(update={"score": score, "scores": hit.scores | seen.scores})


@dataclass(frozen=True)
class _Found:
    """A cell with the table that it stands in."""

    chunk: Chunk
    view: TableView
    row: int
    column: int

    @property
    def text(self) -> str:
        return self.view.cell(self.row, self.column).text

    @property
    def quantity(self) -> Quantity | None:
        return self.view.quantity(self.row, self.column)

    @property
    def names(self) -> list[str]:
        labels = self.view.row_label(self.row), self.view.column_label(self.column, self.row)
        return [name for name in map(_bare, labels) if name]

    @property
    def ref(self) -> CellRef:
        cell = self.view.cell(self.row, self.column)
        page = cell.page or self.chunk.page
        place = Place(page=page, boxes=(cell.box,)) if cell.box and page else None
        return CellRef(chunk=self.chunk.id, row=self.row, column=self.column, text=cell.text, place=place)


# finding cells


class _Match:
    """One table held against the stems of a question."""

    def __init__(self, view: TableView, about: str, question: str, reading: Reading) -> None:
        self.view, self._question, self._reading = view, question, reading
        self.asked = stems(" ".join([question, *other_wordings(question)]))
        self.asked_periods = periods_in(question)
        self.counts = bool(_COUNTS.search(question))
        self.asked_years = {period for period in self.asked_periods if period.isdigit()}
        self.about = set(stems(f"{about} {view.note}"))
        self.around = periods_in(f"{about} {view.note}".replace("_", " "))
        self.rows = {row: stems(_bare(view.row_label(row))) for row in view.body}
        # A column of years names the rows, as a label does.
        dated = {column for column in view.columns if _holds_years(view, column)}
        self.row_periods = {
            row: periods_in(" ".join([*view.row_path(row), *(view.cell(row, column).text for column in dated)]))
            for row in view.body
        }
        self.columns = {
            column: stems(_bare(view.column_label(column))) for column in view.columns if column not in dated
        }
        self.periods = {column: periods_in(view.column_label(column)) for column in self.columns}
        shared = set.intersection(*map(set, self.columns.values())) if len(self.columns) > 1 else set()
        self.own = {column: [stem for stem in found if stem not in shared] for column, found in self.columns.items()}

    def fit(self, label: Sequence[str]) -> float:
        """How much of a label the question says: 0..1."""
        return self._reading.coverage(label, self.asked)

    def certainty(self, row: int, column: int) -> float:
        """How well a cell fits the question: its headings said there, and the question said by them. 0..1."""
        path = stems(" ".join(self.view.row_path(row)))
        heads = {*path, *stems(self.view.column_label(column, row))}
        covered = self._reading.coverage(self.asked, heads | self.about)
        own = self._reading.coverage(self.asked, heads)
        fit = 0.45 * self.fit(self.rows[row]) + 0.2 * self.fit_of(column) + 0.2 * covered + 0.15 * own
        return max(0.0, fit - self.off(row, column))

    def taken_up(self, cells: Sequence[tuple[int, int]]) -> float:
        """The share of what is asked about, but for years, that the cells' headings and their table speak of: 0..1."""
        heads = {
            stem
            for row, column in cells
            for stem in stems(" ".join([*self.view.row_path(row), self.view.column_label(column, row)]))
        }
        asked = [stem for stem in subject_of(self._question) if not stem.isdigit()]
        return self._reading.coverage(asked, heads | self.about)

    def named_rows(self) -> list[int]:
        """Rows whose whole label the question says, in its order; a label within another named one does not count."""
        named = [row for row, label in self.rows.items() if label and self.fit(label) > 0.99]
        whole = [row for row in named if not any(set(self.rows[row]) < set(self.rows[other]) for other in named)]
        return self._in_order(self._of_asked_rows(whole), self.rows)

    def likely_rows(self) -> list[int]:
        """Rows that the question may mean, the likeliest first."""
        fits = {row: self.fit(label) for row, label in self.rows.items() if label}
        likely = self._of_asked_rows([row for row, fit in fits.items() if fit >= _NAMED])
        return sorted(likely, key=lambda row: (-fits[row], -len(self.rows[row]), row))[:_ROWS_COMPARED]

    def _of_asked_rows(self, rows: Sequence[int]) -> list[int]:
        """Those of the periods asked for, where rows have periods."""
        return [row for row in rows if self.row_periods[row] & self.asked_periods] or list(rows)

    def named_columns(self) -> list[int]:
        """Columns that the question names by their period or by all of their own heading, in its order."""
        named = [column for column, label in self.own.items() if label and self.fit(label) > 0.99]
        return self._in_order(named, self.own) or sorted(self.of_asked_periods())

    def of_asked_periods(self) -> list[int]:
        """Columns of a period that the question names."""
        return [column for column, found in self.periods.items() if found and found <= self.asked_periods]

    def best_column(self, row: int) -> int | None:
        """The column meant in a row; the first where none is named, as the latest stands there."""
        filled = [column for column in self.columns if self.view.cell(row, column).text]
        told = [column for column in filled if not is_nil(self.view.cell(row, column).text)]
        return max(told or filled, key=lambda column: (self.certainty(row, column), -column), default=None)

    def fit_of(self, column: int) -> float:
        """How much of what tells a column from the others the question says: 0..1."""
        if self.periods[column] and self.periods[column] <= self.asked_periods:
            return 1.0
        return self.fit(self.own[column]) if self.own[column] else 0.5

    def off(self, row: int, column: int) -> float:
        """What another period than the one asked for costs, by years and by quarters."""
        said = self.row_periods[row] | self.periods[column]
        around = self.around.union(*self.periods.values(), *self.row_periods.values())
        cost = 0.0
        for kind in ("", "q"):
            asked, own, near = (
                {one for one in found if one.startswith(kind) and one.isdigit() != bool(kind)}
                for found in (self.asked_periods, said, around)
            )
            if asked and not asked & own:
                cost += 0.4 if own or (near and not asked & near) else 0.1 if near else 0.0
        return cost

    def _in_order(self, named: Iterable[int], labels: dict[int, list[str]]) -> list[int]:
        return sorted(named, key=lambda at: min(self.asked.index(stem) for stem in labels[at] if stem in self.asked))


_Slots = list[tuple[int, int]]
"""Rows and columns of cells, in the order that their operation takes them."""


def _choices(operation: Operation, match: _Match) -> Iterator[tuple[Operation, _Slots, float]]:
    """What could be meant in one table: `(operation, cells, certainty)`."""
    read: Operation = "read"
    for cells, certainty in _single(match):
        quantity = match.view.quantity(*cells[0])
        if match.counts and quantity is None:
            continue
        # A percentage may stand there ready; everything else that is to be computed does not.
        if operation == "read" or (operation in ("share", "change") and quantity and quantity.unit == "%"):
            yield read, cells, certainty
    if operation != "read":
        found = _extremes if operation in ("highest", "lowest") else _several
        for cells, certainty in found(operation, match):
            yield operation, cells, certainty


def _single(match: _Match) -> Iterator[tuple[_Slots, float]]:
    for row in match.likely_rows():
        column = match.best_column(row)
        if column is not None:
            several = match.of_asked_periods()
            wanted = several if len(several) > 1 and column in several and len(match.asked_years) > 1 else [column]
            yield [(row, at) for at in wanted], match.certainty(row, column)


def _several(operation: Operation, match: _Match) -> Iterator[tuple[_Slots, float]]:
    rows, columns = match.named_rows(), match.named_columns()
    if operation in _TWO and len(rows) < 2 and len(columns) < 2:
        rows = match._in_order(match.likely_rows()[:2], match.rows)
    if len(rows) >= 2:
        column = match.best_column(rows[0])
        if column is not None:
            cells = [(row, column) for row in (rows[:2] if operation in _TWO else rows)]
            yield _ordered(operation, match, cells), min(match.certainty(*cell) for cell in cells)
    if operation in ("ratio", "share"):  # the same in two periods is a change, not a share
        columns = [column for column in columns if not match.periods[column]]
    for row in match.likely_rows()[:2]:
        if len(columns) >= 2:
            cells = [(row, column) for column in (columns[:2] if operation in _TWO else columns)]
            yield _ordered(operation, match, cells), min(match.certainty(*cell) for cell in cells)


def _ordered(operation: Operation, match: _Match, cells: _Slots) -> _Slots:
    """The operands as their operation takes them: the later period minus the earlier, a part of its whole."""
    periods = [sorted(match.row_periods[row] | match.periods[column]) for row, column in cells]
    if operation in ("difference", "change") and len(cells) == 2 and all(periods) and periods[0] != periods[1]:
        oldest_first = [cell for _, cell in sorted(zip(periods, cells, strict=True))]
        return oldest_first if operation == "change" else oldest_first[::-1]
    if operation == "change":
        return cells[::-1]
    return cells[::-1] if operation == "share" and len({row for row, _ in cells}) == 2 else cells


def periods_in(text: str) -> set[str]:
    """Years and quarters: 'third quarter of 2023' and 'Q3 23' are both {'2023', 'q3'}."""
    years = {next(filter(None, found)) for found in _YEAR.findall(text)}
    quarters = {next(filter(None, found)).lower() for found in _QUARTER.findall(text)}
    return {year if len(year) == 4 else f"20{year}" for year in years} | {
        f"q{_QUARTERS.index(quarter) + 1 if quarter in _QUARTERS else quarter}" for quarter in quarters
    }


def _extremes(operation: Operation, match: _Match) -> Iterator[tuple[_Slots, float]]:
    """The row with the highest (lowest) number of the column that the question speaks of."""
    for column in match.columns:
        rows = [row for row in match.view.body if not _TOTAL.search(match.view.row_label(row))]
        values = {row: quantity.amount for row in rows if (quantity := match.view.quantity(row, column))}
        if len(values) > 1 and len(values) >= len(rows) / 2:
            best = (max if operation == "highest" else min)(values, key=lambda row: values[row])
            heads = match.columns[column]
            certainty = 0.6 * match.fit_of(column) * bool(heads) + 0.4 * match._reading.coverage(
                match.asked, {*heads, *match.about}
            )
            yield [(best, column)], certainty - match.off(best, column)


def _bare(label: str) -> str:
    """A heading without footnote marks and dot leaders."""
    return _MARKS.sub(" ", label).strip(" .,:")


def _holds_years(view: TableView, column: int) -> bool:
    texts = [view.cell(row, column).text for row in view.body if view.cell(row, column).text]
    return bool(texts) and all(_ONE_YEAR.fullmatch(text) for text in texts)


def _numbered(table: int, cells: Iterable[tuple[int, int]]) -> list[CellChoice]:
    return [CellChoice(table=table, row=row, column=column) for row, column in cells]


def _is_in(view: TableView, at: CellChoice) -> bool:
    return 0 <= at.row < view.n_rows and 0 <= at.column < view.n_columns


# computing and saying


def _sentence(operation: Operation, cells: list[_Found], certainty: float) -> Sentence | None:
    made = _read(cells) if operation in ("read", "highest", "lowest") else _computed(operation, cells)
    if made is None:
        return None
    text, computed = made
    return Sentence(
        text=text if certainty >= _SURE else f"Probably: {text}",
        probability=round(certainty, 3),
        citations=tuple(dict.fromkeys(cell.chunk.id for cell in cells)),
        cells=tuple(cell.ref for cell in cells),
        computed=computed,
    )


def _read(cells: Sequence[_Found]) -> tuple[str, str] | None:
    """What the cells say; several of one row are added up too, as 'the total of three years' may mean either."""
    if not all(cell.text for cell in cells):
        return None
    said = "; ".join(
        f"{', '.join(cell.names)}: {shown(cell.quantity) if cell.quantity else cell.text}" for cell in cells
    )
    summed = _computed("sum", cells) if len(cells) > 2 else None
    return (f"{said}; together {summed[1]}.", summed[1]) if summed else (f"{said}.", "")


def _computed(operation: Operation, cells: Sequence[_Found]) -> tuple[str, str] | None:
    """The sentence and the calculation; None where a cell holds no number or they do not go together."""
    quantities = [cell.quantity for cell in cells]
    known = [quantity for quantity in quantities if quantity]
    if len(known) < 2 or len(known) < len(quantities) or len({quantity.unit for quantity in known}) > 1:
        return None
    scale = known[0].scale
    same = all(quantity.scale == scale for quantity in known)
    values = [quantity.value if same else quantity.amount / scale for quantity in known]
    calculation = _OPERATIONS[operation](values)
    if calculation is None:
        return None
    result, formula = calculation
    if operation == "share" and not 0 <= result <= 100:
        return None  # a part is no larger than its whole: these are not the cells meant
    unit, scale = (
        ("%", 1) if operation in ("share", "change") else ("", 1) if operation == "ratio" else (known[0].unit, scale)
    )
    if operation == "difference" and unit == "%":
        unit = "percentage points"
    shown_result = shown(Quantity(result, unit, scale))
    names = " and ".join(dict.fromkeys(", ".join(cell.names) for cell in cells))
    return (
        f"{formula} = {_plain(result)}: {_SAID[operation]} {names} is {shown_result}.",
        f"{formula} = {_plain(result)}",
    )


def _change(values: Sequence[Decimal]) -> tuple[Decimal, str] | None:
    old, new = values[:2]
    return (
        (_rounded((new - old) / abs(old) * 100), f"({_plain(new)} − {_plain(old)}) / {_plain(abs(old))} × 100")
        if old
        else None
    )


def _quotient(values: Sequence[Decimal], times: int = 1) -> tuple[Decimal, str] | None:
    above, below = values[:2]
    shown_times = f" × {times}" if times > 1 else ""
    return (_rounded(above / below * times), f"{_plain(above)} / {_plain(below)}{shown_times}") if below else None


_OPERATIONS: dict[str, Callable[[Sequence[Decimal]], tuple[Decimal, str] | None]] = {
    "sum": lambda values: (sum(values, Decimal(0)), " + ".join(map(_plain, values))),
    "difference": lambda values: (values[0] - values[1], f"{_plain(values[0])} − {_plain(values[1])}"),
    "average": lambda values: (
        _rounded(sum(values, Decimal(0)) / len(values)),
        f"({' + '.join(map(_plain, values))}) / {len(values)}",
    ),
    "ratio": _quotient,
    "share": lambda values: _quotient(values, 100),
    "change": _change,
}
_SAID = {
    "sum": "the sum of",
    "difference": "the difference of",
    "average": "the average of",
    "ratio": "the ratio of",
    "share": "the share of",
    "change": "the change of",
}


def shown(quantity: Quantity) -> str:
    """A number with its unit and scale: '$ 50 million', '12.5%'."""
    number = f"{_plain(abs(quantity.value))}{_SCALE_WORDS.get(quantity.scale, f' × {quantity.scale:,}')}"
    minus = "−" if quantity.value < 0 else ""
    if quantity.unit and quantity.unit[-1] in "$€£¥₹₩":
        return f"{minus}{quantity.unit} {number}"
    space = "" if quantity.unit in ("", "%", "x") else " "
    return f"{minus}{number}{space}{quantity.unit}"


def _plain(value: Decimal) -> str:
    return f"{value:,f}".replace("-", "−")


def _rounded(value: Decimal) -> Decimal:
    return value.quantize(Decimal("0.01"), ROUND_HALF_EVEN)


def _as_grid(number: int, view: TableView) -> str:
    head = f"Table {number} {view.caption}\ncolumns: " + " | ".join(map(str, range(view.n_columns)))
    rows = [f"row {at}: " + " | ".join(cell.text for cell in cells) for at, cells in enumerate(view.cells)]
    return quoted("\n".join([head, *rows]))


MULTIMODAL = Technique(
    name="multimodal",
    label="tables",
    group="answer",
    summary="Reads numbers from table cells and computes with them by code.",
    settings=MultimodalSettings,
    verb=Multimodal.answer,
    signatures=(CHOOSE,),
)
