"""A graph of 50,000 entities: how long it takes to build, to update one document, and to ask what stands around.

    python -m benchmarks.graph [--entities 50000] [--queries 200] [--neo4j bolt://127.0.0.1:7687]

The graph is made up: each chunk mentions eight entities, few of them often and most of them seldom (by Zipf's law, as
names are in texts), and relates them in a chain and across; forty chunks are a document. Queries begin at entities
drawn from the chunks, so that the much mentioned come often. Neo4j is measured beside ladybug where one is named, in a
collection of its own; NEO4J_USERNAME and NEO4J_PASSWORD sign in.
"""

from __future__ import annotations

import argparse
import random
import tempfile
from collections.abc import Callable, Sequence
from contextlib import suppress
from itertools import pairwise
from pathlib import Path

import numpy as np

from benchmarks.table import machine, percentile, print_table, timed_s
from rag_core.errors import QueryRefused
from rag_core.settings import Settings
from rag_core.stores.graph import drop_graph, open_graph
from rag_core.stores.graph.facts import ChunkFacts, Entity, GraphStore, Mention, Relation, entity_id
from rag_core.techniques.graph.spread import index_of

_A_CHUNK, _A_DOCUMENT = 8, 40
_UPDATES = 10
_KEY = "benchmark-50000"
_TWO_HOPS = """\
MATCH (a:Entity {id: $id})-[:RELATES]-(b:Entity)-[:RELATES]-(c:Entity) WHERE c.id <> $id RETURN DISTINCT c.name"""


def documents(entities: int, seed: int = 1) -> dict[str, list[ChunkFacts]]:
    """Facts that mention so many entities, each at least once."""
    rng = np.random.default_rng(seed)
    weights = 1 / np.arange(1, entities + 1)
    chunks = -(-entities // (_A_CHUNK // 2))
    often = rng.choice(entities, size=(chunks, _A_CHUNK // 2), p=weights / weights.sum())
    each = np.resize(rng.permutation(entities), (chunks, _A_CHUNK // 2))
    made: dict[str, list[ChunkFacts]] = {}
    for at, row in enumerate(np.concatenate([often, each], axis=1)):
        document = f"document {at // _A_DOCUMENT}"
        made.setdefault(document, []).append(_facts(f"chunk {at}", document, list(dict.fromkeys(row.tolist()))))
    return made


def _facts(chunk: str, document: str, numbers: Sequence[int]) -> ChunkFacts:
    entities = [Entity(entity_id(f"entity {number}"), f"entity {number}") for number in numbers]
    pairs = [*pairwise(entities), *zip(entities, entities[3:], strict=False)]
    return ChunkFacts(
        chunk=chunk,
        document=document,
        entities=tuple(entities),
        mentions=tuple(Mention(entity.id, chunk) for entity in entities),
        relations=tuple(Relation(a.id, b.id, "meets", 1.0, chunk, "They meet there.") for a, b in pairs),
    )


def measured(graph: GraphStore, made: dict[str, list[ChunkFacts]], queries: int) -> dict[str, list[float]]:
    """Milliseconds of everything, by what was done; the build is one figure."""
    rng = random.Random(2)
    build = timed_s(lambda: [graph.replace(document, facts) for document, facts in made.items()])
    asked = [rng.choice(rng.choice(rng.choice([*made.values()])).entities).id for _ in range(queries)]
    drawn = rng.sample([*made], 2 * _UPDATES)
    names, untouched = drawn[:_UPDATES], drawn[_UPDATES:]

    def each(call: Callable[[str], object], ids: Sequence[str]) -> list[float]:
        call(ids[0])  # the first one is planned, and reads what the others find in memory
        return [timed_s(lambda id_=id_: call(id_)) * 1000 for id_ in ids]

    def two_hops(id_: str) -> None:
        with suppress(QueryRefused):  # around what is mentioned most it needs more memory than it gets
            graph.cypher(_TWO_HOPS, parameters={"id": id_})

    def walk(id_: str) -> None:
        index = index_of(graph)
        (entity,) = index.named([id_])
        index.spread(index.lexicon.of(entity.name), {}, passage_weight=0.1, damping=0.92)

    def change(document: str) -> None:
        *others, last = made[document]
        numbers = [int(entity.name.split()[1]) + 1 for entity in last.entities]
        graph.replace(document, [*others, _facts(last.chunk, document, numbers)])

    return {
        "build": [build * 1000],
        "one document, a chunk changed": each(change, names),
        "one document, nothing changed": each(lambda document: graph.replace(document, made[document]), untouched),
        "neighbours, 1 hop": each(lambda id_: graph.neighbours([id_]), asked),
        "neighbours, 2 hops": each(lambda id_: graph.neighbours([id_], hops=2), asked),
        "Cypher, 2 hops, 200 rows": each(two_hops, asked),
        "paths of at most 4": each(lambda id_: graph.paths(asked[0], id_), asked[1:50]),
        "search a name": each(lambda id_: graph.search(graph.entities([id_])[0].name), asked[:30]),
        "made ready for walks": [timed_s(lambda: index_of(graph)) * 1000],
        "a walk from an entity": each(walk, asked),
        "edges as arrays": each(lambda _: graph.edges(), asked[:3]),
        "forget one document": each(graph.forget, names[-3:]),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--entities", type=int, default=50_000)
    parser.add_argument("--queries", type=int, default=200)
    parser.add_argument("--neo4j", metavar="URI")
    parsed = parser.parse_args()
    print(machine())
    made = documents(parsed.entities)
    found: dict[str, dict[str, list[float]]] = {}
    for name, uri in (("ladybug", None), *([("Neo4j", parsed.neo4j)] if parsed.neo4j else [])):
        with tempfile.TemporaryDirectory() as folder:
            settings = Settings.from_env().model_copy(update={"data_dir": Path(folder), "graph_uri": uri})
            graph = open_graph(settings, _KEY)
            found[name] = measured(graph, made, parsed.queries)
            print(f"\n{name}: {graph.size()}")
            graph.close()
            megabytes = sum(file.stat().st_size for file in Path(folder).rglob("*") if file.is_file()) / 1e6
            print(f"{megabytes:,.0f} MB on disk" if uri is None else "on the server's disk")
            drop_graph(settings, _KEY)
    rows = [
        [what, name, f"{percentile(ms, 50):,.1f}", f"{percentile(ms, 95):,.1f}", f"{percentile(ms, 50) / against:.2f}"]
        for what in found["ladybug"]
        for against in (percentile(found["ladybug"][what], 50),)
        for name, ms in ((name, by_what[what]) for name, by_what in found.items())
    ]
    print_table(f"{parsed.entities:,} entities, milliseconds", ["what", "store", "p50", "p95", "x ladybug"], rows)


if __name__ == "__main__":
    main()
