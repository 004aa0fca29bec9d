"""Local: what stands around the entities that the question speaks of.

Relations near them are ranked by how much of the question they say; each leads to the chunk that says it.

Source: Edge et al. 2024, "From Local to Global", https://arxiv.org/abs/2404.16130, as its local search.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from rag_core.llm.reading.reading import Reading
from rag_core.llm.reading.words import stems
from rag_core.stores.graph.facts import Entity, Relation, Subgraph

_FAR = 0.5
"""What a relation counts for that touches none of the question's entities."""


def ranked_relations(
    question: str, asked: Iterable[str], around: Subgraph, reading: Reading
) -> list[tuple[float, Relation]]:
    """The relations of a neighbourhood that say something of the question, the best first: `(0..1, relation)`.

    Args:
        asked: Ids of the entities that the question speaks of.
    """
    wanted, names = stems(question), {entity.id: entity.name for entity in around.entities}
    near = frozenset(asked)
    ranked = [
        (
            reading.coverage(wanted, stems(said(relation, names)))
            * (1 if near & {relation.source, relation.target} else _FAR),
            relation,
        )
        for relation in around.relations
    ]
    return sorted((pair for pair in ranked if pair[0] > 0), key=lambda pair: (-pair[0], pair[1].chunk))


def said(relation: Relation, names: dict[str, str]) -> str:
    """A relation as a sentence would have it, and what is said of it."""
    between = f"{names.get(relation.source, '')} {relation.name} {names.get(relation.target, '')}"
    return f"{between} {relation.description}"


def chunk_scores(ranked: Sequence[tuple[float, Relation]], most: int) -> dict[str, float]:
    """Chunks by the best relation that they say, the best first: so many at most."""
    found: dict[str, float] = {}
    for score, relation in ranked:
        found.setdefault(relation.chunk, score)
        if len(found) == most:
            break
    return found


def names_of(entities: Iterable[Entity]) -> dict[str, str]:
    return {entity.id: entity.name for entity in entities}
