"""Route: choose the collection that a question is for, by the names and descriptions of the collections.

The user's choice stands before the router's, and that before the default. What is chosen is searched and nothing
wider: a collection that does not exist is an error. Costs one short model call, or the embedding of the question and,
once, of what the collections are called; nothing where there is only one.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from pydantic import BaseModel, Field

from rag_core.errors import QuestionError, UnknownCollection
from rag_core.llm.engine import Engine, Watch
from rag_core.llm.quoting import quoted
from rag_core.llm.reading.reading import Reading
from rag_core.llm.reading.words import stems
from rag_core.llm.signature import Signature
from rag_core.techniques.base import Technique, TechniqueSettings
from rag_core.types import Value

# Names of documents that stand for a collection: more say little else and make the vectors dear.
_DOCUMENTS = 12


class RouteSettings(TechniqueSettings):
    """How a collection is chosen."""

    most: int = Field(default=1, ge=1, le=10, description="Collections that a question may be sent to.")
    threshold: float = Field(
        default=0.25, ge=0, le=1, description="Without a model: a collection that fits less is not chosen."
    )


class Described(Value):
    """A collection as the router sees it."""

    name: str
    description: str = ""
    documents: tuple[str, ...] = Field(default=(), description="Names of its documents.")


class RouteInput(BaseModel):
    question: str
    listed: str = Field(description="The collections as the model reads them.")
    collections: list[Described]
    most: int
    threshold: float


class RouteOutput(BaseModel):
    collections: list[str] = Field(
        description="Names of the collections to search, the likeliest first, as they are written; empty if none fits."
    )
    reason: str = Field(default="", description="Why, in a few words.")


def route_by_fit(inputs: RouteInput, reading: Reading) -> RouteOutput:
    """The collections that fit best: half by meaning, half by the question's rare words that they share."""
    fits = [_fit(inputs.question, collection, reading) for collection in inputs.collections]
    ranked = sorted(range(len(fits)), key=fits.__getitem__, reverse=True)
    chosen = [at for at in ranked[: inputs.most] if fits[at] >= inputs.threshold]
    named = [inputs.collections[at].name for at in chosen]
    scores = ", ".join(f"{inputs.collections[at].name!r} {fits[at]:.2f}" for at in ranked[:3])
    return RouteOutput(collections=named, reason=f"How well they fit: {scores}.")


def _fit(question: str, collection: Described, reading: Reading) -> float:
    """0..1: by what it is called and said to hold, or by the document of it that is closest by name."""
    documents = collection.documents[:_DOCUMENTS]
    about = f"{collection.name}. {collection.description}"
    close = float(reading.closeness(question, [about, *documents]).max())
    covered = reading.coverage(
        stems(question), [stem for text in (about, *collection.documents) for stem in stems(text)]
    )
    return 0.5 * max(0.0, close) + 0.5 * covered


ROUTE = Signature(
    name="route.choose",
    inputs=RouteInput,
    outputs=RouteOutput,
    prompt="""\
Which of these collections of documents hold the answer to the question? Name at most {most}, and none that is not
listed; where none fits, name none.

{listed}

Question: {question}
""",
    keyless=route_by_fit,
    max_tokens=300,
)


class Routed(Value):
    """The collections to search, and who chose them."""

    collections: tuple[str, ...] = Field(min_length=1)
    by: Literal["user", "router", "default"]
    why: str


class Route:
    """Sends questions to collections."""

    def __init__(self, settings: RouteSettings, engine: Engine, reading: Reading) -> None:
        self._settings = settings
        self._engine = engine
        self._reading = reading

    def choose(
        self, question: str, collections: Sequence[Described], *, chosen: Sequence[str], default: str, watch: Watch
    ) -> Routed:
        """Choose what to search.

        Args:
            collections: All that can be searched.
            chosen: What the user named; empty where the choice is left to the router.
            default: What is searched where neither chooses.

        Raises:
            UnknownCollection: `chosen` names one that cannot be searched.
            QuestionError: Neither chose, and the default cannot be searched.
        """
        known = [collection.name for collection in collections]
        for name in chosen:
            if name not in known:
                raise UnknownCollection(name, known)
        if chosen:
            return Routed(collections=tuple(dict.fromkeys(chosen)), by="user", why="You chose it.")
        if known == [default]:
            return Routed(collections=(default,), by="default", why="There is only one collection.")
        asked = RouteInput(
            question=question,
            listed="\n".join(map(_as_line, collections)),
            collections=list(collections),
            most=self._settings.most,
            threshold=self._settings.threshold,
        )
        told = self._engine.complete(ROUTE, asked, self._reading, watch)
        strangers = [name for name in told.collections if name not in known]
        if strangers:  # what a model makes up must neither fail the run nor widen the search
            told = route_by_fit(asked, self._reading)
            told.reason = f"The model named {strangers[0]!r}, which does not exist. {told.reason}"
        if not told.collections and default not in known:
            raise QuestionError(
                f"No collection fits the question, and none of {default!r} is searchable yet: choose one of "
                f"{', '.join(known)}, or wait until {default!r} is read."
            )
        if not told.collections:
            return Routed(collections=(default,), by="default", why=f"No collection fits the question. {told.reason}")
        routed = tuple(dict.fromkeys(told.collections))[: self._settings.most]
        return Routed(collections=routed, by="router", why=told.reason)


def _as_line(collection: Described) -> str:
    held = ", ".join(collection.documents[:_DOCUMENTS])
    return f"- {collection.name}: {quoted(f'{collection.description} ({held})' if held else collection.description)}"


ROUTE_TECHNIQUE = Technique(
    name="route",
    label="choose the collection",
    group="question",
    summary="Picks the collection that the question is for, where you have not chosen one.",
    settings=RouteSettings,
    verb=Route.choose,
    signatures=(ROUTE,),
)
