"""The picture of a graph: which entities are in it, where they stand, how they are told apart."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations
from pathlib import Path

import numpy as np
import pytest

from pages._parts import network
from pages._parts.network import Drawn, degrees, legend_rows, part_of, places, short, spec, titled, whole_of
from rag_core.settings import Settings
from rag_core.stores.graph import open_graph
from rag_core.stores.graph.facts import (
    ChunkFacts,
    Community,
    Entity,
    GraphStore,
    Mention,
    Relation,
    entity_id,
)

SEA = ("Nordwind", "Seaglass", "TideBoard")
LAND = ("Ada Marsh", "Bergen", "Oslo")
LONER = "<b>Lighthouse</b>"
PAIRS = {**dict.fromkeys(combinations(SEA, 2), 2.0), **dict.fromkeys(combinations(LAND, 2), 1.0)}
PAIRS[("Nordwind", "Bergen")] = 1.0
GROUPS = (
    Community("sea", 0, None, tuple(map(entity_id, SEA)), title="At sea", rank=2),
    Community("land", 0, None, tuple(map(entity_id, LAND)), title="On land", rank=1),
    Community("towns", 1, "land", tuple(map(entity_id, LAND[1:])), title="Towns"),
)


def says(pairs: dict[tuple[str, str], float], *others: str) -> ChunkFacts:
    """A chunk that says how these stand to each other, and speaks of others; towns are of a kind."""
    names = dict.fromkeys([name for pair in pairs for name in pair] + list(others))
    return ChunkFacts(
        "c1", "d1",
        tuple(Entity(entity_id(name), name, "town" if name in LAND[1:] else "") for name in names),
        tuple(Mention(entity_id(name), "c1") for name in names),
        tuple(Relation(entity_id(one), entity_id(two), "MET", weight, "c1") for (one, two), weight in pairs.items()),
    )  # fmt: skip


@pytest.fixture
def empty(tmp_path: Path) -> Iterator[GraphStore]:
    opened = open_graph(Settings(data_dir=tmp_path), "network")
    yield opened
    opened.close()


@pytest.fixture
def store(empty: GraphStore) -> GraphStore:
    empty.replace("d1", [says(PAIRS, LONER)])
    empty.save_communities(GROUPS)
    return empty


def names(part: Drawn) -> set[str]:
    return {entity.name for entity in part.entities}


def test_an_entity_weighs_what_its_relations_do_and_the_heaviest_come_first(store: GraphStore) -> None:
    weights = degrees(store.edges())
    # Two relations of weight 2 each at sea, two of weight 1 on land, and one from Nordwind to Bergen.
    assert {name: weights[entity_id(name)] for name in (*SEA, *LAND, LONER)} == {
        "Nordwind": 5, "Seaglass": 4, "TideBoard": 4, "Bergen": 3, "Ada Marsh": 2, "Oslo": 2, LONER: 0,
    }  # fmt: skip
    part = part_of(store)
    assert part.entities[0].name == "Nordwind"
    assert part.entities[-1].name == LONER
    assert [weight for *_, weight in part.links] == [2, 2, 2, 1, 1, 1, 1]


def test_a_community_shows_its_own_entities_told_apart_by_those_inside_it(store: GraphStore) -> None:
    part = part_of(store, community="land")
    assert names(part) == {*LAND}
    assert [one.id for one in part.legend] == ["towns"]
    assert {name for name in LAND if entity_id(name) in part.groups} == {*LAND[1:]}
    assert [one.id for one in part_of(store, community="sea").legend] == ["sea"]


def test_a_kind_is_shown_alone_and_within_a_community(store: GraphStore) -> None:
    assert names(part_of(store, kind="town")) == {*LAND[1:]}
    assert names(part_of(store, kind="town", community="sea")) == set()


def test_one_step_around_an_entity_ends_where_its_relations_do(store: GraphStore) -> None:
    assert names(part_of(store, entity=entity_id("Oslo"), hops=1)) == {*LAND}
    assert names(part_of(store, entity=entity_id("Oslo"), hops=2)) == {*LAND, "Nordwind"}


def test_a_chosen_entity_that_a_filter_leaves_out_is_in_the_picture_all_the_same(store: GraphStore) -> None:
    assert names(part_of(store, community="land", entity=entity_id("Seaglass"))) == {*LAND, "Seaglass"}


def test_choosing_what_is_in_the_picture_moves_nothing_until_the_graph_is_written(store: GraphStore) -> None:
    before = part_of(store)
    assert part_of(store, entity=entity_id("Oslo")) is before
    store.replace("d1", [says({("Oslo", "Stavanger"): 1.0})])
    assert names(part_of(store)) == {"Oslo", "Stavanger"}


def test_what_is_too_much_is_cut_to_the_most_central_and_the_chosen_stays(
    store: GraphStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(network, "MOST_NODES", 3)
    monkeypatch.setattr(network, "MOST_LINES", 2)
    part = part_of(store)
    assert names(part) == {*SEA}
    assert part.left_out == 4
    assert len(part.links) == 2
    assert names(part_of(store, entity=entity_id(LONER))) - {*SEA} == {LONER}


@pytest.mark.parametrize("dark", [False, True])
def test_what_is_in_no_community_is_hollow_and_never_the_brightest(store: GraphStore, dark: bool) -> None:
    part = part_of(store)
    drawn = {node["name"]: node["itemStyle"] for node in spec(part, None, dark)["series"][0]["data"]}
    assert drawn[LONER]["color"] == drawn["Nordwind"]["borderColor"], "the paper shows through"
    assert drawn[LONER]["borderColor"] != drawn[LONER]["color"] != drawn["Nordwind"]["color"]


def test_an_empty_graph_is_an_empty_picture(empty: GraphStore) -> None:
    part = part_of(empty)
    assert part.at.shape == (0, 2)
    assert spec(part, None, dark=False)["series"][0]["data"] == []
    assert legend_rows(part, dark=False) == []
    assert whole_of(empty).communities == ()


def test_what_is_related_stands_near_and_always_at_the_same_place(store: GraphStore) -> None:
    part = part_of(store)
    at = dict(zip([entity.name for entity in part.entities], places(part), strict=True))
    assert np.array_equal(part.at, places(part))

    def distance(pairs: list[tuple[str, str]]) -> float:
        return float(np.mean([np.linalg.norm(at[one] - at[two]) for one, two in pairs]))

    related = [pair for pair in PAIRS if {*pair} <= {*SEA} or {*pair} <= {*LAND}]
    assert distance(related) < distance([(one, two) for one in SEA for two in LAND])
    assert min(distance([pair]) for pair in combinations(at, 2)) > 0.05


def test_the_legend_says_what_the_picture_shows_in_both_themes(store: GraphStore) -> None:
    part = part_of(store)
    for dark in (False, True):
        rows = legend_rows(part, dark)
        assert [row["title"] for row in rows] == ["At sea", "On land", "others"]
        assert len({row["sign"] for row in rows}) == len({row["colour"] for row in rows}) == 3
        nodes = {node["name"]: node for node in spec(part, None, dark)["series"][0]["data"]}
        for name, row in (("Seaglass", rows[0]), ("Oslo", rows[1]), (LONER, rows[2])):
            assert part.sign(entity_id(name)) == row["sign"]
            style = nodes[name]["itemStyle"]
            assert row["colour"] == (style["borderColor"] if name == LONER else style["color"])
    colours = [{row["colour"] for row in legend_rows(part, dark)} for dark in (False, True)]
    assert not colours[0] & colours[1]


def test_communities_beyond_those_with_a_sign_are_others(store: GraphStore, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(network, "_NAMED", 1)
    assert [row["title"] for row in legend_rows(part_of(store), dark=False)] == ["At sea", "others"]


def test_the_chosen_entity_has_its_label_an_edge_and_its_lines(store: GraphStore) -> None:
    [series] = spec(part_of(store), entity_id("Oslo"), dark=False)["series"]
    chosen = next(node for node in series["data"] if node["name"] == "Oslo")
    assert chosen["itemStyle"]["borderWidth"] == 3
    ink = chosen["itemStyle"]["borderColor"]
    own = [line for line in series["links"] if chosen["id"] in (line["source"], line["target"])]
    assert [line for line in series["links"] if line["lineStyle"]["color"] == ink] == own
    assert len(own) == 2


def test_a_name_is_only_ever_a_label(store: GraphStore) -> None:
    drawn = spec(part_of(store), entity_id(LONER), dark=False)
    assert drawn["tooltip"] == {"show": False}
    assert "formatter" not in str(drawn)
    assert LONER in [node["name"] for node in drawn["series"][0]["data"]]


def test_a_long_name_is_cut_and_a_community_without_a_title_is_counted() -> None:
    assert short("N" * 28) == "N" * 28
    assert short("N" * 29) == "N" * 27 + "…"
    assert titled(Community("one", 0, None, ("a", "b"))) == "2 entities"
