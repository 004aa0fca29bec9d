"""Small graphs to ask."""

from __future__ import annotations

from rag_core.stores.graph.facts import ChunkFacts, Entity, Mention, Relation, entity_id


def facts(chunk: str, document: str, *relations: tuple[str, str, str], weight: float = 1.0, **kinds: str) -> ChunkFacts:
    """A chunk that says `(subject, relation, object)`s; everything named is mentioned."""
    names = dict.fromkeys(name for source, _, target in relations for name in (source, target))
    return ChunkFacts(
        chunk=chunk,
        document=document,
        entities=tuple(Entity(entity_id(name), name, kinds.get(name, "")) for name in names),
        mentions=tuple(Mention(entity_id(name), chunk, weight) for name in names),
        relations=tuple(
            Relation(entity_id(source), entity_id(target), name, weight, chunk) for source, name, target in relations
        ),
    )


NEWS = (
    facts("n1", "news", ("InnovateCorp", "ACQUIRED", "DataWeave"), InnovateCorp="company"),
    facts("n2", "news", ("DataWeave", "LAUNCHED", "QuantumLeap Analytics"), QuantumLeap_Analytics="product"),
)
BOARD = (facts("b1", "board", ("InnovateCorp", "ACQUIRED", "DataWeave"), ("InnovateCorp", "FACES", "Churn"), weight=2),)
