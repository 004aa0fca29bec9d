"""What a graph says of a collection, and what a store of graphs can do: the nouns that both back ends share.

    Chunk -MENTIONS-> Entity -RELATES-> Entity        Entity -BELONGS_TO-> Community -PART_OF-> Community

and a `Document` of each id that chunks have as their `document`.

Every fact comes from one chunk and goes with it: an entity is there as long as a chunk mentions it, and its kind,
description and aliases are what the chunks that mention it say.
"""

from __future__ import annotations

import hashlib
import json
import unicodedata
import uuid
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Protocol

import numpy as np

_NAMESPACE = uuid.UUID("c9cc202d-18bf-4175-a519-a5e34317793a")


def entity_id(name: str) -> str:
    """The id of whatever has this name: uuid5 of it without case and without double spaces."""
    return str(uuid.uuid5(_NAMESPACE, " ".join(unicodedata.normalize("NFKC", name).casefold().split())))


@dataclass(frozen=True, slots=True)
class Entity:
    """Something that has a name. `id` is `entity_id(name)`; `kind` is empty where no model said one."""

    id: str
    name: str
    kind: str = ""
    description: str = ""
    aliases: tuple[str, ...] = ()

    def said(self) -> str:
        """What is said of it, as text."""
        return json.dumps([self.name, self.kind, self.description, list(self.aliases)], ensure_ascii=False)


def merged(id_: str, said: Iterable[tuple[str, int]]) -> Entity:
    """An entity as several chunks have it, `(Entity.said(), chunks)` each: what most say comes first.

    Other spellings of its name become aliases; of the descriptions it keeps the three that most chunks give.
    """
    names, kinds, descriptions, aliases = Counter[str](), Counter[str](), Counter[str](), set[str]()
    for text, chunks in said:
        name, kind, description, others = json.loads(text)
        names[name] += chunks
        kinds[kind] += chunks
        descriptions[description] += chunks
        aliases |= {name, *others}
    name = _by_weight(names)[0]
    return Entity(
        id=id_,
        name=name,
        kind=next(iter(_by_weight(kinds)), ""),
        description=" ".join(_by_weight(descriptions)[:3]),
        aliases=tuple(sorted(aliases - {name})),
    )


def _by_weight(counted: Counter[str]) -> list[str]:
    return sorted(filter(None, counted), key=lambda text: (-counted[text], -len(text), text))


@dataclass(frozen=True, slots=True)
class Mention:
    """A chunk speaks of an entity; `weight` is positive, more where it is about it."""

    entity: str
    chunk: str
    weight: float = 1.0


@dataclass(frozen=True, slots=True)
class Relation:
    """A chunk says how one entity stands to another; without a name they only occur together."""

    source: str
    target: str
    name: str
    weight: float
    chunk: str
    description: str = ""


@dataclass(frozen=True, slots=True)
class ChunkFacts:
    """All that one chunk says.

    Entities that are not mentioned are left out when stored, and so are relations between others. `made` names what
    the facts were made from, for whoever wants to know whether they have to be made again.
    """

    chunk: str
    document: str
    entities: tuple[Entity, ...] = ()
    mentions: tuple[Mention, ...] = ()
    relations: tuple[Relation, ...] = ()
    made: str = ""

    @property
    def digest(self) -> str:
        """Names what is said: the same facts have the same digest."""
        return hashlib.sha256(json.dumps(asdict(self), sort_keys=True).encode()).hexdigest()[:32]


@dataclass(frozen=True, slots=True)
class Community:
    """Entities with more to do with each other than with others; level 0 is the coarsest, `rank` orders a level.

    `made_by` names the engine that wrote the report; it is empty where there is none.
    """

    id: str
    level: int
    parent: str | None
    entities: tuple[str, ...]
    title: str = ""
    report: str = ""
    rank: float = 0.0
    made_by: str = ""


@dataclass(frozen=True, slots=True)
class Subgraph:
    """A part of a graph: relations stand between its entities alone."""

    entities: tuple[Entity, ...] = ()
    relations: tuple[Relation, ...] = ()


@dataclass(frozen=True, slots=True)
class Edges:
    """The whole graph as arrays: rows are positions in `entities` and `chunks`.

    `related`: `(i, j, weight)` with i < j, once a pair, weights of all its relations summed either way round.
    `mentioned`: `(entity, chunk, weight)`. Positions are int64, weights float64; `(n,)` each.
    """

    version: int
    entities: tuple[str, ...]
    chunks: tuple[str, ...]
    related: tuple[np.ndarray, np.ndarray, np.ndarray]
    mentioned: tuple[np.ndarray, np.ndarray, np.ndarray]


@dataclass(frozen=True, slots=True)
class Table:
    """What a query gave; values are as JSON has them: nodes and relationships are objects with their `label`."""

    columns: tuple[str, ...]
    rows: tuple[tuple[Any, ...], ...]
    cut: bool = False  # there were more rows than were asked for


@dataclass(frozen=True, slots=True)
class GraphSize:
    """How much a graph holds."""

    documents: int = 0
    chunks: int = 0
    entities: int = 0
    mentions: int = 0
    relations: int = 0
    communities: int = 0


class GraphStore(Protocol):
    """The graph of one collection. Safe for threads; every method raises `GraphError` where the store is out."""

    # writing

    def replace(
        self, document: str, facts: Sequence[ChunkFacts], *, keep: Collection[str] = (), name: str = "", made: str = ""
    ) -> None:
        """Put these facts in the place of what the document said, wholly or not at all.

        A chunk whose facts are stored as they are costs nothing; entities that nothing mentions any more go.

        Args:
            keep: Chunks that are to stay as they are stored.
            name: The document's, for queries.
            made: What all of it was made from, for whoever wants to know whether it has to be made again.
        """
        ...

    def forget(self, document: str) -> None:
        """Remove all that a document said, and the reports on what it spoke of; one that is not there is no error."""
        ...

    def save_communities(self, communities: Sequence[Community], *, made: str = "") -> None:
        """Put these communities in the place of all that are there; entities that are not there are left out.

        Args:
            made: What they were made from; empty where they are not all.
        """
        ...

    def clear(self) -> None:
        """Remove everything."""
        ...

    def close(self) -> None: ...

    # reading

    @property
    def read_only(self) -> bool:
        """Whether another process writes it."""
        ...

    @property
    def outdated(self) -> bool:
        """Whether another process wrote it since it was opened: that shows when it is opened anew."""
        ...

    @property
    def version(self) -> int:
        """Another number after every write: what is made from the graph may be kept as long as it is the same."""
        ...

    def documents(self) -> dict[str, str]:
        """What each document was `made` from, by its id."""
        ...

    def chunks(self, document: str) -> dict[str, str]:
        """What the facts of each of its chunks were made from (`ChunkFacts.made`), by the chunk's id."""
        ...

    def entities(self, ids: Sequence[str] | None = None) -> list[Entity]:
        """Those of these entities that are there, in the order asked; all, by name, where no ids are given."""
        ...

    def search(self, text: str, *, limit: int = 20) -> list[Entity]:
        """Entities with this in their name or an alias, the most mentioned first; case is no matter."""
        ...

    def mentions(self, chunks: Sequence[str]) -> list[Mention]:
        """What these chunks mention."""
        ...

    def neighbours(self, ids: Sequence[str], *, hops: int = 1, limit: int = 200) -> Subgraph:
        """What stands around these entities.

        Args:
            hops: How far, 1 to 4.
            limit: Entities at most, these among them: nearer ones first, then those with the heaviest relations.
        """
        ...

    def paths(self, source: str, target: str, *, longest: int = 4, limit: int = 5) -> list[Subgraph]:
        """The shortest ways between two entities, as many as asked, relations read either way round.

        Each has its entities in order from source to target; none where they are further apart than `longest`, 1 to 4.
        """
        ...

    def edges(self) -> Edges:
        """The whole graph as arrays."""
        ...

    def communities_made(self) -> str:
        """What the communities were made from, as they were saved with; empty where there are none."""
        ...

    def communities(self, level: int | None = None) -> list[Community]:
        """All communities, or one level's, by level and then the highest rank first."""
        ...

    def cypher(
        self,
        query: str,
        *,
        limit: int = 200,
        timeout_s: float = 5,
        parameters: Mapping[str, Any] | None = None,
    ) -> Table:
        """Ask the graph in Cypher. It is only read, whatever the query says.

        Raises:
            QueryRefused: The query is not allowed, is wrong, or took too long; the message says what to do.
        """
        ...

    def size(self) -> GraphSize: ...
