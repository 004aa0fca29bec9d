"""Cypher: the question as a query of the graph, written by a model or filled into a template by the question's shape.

The store reads such a query and never writes, whatever it says. One that it refuses is repaired once by the model;
then the templates are tried. They go from the particular to the general: a chain of two relations, one relation, all
relations of what the question names. Costs a call or two with a model, and some milliseconds without.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import permutations
from typing import Any

from pydantic import BaseModel, Field

from rag_core.errors import QueryRefused
from rag_core.llm.engine import Engine, Watch
from rag_core.llm.quoting import without_tags
from rag_core.llm.reading.reading import Reading
from rag_core.llm.reading.words import STOP, stem, words
from rag_core.llm.signature import Signature
from rag_core.stores.graph.facts import Entity, GraphStore
from rag_core.types import Value

SCHEMA = """\
(:Entity {id, name, kind, description, aliases, mentions})
(:Chunk {id, document})
(:Community {id, level, title, report, rank})
(:Chunk)-[:MENTIONS {weight}]->(:Entity)
(:Entity)-[:RELATES {name, weight, chunk, description}]->(:Entity)      name: lower case, such as 'acquired'
(:Entity)-[:BELONGS_TO]->(:Community)-[:PART_OF]->(:Community)
Clauses: MATCH, OPTIONAL MATCH, WITH, UNWIND, RETURN. Compare texts by toLower(...) CONTAINS '...'; paths *1..4."""
ROWS = 50
"""Rows that a query gives, at most."""
_PREFIX = 5
"""Letters that a verb and its noun have in common: 'acquired', 'acquisition'."""
_CONNECTED = re.compile(r"\b(?:connect|relat|link|associat|between|common|tie[ds]?\b)", re.IGNORECASE)
_VERBS = frozenset(
    """bought built found gave held led left made met owns runs ran sold spoke took taught won wrote written
    leads heads makes sells writes works born""".split()
)


class QueryInput(BaseModel):
    question: str
    graph: str = Field(description="What labels, relationships and properties there are.")
    names: str = Field(description="Names of entities that the question seems to speak of, one a line.")
    entities: list[tuple[str, str]] = Field(description="The same as `(id, name)`.")


class RepairInput(QueryInput):
    query: str
    error: str


class QueryOutput(BaseModel):
    queries: list[str] = Field(min_length=1, description="One Cypher query that only reads, as a list of one.")


def queries_by_shape(inputs: QueryInput, _: Reading) -> QueryOutput:
    """Templates for what the question names and the verbs that it has, the most particular first."""
    ids = [id_ for id_, _ in inputs.entities]
    if not ids:
        return QueryOutput(queries=[_everything()])
    start = _start(ids)
    return QueryOutput(
        queries=[*relating(inputs.question, inputs.entities), _one(f"{start} AND r.name <> ''"), _one(start)]
    )


def relating(question: str, entities: Sequence[tuple[str, str]]) -> list[str]:
    """Templates for how the question says that its entities stand to others; none where it says nothing of it.

    Args:
        entities: `(id, name)` of what it names.
    """
    return [*_relating(question, [id_ for id_, _ in entities], _verbs(question, [name for _, name in entities]))]


def chaining(question: str, entities: Sequence[tuple[str, str]]) -> list[str]:
    """Those of `relating` that go over an entity in between, which the question need not name."""
    return [query for query in relating(question, entities) if query.startswith(_CHAIN)]


def _relating(question: str, ids: Sequence[str], verbs: Sequence[str]) -> Iterator[str]:
    if not ids:
        return
    start = _start(ids)
    if len(ids) > 1 and _CONNECTED.search(question):
        ends = f"IN [{', '.join(map(_literal, ids))}] AND a.id <"
        yield _two(f"{start} AND c.id {ends} c.id AND r.name <> '' AND s.name <> ''")
        yield _one(f"{start} AND b.id {ends} b.id")
        yield _two(f"{start} AND c.id {ends} c.id")
    if len(verbs) > 1:
        chains = " OR ".join(
            f"({_says('r', one)} AND {_says('s', other)})" for one, other in permutations(verbs[:4], 2)
        )
        yield _two(f"{start} AND ({chains}) AND a.id <> c.id")
    if verbs:
        yield _one(f"{start} AND ({' OR '.join(_says('r', verb) for verb in verbs)})")


def _start(ids: Sequence[str]) -> str:
    return f"a.id IN [{', '.join(map(_literal, ids))}]"


def _one(where: str) -> str:
    return (
        f"MATCH (a:Entity)-[r:RELATES]-(b:Entity) WHERE {where} "
        f"RETURN a.name, r.name, b.name, r.chunk ORDER BY b.mentions DESC"
    )


_CHAIN = "MATCH (a:Entity)-[r:RELATES]-(b:Entity)-[s:RELATES]-(c:Entity)"


def _two(where: str) -> str:
    return (
        f"{_CHAIN} WHERE {where} "
        f"RETURN a.name, r.name, b.name, s.name, c.name, r.chunk, s.chunk ORDER BY c.mentions DESC"
    )


def _everything() -> str:
    return "MATCH (e:Entity) RETURN e.name, e.mentions ORDER BY e.mentions DESC"


def _says(relation: str, verb: str) -> str:
    return f"toLower({relation}.name) CONTAINS {_literal(verb)}"


def _literal(text: str) -> str:
    return "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"


def _verbs(question: str, names: Sequence[str]) -> list[str]:
    """How the question's verbs begin: past forms, what follows a name, some that are neither."""
    named = {word for name in names for word in words(name)}
    asked = words(question)
    found = [
        word
        for before, word in zip(["", *asked], asked, strict=False)
        if word not in named
        and word not in STOP
        and word.isalpha()
        and (word.endswith("ed") or word in _VERBS or before in named)
    ]
    return list(dict.fromkeys(stem(word)[:_PREFIX] for word in found))


WRITE = Signature(
    name="graph.cypher",
    inputs=QueryInput,
    outputs=QueryOutput,
    prompt="""\
Write one Cypher query that finds what answers the question in this graph. It only reads. Return names, and always the
ids of the chunks that say it (r.chunk of relations, or the id of chunks). Names may be written otherwise in the graph:
compare them by CONTAINS.

{graph}

Entities that the question seems to speak of:
{names}

Question: {question}
""",
    keyless=queries_by_shape,
    max_tokens=500,
)

REPAIR = Signature(
    name="graph.repair",
    inputs=RepairInput,
    outputs=QueryOutput,
    prompt="""\
This query of a graph was refused. Write it anew so that it is accepted and finds what answers the question.

{graph}

Entities that the question seems to speak of:
{names}

Question: {question}
Query: {query}
Refused, because: {error}
""",
    keyless=queries_by_shape,
    max_tokens=500,
)


class Asked(Value):
    """What the graph was asked, and what it gave."""

    query: str
    columns: tuple[str, ...] = ()
    rows: tuple[tuple[Any, ...], ...] = ()
    tried: tuple[str, ...] = Field(default=(), description="Queries before it that gave nothing, or were refused.")
    why: str = Field(default="", description="What went wrong on the way.")


def ask(
    question: str,
    entities: Sequence[Entity],
    store: GraphStore,
    timeout_s: float,
    engine: Engine,
    reading: Reading,
    watch: Watch,
) -> Asked:
    """Query the graph until a query gives rows.

    Raises:
        GraphError: The store is out.
    """
    known = [(entity.id, entity.name) for entity in entities]
    asked = QueryInput(
        question=question,
        graph=SCHEMA,
        names=without_tags("\n".join(name for _, name in known)) or "none",
        entities=known,
    )
    queries = engine.complete(WRITE, asked, reading, watch).queries
    tried: list[str] = []
    why = ""
    repaired = False
    while queries:
        query, *queries = queries
        try:
            table = store.cypher(query, limit=ROWS, timeout_s=timeout_s)
        except QueryRefused as error:
            tried.append(query)
            why = str(error)
            if not repaired:
                again = RepairInput(**asked.model_dump(), query=query, error=why)
                queries = [*engine.complete(REPAIR, again, reading, watch).queries]
                repaired = True
            elif not queries:
                queries = [one for one in queries_by_shape(asked, reading).queries if one not in tried]
            continue
        if table.rows:
            return Asked(query=query, columns=table.columns, rows=table.rows, tried=tuple(tried), why=why)
        tried.append(query)
        queries = queries or [one for one in queries_by_shape(asked, reading).queries if one not in tried]
    return Asked(query=tried[-1] if tried else "", tried=tuple(tried[:-1]), why=why or "No query found anything.")


def texts(value: Any) -> Iterator[str]:
    """All texts in a value, also those inside lists and objects."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for inner in value.values():
            yield from texts(inner)
    elif isinstance(value, list | tuple):
        for inner in value:
            yield from texts(inner)
