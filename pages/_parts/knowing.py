"""What the Knowledge page says in words: what building would take, how far it is, what was chosen."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from pages._parts.library import counted
from pages._parts.network import Drawn, titled
from rag_core.indexing.graph import GraphEstimate, GraphProgress
from rag_core.indexing.tree import TreeEstimate, TreeProgress
from rag_core.llm.engine import KeylessEngine
from rag_core.stores.graph.facts import Community, Entity, GraphStore, Relation, Subgraph, Table
from rag_core.types import Chunk
from rag_core.workbench.trees import TreeView

# Of the demo's 234 chunks: 3.1 and 10.5 seconds on two cores that had other work too.
_SECONDS_A_CHUNK = {"graph": 0.013, "tree": 0.045}
MOST_SUMMARIES = 1_500
_LINKS = 40
_TITLE = 110


def cost(what: str, expected: GraphEstimate | TreeEstimate) -> str:
    """What building would take, in a sentence."""
    of = f"{counted(expected.documents, 'document')} with {counted(expected.chunks, 'chunk')}"
    if not expected.model_calls:
        took = max(1, round(expected.chunks * _SECONDS_A_CHUNK[what]))
        return f"{of}: about {duration(took)}, without a model."
    return (
        f"{of}: about {counted(expected.model_calls, 'model call')}, {expected.input_tokens:,} tokens in and "
        f"{expected.output_tokens:,} out, as long as the model takes for them."
    )


def several(number: int, many: str, one: str) -> str:
    return f"{number:,} {one if number == 1 else many}"


def written(made_by: str) -> str:
    """Who wrote a report or a summary, to go after what else is said of it."""
    return made_by and f" · written {'without a model' if made_by == KeylessEngine.name else f'by {made_by}'}"


def duration(seconds: float) -> str:
    return f"{seconds:,.0f} s" if seconds < 100 else f"{seconds / 60:,.0f} minutes"


def progressed(progress: GraphProgress | TreeProgress | None) -> tuple[float, str]:
    """How far a build is, as a share and in words."""
    if isinstance(progress, GraphProgress) and progress.stage == "communities":
        return 1.0, f"Communities and their reports: {progress.done:,} so far"
    if progress is None or not progress.total:
        return 0.0, "Looking at what has changed"
    share = min(1.0, progress.done / progress.total)
    if isinstance(progress, TreeProgress):
        at = f"Summarising {progress.document}" if progress.document else "Summarising over all documents"
        of = f"{progress.done:,} of {counted(progress.total, 'document')}"
        return share, f"{at}: {of}, {several(progress.summaries, 'summaries', 'summary')} written"
    return share, f"Reading {progress.document}: {progress.done:,} of {counted(progress.total, 'chunk')}"


# the graph


def entity_rows(entities: Sequence[Entity], part: Drawn, colours: Mapping[int, str], other: str) -> dict[str, Any]:
    """Entities as a list: the sign and colour of their community, what kind they are."""
    return {
        one.id: {
            "title": one.name,
            "note": one.kind,
            "sign": part.sign(one.id),
            "colour": colours.get(part.groups.get(one.id, -1), other),
        }
        for one in entities
    }


def about_entity(entity: Entity, around: Subgraph, communities: Sequence[Community]) -> dict[str, Any]:
    """What is said of an entity, and how it stands to others."""
    names = {one.id: one.name for one in around.entities}
    said: dict[str, list[Relation]] = {}
    for relation in sorted(around.relations, key=lambda one: (not one.name, -one.weight)):
        if entity.id in (relation.source, relation.target):
            said.setdefault(relation.target if relation.source == entity.id else relation.source, []).append(relation)
    links = [
        {
            "id": other,
            "title": names.get(other, other),
            "says": ", ".join(list(dict.fromkeys(_says(one, entity.id) for one in relations if one.name))[:2])
            or "with",
            "evidence": "\n".join(list(dict.fromkeys(one.description for one in relations))[:3]),
        }
        for other, relations in said.items()
        if other != entity.id
    ]
    own = [titled(one) for one in communities if entity.id in one.entities]
    notes = [f"also {', '.join(entity.aliases[:4])}" if entity.aliases else "", f"in {own[0]}" if own else ""]
    return {
        "title": entity.name, "kind": entity.kind, "note": " · ".join(filter(None, notes)),
        "text": entity.description, "links": links[:_LINKS], "linked": "Related to",
    }  # fmt: skip


def _says(relation: Relation, entity: str) -> str:
    return f"{relation.name} →" if relation.source == entity else f"← {relation.name}"


def community_outline(communities: Sequence[Community]) -> dict[str, Any]:
    """The communities that have a report, those inside others under them."""
    told = [one for one in communities if one.report]
    there = {one.id for one in told}
    under: dict[str, list[str]] = {}
    for one in told:
        under.setdefault(one.parent if one.parent in there else "", []).append(one.id)
    return {
        "roots": under.get("", []),
        "nodes": {
            one.id: {
                "title": titled(one),
                "note": f"level {one.level} · {several(len(one.entities), 'entities', 'entity')}",
                "children": under.get(one.id, []),
            }
            for one in told
        },
    }  # fmt: skip


def query_examples(store: GraphStore) -> list[tuple[str, str]]:
    """`(what is asked, the query)`, of what the graph holds."""
    top = [name for (name,) in store.cypher("MATCH (e:Entity) RETURN e.name ORDER BY e.mentions DESC", limit=2).rows]
    said = store.cypher(
        "MATCH (a:Entity)-[r:RELATES]->(b:Entity) WHERE r.name <> '' RETURN r.name, count(*) AS n ORDER BY n DESC",
        limit=1,
    ).rows
    examples = [
        ("Most mentioned", "MATCH (e:Entity)\nRETURN e.name, e.kind, e.mentions\nORDER BY e.mentions DESC LIMIT 20"),
        ("Shared by two documents",
         "MATCH (c:Chunk)-[:MENTIONS]->(e:Entity)<-[:MENTIONS]-(d:Chunk)\nWHERE c.document < d.document\n"
         "RETURN e.name, count(*) AS times ORDER BY times DESC LIMIT 20"),
        ("Communities", "MATCH (e:Entity)-[:BELONGS_TO]->(k:Community)\n"
         "RETURN k.title, k.level, count(e) AS entities\nORDER BY entities DESC LIMIT 20"),
    ]  # fmt: skip
    if top:
        examples.insert(1, (
            f"All about {top[0]}",
            f"MATCH (a:Entity)-[r:RELATES]-(b:Entity)\nWHERE a.name = {literal(top[0])}\n"
            "RETURN r.name, b.name, r.description LIMIT 50",
        ))  # fmt: skip
    if len(top) > 1:
        examples.insert(2, (
            f"From {top[0]} to {top[1]}",
            f"MATCH (a:Entity)-[r:RELATES]-(b:Entity)-[s:RELATES]-(c:Entity)\nWHERE a.name = {literal(top[0])} "
            f"AND c.name = {literal(top[1])}\nRETURN DISTINCT a.name, r.name, b.name, s.name, c.name LIMIT 50",
        ))  # fmt: skip
    if said:
        examples.append((
            f"Relations called “{said[0][0]}”",
            f"MATCH (a:Entity)-[r:RELATES]->(b:Entity)\nWHERE r.name = {literal(said[0][0])}\n"
            "RETURN a.name, r.name, b.name, r.description LIMIT 50",
        ))  # fmt: skip
    return examples


def literal(text: str) -> str:
    """A text as Cypher has it."""
    return "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"


def as_columns(table: Table) -> dict[str, list[Any]]:
    """A result by column; what is no plain value is shown as JSON."""
    named: dict[str, list[Any]] = {}
    for at, column in enumerate(table.columns):
        while column in named:
            column += " "
        values = [row[at] for row in table.rows]
        plain = all(value is None or isinstance(value, (int, float)) for value in values)
        named[column] = values if plain else [_text(value) for value in values]
    return named


def _text(value: Any) -> str:
    if value is None:
        return ""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


# the tree


def tree_outline(view: TreeView) -> dict[str, Any]:
    """The summaries, those under others in them; the topmost ones, where there are too many."""
    shown = [node for level in view.levels for node in level][:MOST_SUMMARIES]
    there = {node.id for node in shown}
    below = {child for node in shown for child in node.children}
    return {
        "roots": [node.id for node in shown if node.id not in below],
        "nodes": {
            node.id: {
                "title": node.text if len(node.text) <= _TITLE else f"{node.text[: _TITLE - 1]}…",
                "note": f"level {node.level}",
                "children": [child for child in node.children if child in there],
            }
            for node in shown
        },
    }


def passage(chunk: Chunk) -> dict[str, Any]:
    """A chunk as the right side shows it."""
    return {
        "document": chunk.document,
        "name": chunk.name,
        "page": chunk.page,
        "section": " › ".join(chunk.section),
        "text": chunk.text,
        "caption": chunk.caption or f"A {chunk.kind}.",
        "places": [place.model_dump() for place in chunk.places],
    }
