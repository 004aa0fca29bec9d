"""Global: questions about the whole are answered over the reports on communities.

Each report that may help says what it has for the question and how much that matters (map); the points are put
together (reduce), and each leads back to the chunk of its community that says it best. Costs a call a report and one
more with a model.

Source: Edge et al. 2024, "From Local to Global: A Graph RAG Approach to Query-Focused Summarization",
https://arxiv.org/abs/2404.16130
"""

from __future__ import annotations

from collections.abc import Sequence

from pydantic import BaseModel, Field

from rag_core.errors import RagError
from rag_core.fan_out import fan_out
from rag_core.llm.engine import Engine, Watch
from rag_core.llm.quoting import without_tags
from rag_core.llm.reading.reading import Reading
from rag_core.llm.reading.sentences import sentences
from rag_core.llm.reading.words import stems
from rag_core.llm.signature import Signature
from rag_core.stores.graph.facts import Community
from rag_core.types import Value

_AT_ONCE = 4
_POINTS = 3
_BY_RANK = 0.1
"""What the size of a community counts beside the words that its report shares with the question: it breaks ties."""


class Point(Value):
    """Something that a report says on the question."""

    text: str = Field(description="One sentence, names and numbers as they stand.")
    rating: float = Field(ge=0, le=1, description="0 to 1: how much it helps to answer.")


class MapInput(BaseModel):
    question: str
    title: str
    report: str


class MapOutput(BaseModel):
    points: list[Point] = Field(
        default_factory=list,
        description='Each {"text" (one sentence), "rating" (0 to 1)}; none where it is no help.',
    )


class ReduceInput(BaseModel):
    question: str
    points: str = Field(description="What all reports say, the most helpful first, one a line.")


class ReduceOutput(BaseModel):
    summary: str = Field(description="What the points say together, a few sentences, facts only.")


class Overview(Value):
    """What the reports say together, and point by point: `(community, point)`, the most helpful first."""

    summary: str
    points: tuple[tuple[str, Point], ...]


def points_by_words(inputs: MapInput, reading: Reading) -> MapOutput:
    """The sentences of a report that share words with the question; all of a report of which only the title does."""
    asked = stems(inputs.question)
    of_title = reading.coverage(asked, stems(inputs.title))
    rated = [
        Point(text=sentence, rating=round(max(reading.coverage(asked, stems(sentence)), 0.5 * of_title), 4))
        for sentence in sentences(inputs.report)
    ]
    best = sorted((point for point in rated if point.rating > 0), key=lambda point: -point.rating)
    return MapOutput(points=best[:_POINTS])


def first_points(inputs: ReduceInput, _: Reading) -> ReduceOutput:
    """The most helpful points, as they stand."""
    return ReduceOutput(summary=" ".join(inputs.points.splitlines()[:_POINTS]))


MAP = Signature(
    name="graph.map",
    inputs=MapInput,
    outputs=MapOutput,
    prompt="""\
Say what this report has that helps to answer the question: at most three points, each with how much it helps. Say
nothing that is not in it; where it does not help, give no points.

Question: {question}
Report on {title}:
<passage>
{report}
</passage>
""",
    keyless=points_by_words,
    max_tokens=400,
)

REDUCE = Signature(
    name="graph.reduce",
    inputs=ReduceInput,
    outputs=ReduceOutput,
    prompt="""\
Put these points together into what they say on the question. Keep names and numbers, and add nothing.

Question: {question}
<passage>
{points}
</passage>
""",
    keyless=first_points,
    max_tokens=600,
)


def overview(
    question: str, communities: Sequence[Community], most: int, engine: Engine, reading: Reading, watch: Watch
) -> Overview:
    """What the reports on these communities say on a question; of the nearest to it, so many at most.

    Raises:
        RagError: No report could be asked.
    """
    asked = nearest(question, communities, most, reading)

    def points(community: Community) -> MapOutput:
        given = MapInput(question=question, title=without_tags(community.title), report=without_tags(community.report))
        return engine.complete(MAP, given, reading, watch)

    outcomes = fan_out(points, asked, at_once=_AT_ONCE)
    failed = [outcome for outcome in outcomes if isinstance(outcome, RagError)]
    if failed and len(failed) == len(outcomes):
        raise failed[0]
    found = [
        (community.id, point)
        for community, outcome in zip(asked, outcomes, strict=True)
        if isinstance(outcome, MapOutput)
        for point in outcome.points
        if point.rating > 0
    ]
    found.sort(key=lambda pair: -pair[1].rating)
    if not found:
        return Overview(summary="", points=())
    lines = without_tags("\n".join(point.text for _, point in found))
    summary = engine.complete(REDUCE, ReduceInput(question=question, points=lines), reading, watch).summary
    return Overview(summary=summary, points=tuple(found))


def nearest(question: str, communities: Sequence[Community], most: int, reading: Reading) -> list[Community]:
    """The communities whose reports share most with the question, the larger first among equals."""
    asked = stems(question)
    largest = max((community.rank for community in communities), default=0) or 1

    def worth(community: Community) -> float:
        shared = reading.coverage(asked, stems(f"{community.title} {community.report}"))
        return shared + _BY_RANK * community.rank / largest

    return sorted((one for one in communities if one.report), key=worth, reverse=True)[:most]
