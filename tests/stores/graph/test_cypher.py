"""What may be asked in Cypher, and that nothing else gets through, on both stores."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import settings as bounds
from hypothesis import strategies as st

from rag_core.errors import QueryRefused
from rag_core.settings import Settings
from rag_core.stores.graph import open_graph
from rag_core.stores.graph.cypher import LADYBUG, checked, neo4j_dialect
from rag_core.stores.graph.facts import Community, GraphStore, entity_id
from tests.stores.graph.worlds import BOARD, NEWS

ANSWERED = [
    ("MATCH (e:Entity) RETURN e.name AS name ORDER BY name LIMIT 2", [["Churn"], ["DataWeave"]]),
    ("match (e:entity) return e.NAME order by e.name skip 3", [["QuantumLeap Analytics"]]),
    ("MATCH (a)-[r:RELATES {name: 'LAUNCHED'}]->(b) RETURN a.name, b.name", [["DataWeave", "QuantumLeap Analytics"]]),
    (
        """MATCH (c:Entity {name: "InnovateCorp"})-[:RELATES {name: 'ACQUIRED'}]->(d)-[r:RELATES]->(p) // who?
           WHERE r.name = 'LAUNCHED' RETURN DISTINCT p.name, r.chunk;""",
        [["QuantumLeap Analytics", "n2"]],
    ),
    (
        "MATCH (e:Entity)<-[m:MENTIONS]-(c:Chunk) WITH e, count(DISTINCT c.document) AS n WHERE n > 1 "
        "RETURN e.name, n ORDER BY e.name",
        [["DataWeave", 2], ["InnovateCorp", 2]],
    ),
    (
        "MATCH (e:Entity) WHERE NOT (e)-[:RELATES]->(:Entity) RETURN e.name ORDER BY e.name",
        [["Churn"], ["QuantumLeap Analytics"]],
    ),
    (
        "MATCH (e:Entity) WHERE EXISTS { MATCH (e)-[:RELATES]->(f:Entity) WHERE f.name = 'Churn' } RETURN e.name",
        [["InnovateCorp"]],
    ),
    (
        "MATCH (e:Entity {name: 'Churn'})-[:RELATES*1..2]-(f) WHERE f.name <> 'Churn' "
        "RETURN DISTINCT f.name ORDER BY f.name",
        [["DataWeave"], ["InnovateCorp"]],
    ),
    (
        "MATCH p = (:Entity {name: 'Churn'})-[:RELATES]-(f) RETURN length(p), size(nodes(p)), size(relationships(p))",
        [[1, 2, 1]],
    ),
    ("UNWIND [3, 1, 2] AS x WITH x ORDER BY x DESC LIMIT 2 RETURN collect(x), sum(x)", [[[3, 2], 5]]),
    ("UNWIND [3, 1, 2] AS x WITH x ORDER BY x WHERE x > 1 RETURN collect(x)", [[[2, 3]]]),
    ("RETURN '\\' DELETE n //' AS text", [["' DELETE n //"]]),
    (
        "MATCH (e:Entity {name: $who}) OPTIONAL MATCH (e)-[:BELONGS_TO]->(k) RETURN e.kind, k.title",
        [["company", "All"]],
    ),
    (
        "MATCH (e:Entity) RETURN count(*), toUpper('a') + 'b', CASE WHEN 1 < 2 THEN 'yes' ELSE 'no' END",
        [[4, "Ab", "yes"]],
    ),
    (
        "MATCH (c:Chunk {id: 'b1'})-[m:MENTIONS]->(e) RETURN labels(c), type(m), sum(m.weight)",
        [[["Chunk"], "MENTIONS", 6]],
    ),
    ("MATCH (e:Entity|Community) WHERE e.id IN $ids RETURN count(e)", [[1]]),
    ("RETURN 'it''s', 1".replace("''", "\\'"), [["it's", 1]]),
    ("RETURN '\\u0044ELETE /* no comment */ // nor this `' AS text", [["DELETE /* no comment */ // nor this `"]]),
    (
        "MATCH (e:Entity) WHERE e.name STARTS WITH 'Q' OR e.name ENDS WITH 'rn' AND e.kind IS NOT NULL RETURN count(e)",
        [[2]],
    ),
    ("MATCH (e:Entity) WHERE toString(e.mentions) = '3' RETURN `e`.`name` AS `the name`", [["DataWeave"]]),
]
REFUSED = [
    "CREATE (n:Entity {id: 'x'}) RETURN n",
    "MATCH (n) DELETE n",
    "MATCH (n) DETACH DELETE n",
    "MATCH (n:Entity) SET n.name = 'x' RETURN n",
    "MATCH (n:Entity) REMOVE n.name RETURN n",
    "MERGE (n:Entity {id: 'x'}) RETURN n",
    "MATCH (n) RETURN n; MATCH (n) DELETE n",
    "MATCH (n) RETURN n; RETURN 1",
    "MATCH (n) /* */ DELETE /* */ n",
    "MATCH (n) RETURN n // \n DELETE n",
    "MATCH (n) RETURN n UNION MATCH (m) DELETE m",
    "MATCH (n) \\u0044ELETE n",
    "MATCH (n) DE\\u004CETE n",
    "MATCH (n:`Entity`) RETURN `n`; DROP TABLE Entity",
    "CALL db.labels() YIELD label RETURN label",
    "CALL show_tables() RETURN *",
    "CALL { MATCH (n) DELETE n } RETURN 1",
    "CALL apoc.export.json.all('x', {})",
    "RETURN apoc.load.json('http://127.0.0.1')",
    "MATCH (n) WHERE apoc.cypher.runFirstColumn('MATCH (m) DELETE m', {}) RETURN n",
    "LOAD CSV FROM 'file:///etc/passwd' AS line RETURN line",
    "LOAD FROM '/etc/passwd' RETURN *",
    "COPY Entity TO '/tmp/x.csv'",
    "COPY (MATCH (n) RETURN n) TO '/tmp/x.csv'",
    "INSTALL httpfs",
    "LOAD EXTENSION httpfs",
    "ATTACH 'x.db' AS x (dbtype sqlite)",
    "EXPORT DATABASE '/tmp/x'",
    "IMPORT DATABASE '/tmp/x'",
    "DROP TABLE Entity",
    "ALTER TABLE Entity ADD x INT64",
    "CREATE NODE TABLE X(id STRING PRIMARY KEY)",
    "BEGIN TRANSACTION",
    "USE system MATCH (n) RETURN n",
    "SHOW DATABASES",
    "EXPLAIN MATCH (n) RETURN n",
    "FOREACH (x IN [1] | CREATE (:Entity))",
    "MATCH (a)-[*]-(b) RETURN a",
    "MATCH (a)-[:RELATES*2..]-(b) RETURN a",
    "MATCH (a)-[:RELATES*1..9]-(b) RETURN a",
    "MATCH (a)-[:RELATES*0..2]-(b) RETURN a",
    "MATCH p = shortestPath((a)-[:RELATES*1..3]-(b)) RETURN p",
    "MATCH (a)-[r:RELATES* SHORTEST 1..3]-(b) RETURN a",
    "MATCH (a:Ragscope_other) RETURN a",
    "MATCH (a:Entity&Ragscope_other) RETURN a",
    "MATCH (a:!Entity) RETURN a",
    "MATCH (a:Entity:Chunk) RETURN a",
    "MATCH (a WHERE a.name = 'x') RETURN a",
    "MATCH (a:Entity) WHERE a.name =~ '(x+x+)+y' RETURN a",
    "MATCH (c:Chunk) RETURN c.digest",
    "MATCH (c:Chunk)-[m]->(e) RETURN m.said",
    "RETURN range(1, 1000000000)",
    "RETURN load('x')",
    "RETURN file('/etc/passwd')",
    "MATCH (n) RETURN n LIMIT 1 + 1",
    "MATCH (n) RETURN n LIMIT -1",
    "MATCH (n) WHERE n.name = 'open RETURN n",
    "MATCH (n) /* open RETURN n",
    "MATCH (n:`Entity) RETURN n",
    "MATCH (n) WHERE n.name = $missing RETURN n",
    "MATCH (n) RETURN n\x00",
    "MATCH (ñ) RETURN ñ",
    "MATCH (n) RETURN " + "(" * 200 + "1" + ")" * 200,
    "WITH 'aa' AS s " + "WITH s + s AS s " * 30 + "RETURN s",
    "RETURN " + "[" * 1000,
    "MATCH (n) RETURN n " + " " * 5000,
    "MATCH (n)",
    "MATCH",
    "RETURN",
    "",
    ";",
    "hello",
]
WRITING = re.compile(r"\b(create|delete|set|merge|remove|drop|call|load|copy|install|attach|export|import)\b", re.I)


@pytest.fixture
def world(graph: GraphStore) -> GraphStore:
    graph.replace("news", NEWS)
    graph.replace("board", BOARD)
    graph.save_communities([Community("k", 0, None, tuple(one.id for one in graph.entities()), "All")])
    return graph


def test_reading_queries_are_answered(world: GraphStore) -> None:
    known = {"who": "InnovateCorp", "ids": ["k", "x"]}
    wrong = []
    for query, rows in ANSWERED:
        told = [list(row) for row in world.cypher(query, parameters=known).rows]
        if told != rows:
            wrong.append((query, told))
    assert wrong == []


def test_whole_nodes_relationships_and_paths_come_as_plain_values(world: GraphStore) -> None:
    table = world.cypher("MATCH p = (a:Entity {name: 'Churn'})<-[r:RELATES]-(b) RETURN a, r, p, nodes(p)")
    (row,) = table.rows
    assert table.columns == ("a", "r", "p", "nodes(p)")
    churn = {"label": "Entity", "id": entity_id("Churn"), "name": "Churn", "kind": "", "description": "", "aliases": []}
    assert row[0] == {**churn, "mentions": 1}
    assert row[1] == {"label": "RELATES", "name": "FACES", "weight": 2.0, "chunk": "b1", "description": ""}
    assert (
        [node["name"] for node in row[2]["nodes"]]
        == [node["name"] for node in row[3]]
        == ["InnovateCorp", "Churn"][::-1]
    )
    (chunk,) = world.cypher("MATCH (c:Chunk {id: 'n1'}) RETURN c").rows[0]
    assert chunk == {"label": "Chunk", "id": "n1", "document": "news"}


def test_all_columns_are_those_that_the_query_has(world: GraphStore) -> None:
    table = world.cypher("MATCH (e:Entity) WITH e.name AS name ORDER BY name LIMIT 2 RETURN *")
    assert (table.columns, table.rows) == (("name",), (("Churn",), ("DataWeave",)))


def test_rows_beyond_the_limit_are_cut_and_that_is_told(world: GraphStore) -> None:
    table = world.cypher("MATCH (e:Entity) RETURN e.name LIMIT 1000", limit=3)
    assert (len(table.rows), table.cut) == (3, True)
    assert not world.cypher("MATCH (e:Entity) RETURN e.name LIMIT 3", limit=3).cut


def test_what_is_not_reading_is_refused_and_changes_nothing(world: GraphStore) -> None:
    before = world.size(), world.version
    passed = []
    for query in REFUSED:
        try:
            passed.append((query, world.cypher(query)))
        except QueryRefused as error:
            told = str(error)
            assert told.endswith("."), told
            assert "\n" not in told, told
    assert passed == []
    assert (world.size(), world.version) == before


def test_what_is_wrong_is_told_in_a_sentence_and_the_next_query_works(world: GraphStore) -> None:
    with pytest.raises(QueryRefused, match="does not work"):
        world.cypher("MATCH (e:Entity) RETURN nobody")
    assert world.cypher("RETURN 1").rows == ((1,),)


def test_a_query_that_takes_too_long_is_ended(world: GraphStore) -> None:
    many = " ".join(f"UNWIND [{', '.join(map(str, range(60)))}] AS x{n}" for n in range(8))
    with pytest.raises(QueryRefused, match=r"longer than 0\.3 s"):
        world.cypher(f"{many} RETURN sum({' * '.join(f'x{n}' for n in range(8))})", timeout_s=0.3)
    assert world.cypher("RETURN 1").rows == ((1,),)


def test_the_database_refuses_to_write_even_where_the_guard_would_not(world: GraphStore, monkeypatch) -> None:
    from rag_core.stores.graph import embedded, neo4j
    from rag_core.stores.graph.cypher import Checked

    for door in (embedded, neo4j):
        monkeypatch.setattr(door, "checked", lambda query, *_, **__: Checked(query, {}))
    before = world.size()
    with pytest.raises(QueryRefused):
        world.cypher("MATCH (e:Entity) SET e.name = 'x'")
    assert (world.size(), len(world.search("x"))) == (before, 0)


def test_a_query_meets_no_other_collection(settings: Settings) -> None:
    mine, other = open_graph(settings, "tests-1"), open_graph(settings, "tests-2")
    mine.replace("board", BOARD)
    other.replace("news", NEWS)
    assert mine.cypher("MATCH (n) RETURN count(n)").rows == ((5,),)
    assert mine.cypher("MATCH (n) MATCH (m) WHERE n.id <> m.id RETURN count(*)").rows == ((20,),)
    assert mine.cypher("MATCH (n)-[r*1..4]-(m) WHERE m.name CONTAINS 'Quantum' RETURN m").rows == ()
    assert mine.cypher("MATCH (n) WHERE EXISTS { MATCH (m) WHERE m.name CONTAINS 'Quantum' } RETURN n").rows == ()
    assert mine.cypher("OPTIONAL MATCH (:Chunk {id: 'n1'})--(m) RETURN m").rows == ((None,),)
    for graph in (mine, other):
        graph.clear()
        graph.close()


# the guard alone

_PIECES = st.sampled_from(
    """MATCH OPTIONAL WHERE WITH RETURN DELETE DETACH CREATE SET MERGE CALL LOAD CSV FROM ( ) [ ] { } - -> <- : ; , . ..
    * | = =~ <> + / // /* */ ' " ` \\ \\u0027 $ $who n m Entity RELATES Chunk name id 1 2 count exists apoc.x( \n 'a'
    "b" `n` AS IN NOT AND ORDER BY LIMIT UNWIND SHORTEST""".split(" ")
)


@bounds(max_examples=400, deadline=None)
@given(
    st.lists(_PIECES, max_size=25).map(" ".join) | st.lists(_PIECES, max_size=12).map("".join) | st.text(max_size=60)
)
def test_whatever_is_given_is_refused_in_a_sentence_or_only_reads(query: str) -> None:
    for dialect in (LADYBUG, neo4j_dialect("Ragscope_x")):
        try:
            asked = checked(query, dialect, {"who": "x"}, limit=10)
        except QueryRefused:
            continue
        bare = re.sub(r"`[^`]*`", "", asked.text)
        assert not WRITING.search(bare), asked.text
        assert not re.search(r"['\"\\;]|//|/\*", bare), asked.text
        assert re.search(r" LIMIT \d+$", asked.text)


@bounds(max_examples=200, deadline=None)
@given(st.text(max_size=40))
def test_texts_go_beside_the_query_whatever_is_in_them(text: str) -> None:
    quoted = "".join({"\\": "\\\\", "'": "\\'"}.get(sign, sign) for sign in text)
    asked = checked(f"MATCH (e:Entity {{name: '{quoted}'}}) RETURN e", LADYBUG, {}, limit=10)
    assert asked.text == "MATCH (`e`:Entity {name: $text0}) RETURN `e` LIMIT 11"
    assert asked.parameters == {"text0": text}


@bounds(max_examples=200, deadline=None)
@given(
    st.lists(st.sampled_from(["(a)", "(b:Entity)", "(:Chunk|Entity)", "({name: 'x'})", "()"]), min_size=1, max_size=5)
)
def test_every_node_of_a_pattern_gets_the_label_of_its_collection(nodes: list[str]) -> None:
    chain = "--".join(nodes)
    query = f"MATCH {chain}, (z) WHERE EXISTS {{ MATCH {chain} }} OR {chain}--() RETURN 1"
    asked = checked(query, neo4j_dialect("Ragscope_x"), {}, limit=10)
    assert asked.text.count("`Ragscope_x`") == 3 * len(nodes) + 2


def test_a_parameter_never_stands_for_a_text_of_the_query() -> None:
    asked = checked("RETURN 'a' AS x, $text0 AS y, 'b' AS z", LADYBUG, {"text0": "c"}, limit=1)
    assert sorted(asked.parameters.values()) == ["a", "b", "c"]
