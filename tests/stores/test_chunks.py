"""The chunk store against a real server."""

from __future__ import annotations

import uuid
from collections.abc import Iterator

import numpy as np
import pytest

from rag_core.errors import StoreError, UnknownCollection
from rag_core.settings import Settings
from rag_core.stores.weaviate import schema
from rag_core.stores.weaviate.chunks import ChunkStore, fuse_by_rank
from rag_core.types import SearchFilter
from tests.stores.samples import make_chunk, random_vectors

WORDS = "revenue profit cloud market titan quantum merger segment quarter roadmap".split()


def sample(count: int, document: str = "d1", seed: int = 0) -> list:
    rng = np.random.default_rng(seed)
    return [make_chunk(" ".join(rng.choice(WORDS, 12)), document, order) for order in range(count)]


def test_a_chunk_comes_back_as_it_was_put(store: ChunkStore, tenant: str) -> None:
    full = make_chunk(
        "Revenue was $50M.",
        kind="table",
        section=("Results", "Zürich"),
        caption="Table 1",
        nearby="It rose by a third.",
        html="<table></table>",
        image="a.png",
        source="p-7",
    )
    bare = make_chunk("", order=1, places=())
    store.put(tenant, [full, bare], random_vectors(2))
    assert store.get(tenant, [bare.id, str(uuid.uuid4()), full.id]) == [bare, full]


def test_alpha_0_is_bm25_and_alpha_1_is_near_vector(store: ChunkStore, tenant: str) -> None:
    chunks, vectors = sample(400), random_vectors(400)
    store.put(tenant, chunks, vectors)
    for question, vector in (("cloud revenues?", vectors[3]), ("titan", vectors[9]), ("merger roadmap", vectors[77])):
        by_words = [hit.chunk.id for hit in store.bm25(tenant, question, limit=25)]
        by_vector = [hit.chunk.id for hit in store.near_vector(tenant, vector, limit=25)]
        for fusion in ("relative", "ranked"):
            ends = [
                [hit.chunk.id for hit in store.hybrid(tenant, question, vector, alpha=a, limit=25, fusion=fusion)]
                for a in (0, 1)
            ]
            assert ends == [by_words, by_vector]


def test_a_fused_hit_tells_the_score_of_each_side(store: ChunkStore, tenant: str) -> None:
    chunks = [make_chunk("zebra crossing"), make_chunk("cloud", order=1), make_chunk("cloud cloud", order=2)]
    vectors = random_vectors(3)
    store.put(tenant, chunks[:2], vectors[:2])
    store.put(tenant, chunks[2:])
    words = {hit.chunk.id: hit.score for hit in store.bm25(tenant, "cloud", limit=9)}
    for fusion in ("relative", "ranked"):
        hits = store.hybrid(tenant, "cloud", vectors[0], alpha=0.4, limit=9, fusion=fusion)
        scores = {hit.chunk.id: hit.scores for hit in hits}
        assert set(scores[chunks[0].id]) == {"dense", "fused"}
        assert set(scores[chunks[1].id]) == {"dense", "lexical", "fused"}
        assert set(scores[chunks[2].id]) == {"lexical", "fused"}
        assert scores[chunks[0].id]["dense"] == pytest.approx(1, abs=1e-5)
        assert scores[chunks[1].id]["dense"] == pytest.approx(float(vectors[0] @ vectors[1]), abs=1e-5)
        assert scores[chunks[2].id]["lexical"] == pytest.approx(words[chunks[2].id], rel=1e-5)
        assert all(0 <= hit.score == hit.scores["fused"] <= 1 for hit in hits)


def test_reciprocal_ranks_are_weighted_and_first_place_on_both_sides_is_1() -> None:
    scores = fuse_by_rank({"lexical": {"a": 7.0, "b": 3.0}, "dense": {"a": 0.9}}, {"lexical": 0.4, "dense": 0.6})
    assert scores["a"] == {"fused": pytest.approx(1.0), "lexical": 7.0, "dense": 0.9}
    assert scores["b"] == {"fused": pytest.approx(0.4 * 60 / 61), "lexical": 3.0}


def test_words_are_found_by_their_stems_in_text_headings_and_caption(store: ChunkStore, tenant: str) -> None:
    chunks = [
        make_chunk("The revenue of the quarter."),
        make_chunk("Nothing here.", order=1, section=("Acquisitions",)),
        make_chunk("Nor here.", order=2, caption="Surveyed users"),
    ]
    store.put(tenant, chunks)
    for question, chunk in (("revenues", chunks[0]), ("acquisition", chunks[1]), ("survey", chunks[2])):
        assert [hit.chunk for hit in store.bm25(tenant, question, limit=5)] == [chunk]


def test_words_are_found_by_the_stems_of_their_own_language(store: ChunkStore, tenant: str) -> None:
    german = make_chunk("Die Erträge der Banken sind im Jahr gestiegen.")
    chinese = make_chunk("東京都の人口は増えた", order=1)
    store.put(tenant, [german, chinese, make_chunk("The yield of banks rose.", order=2)])
    assert [hit.chunk for hit in store.bm25(tenant, "Wie hoch ist der Ertrag?", limit=5)] == [german]
    assert [hit.chunk for hit in store.bm25(tenant, "人口", limit=5)] == [chinese]


def test_a_question_without_words_finds_by_vector_only(store: ChunkStore, tenant: str) -> None:
    vectors = random_vectors(2)
    store.put(tenant, [make_chunk("one"), make_chunk("two", order=1)], vectors)
    assert store.bm25(tenant, "???", limit=5) == []
    assert store.hybrid(tenant, "", vectors[0], alpha=0, limit=5) == []
    assert [hit.chunk.text for hit in store.hybrid(tenant, "?", vectors[1], alpha=0.5, limit=5)] == ["two", "one"]


def test_equal_scores_come_by_id(store: ChunkStore, tenant: str) -> None:
    chunks = [make_chunk("the same words", order=order) for order in range(30)]
    store.put(tenant, chunks, np.repeat(random_vectors(1), 30, axis=0))
    ids = sorted(chunk.id for chunk in chunks)
    assert [hit.chunk.id for hit in store.bm25(tenant, "same", limit=30)] == ids
    assert [hit.chunk.id for hit in store.hybrid(tenant, "same", random_vectors(1)[0], alpha=0.5, limit=30)] == ids


def test_chunks_are_found_by_words_before_they_have_vectors(store: ChunkStore, tenant: str) -> None:
    chunks, vectors = sample(250), random_vectors(250)
    store.put(tenant, chunks)
    assert store.count(tenant) == 250
    assert store.vectors(tenant, [chunks[0].id]) == {}
    assert store.near_vector(tenant, vectors[0], limit=5) == []
    assert store.hybrid(tenant, chunks[0].text, vectors[0], alpha=0.5, limit=5)
    store.put(tenant, chunks, vectors)
    assert store.count(tenant) == 250
    assert all(
        store.near_vector(tenant, vector, limit=1)[0].chunk == chunk
        for chunk, vector in zip(chunks[::10], vectors[::10], strict=True)
    )


def test_putting_again_without_vectors_keeps_them(store: ChunkStore, tenant: str) -> None:
    chunk, vectors = make_chunk("cloud"), random_vectors(1)
    store.put(tenant, [chunk], vectors)
    store.put(tenant, [chunk.model_copy(update={"name": "renamed.pdf"})])
    np.testing.assert_allclose(store.vectors(tenant, [chunk.id])[chunk.id], vectors[0], atol=1e-6)
    assert store.near_vector(tenant, vectors[0], limit=1)[0].chunk.name == "renamed.pdf"


def test_tenants_do_not_see_each_other(store: ChunkStore, tenant: str) -> None:
    other = f"{tenant}-2"
    store.ensure_tenant(other)
    store.ensure_tenant(other)
    assert {tenant, other} <= set(store.tenants())
    chunk, vectors = make_chunk("cloud"), random_vectors(1)
    store.put(tenant, [chunk], vectors)
    assert store.bm25(other, "cloud", limit=5) == store.near_vector(other, vectors[0], limit=5) == []
    assert store.get(other, [chunk.id]) == []
    store.drop_tenant(other)
    store.drop_tenant(other)
    assert other not in store.tenants()
    assert store.count(tenant) == 1


def test_an_unknown_tenant_is_an_error_on_every_way(store: ChunkStore) -> None:
    vector = random_vectors(1)
    ways = [
        lambda: store.put("nobody", [make_chunk("x")], vector),
        lambda: store.get("nobody", [make_chunk("x").id]),
        lambda: store.chunks("nobody"),
        lambda: store.count("nobody"),
        lambda: store.bm25("nobody", "x", limit=1),
        lambda: store.near_vector("nobody", vector[0], limit=1),
        lambda: store.hybrid("nobody", "x", vector[0], alpha=0.5, limit=1),
        lambda: store.delete("nobody", [make_chunk("x").id]),
        lambda: store.delete_document("nobody", "d1"),
    ]
    for way in ways:
        with pytest.raises(UnknownCollection, match="nobody"):
            way()


def test_a_tenant_name_that_weaviate_refuses_is_an_error(store: ChunkStore) -> None:
    with pytest.raises(StoreError, match="not a valid tenant name"):
        store.ensure_tenant("a name")


def test_a_wrong_dimension_fails_with_count_ids_and_a_short_reason(store: ChunkStore, tenant: str) -> None:
    store.put(tenant, [make_chunk("right")], random_vectors(1))
    wrong = sample(5, "d2")
    with pytest.raises(StoreError, match="5 of 5 chunks were not stored") as caught:
        store.put(tenant, wrong, random_vectors(5, 7))
    assert wrong[0].id in str(caught.value)
    assert "length 7" in str(caught.value)
    assert len(str(caught.value)) < 700
    assert store.count(tenant) == 1


def test_vectors_that_do_not_fit_the_chunks_are_refused(store: ChunkStore, tenant: str) -> None:
    with pytest.raises(StoreError, match="need as many vectors"):
        store.put(tenant, sample(3), random_vectors(2))


def test_deleting_a_document_leaves_the_others(store: ChunkStore, tenant: str) -> None:
    store.put(tenant, sample(30, "d1") + sample(20, "d2"))
    assert store.delete_document(tenant, "d1") == 30
    assert store.delete_document(tenant, "d1") == 0
    assert (store.count(tenant), store.count(tenant, "d1"), store.count(tenant, "d2")) == (20, 0, 20)
    first, second = store.chunks(tenant, "d2", limit=2)
    store.delete(tenant, [first.id, str(uuid.uuid4())])
    assert store.count(tenant) == 19
    assert store.get(tenant, [first.id, second.id]) == [second]


@pytest.mark.parametrize("document", [None, "d1"])
def test_paging_gives_every_chunk_once(store: ChunkStore, tenant: str, document: str | None) -> None:
    # Three of the chunks stand in the same place: a page may end between them.
    mine = [chunk.model_copy(update={"order": max(chunk.order, 3)}) for chunk in sample(25, "d1")]
    store.put(tenant, mine + sample(10, "d2"))
    found, after = [], None
    while page := store.chunks(tenant, document, after=after, limit=4):
        found += page
        after = page[-1].id
    expected = mine if document else mine + sample(10, "d2")
    assert sorted(chunk.id for chunk in found) == sorted(chunk.id for chunk in expected)
    if document:
        assert [chunk.order for chunk in found] == sorted(chunk.order for chunk in mine)


def test_filters_narrow_every_search(store: ChunkStore, tenant: str) -> None:
    chunks = [
        make_chunk("cloud", "d1", 0),
        make_chunk("cloud", "d1", 3, kind="table"),
        make_chunk("cloud", "d2", 0),
        make_chunk("cloud", "d2", 3, kind="figure"),
    ]
    vectors = random_vectors(4)
    store.put(tenant, chunks, vectors)
    for where, expected in (
        (SearchFilter(documents=("d1",)), {0, 1}),
        (SearchFilter(kinds=("table", "figure")), {1, 3}),
        (SearchFilter(pages=(1,)), {0, 2}),
        (SearchFilter(documents=("d2",), pages=(2,), kinds=("figure",)), {3}),
        (SearchFilter(documents=("d3",)), set()),
    ):
        for hits in (
            store.bm25(tenant, "cloud", limit=9, where=where),
            store.near_vector(tenant, vectors[0], limit=9, where=where),
            store.hybrid(tenant, "cloud", vectors[0], alpha=0.5, limit=9, where=where),
            store.hybrid(tenant, "cloud", vectors[0], alpha=0.5, limit=9, fusion="ranked", where=where),
        ):
            assert {hit.chunk.id for hit in hits} == {chunks[index].id for index in expected}


def test_a_read_only_shard_is_written_again_when_there_is_room(store: ChunkStore, tenant: str) -> None:
    chunk = make_chunk("cloud")
    store._call(lambda client: client.collections.use("Chunks_test").config.update_shards("READONLY", tenant))
    store.put(tenant, [chunk])
    store._call(lambda client: client.collections.use("Chunks_test").config.update_shards("READONLY", tenant))
    store.delete(tenant, [chunk.id])
    assert store.count(tenant) == 0


def test_a_full_disk_is_said_in_one_sentence_before_anything_is_sent(
    store: ChunkStore, tenant: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("rag_core.stores.weaviate.chunks.ROOM_NEEDED", 2**60)
    with pytest.raises(StoreError, match=r"is full .*free some space") as caught:
        store.put(tenant, [make_chunk("cloud")])
    assert caught.value.retry
    assert store.count(tenant) == 0


def test_health_tells_version_address_size_and_log(store: ChunkStore, tenant: str) -> None:
    store.put(tenant, sample(3))
    health = store.health()
    assert (health.version, health.managed, health.ready) == ("1.39.0", True, True)
    assert health.address.startswith("http://127.0.0.1:")
    assert health.objects >= 3
    assert health.resident_mb is not None
    assert health.resident_mb > 50
    assert health.log is not None
    assert health.log.endswith("server.log")


def test_a_second_open_finds_the_collection(store: ChunkStore, settings, tenant: str) -> None:
    store.put(tenant, [make_chunk("cloud")])
    second = ChunkStore.open(settings, "test")
    assert second.count(tenant) == 1
    second.close()
    assert store.count(tenant) == 1


def test_a_fingerprint_that_is_no_name_is_refused(settings) -> None:
    with pytest.raises(StoreError, match="letters, digits"):
        ChunkStore.open(settings, "a/b")


@pytest.fixture(scope="module")
def seeing(settings: Settings, store: ChunkStore) -> Iterator[ChunkStore]:
    opened = ChunkStore.open(settings, "seeing", images=True)
    opened.ensure_tenant("t")
    yield opened
    opened.close()


def test_figures_are_found_by_their_image_vectors_alone(seeing: ChunkStore) -> None:
    figures = [make_chunk("", order=n, kind="figure", image=f"{n}.png", caption=f"Figure {n}") for n in range(5)]
    text = make_chunk("cloud", order=9)
    vectors, images = random_vectors(6), random_vectors(5, 16)
    seeing.put("t", [*figures, text], vectors, images=dict(zip([one.id for one in figures], images, strict=True)))
    hits = seeing.near_image("t", images[3], limit=9)
    assert (len(hits), hits[0].chunk) == (5, figures[3])
    assert hits[0].scores == {"image": pytest.approx(1, abs=1e-5)}
    only = SearchFilter(pages=(figures[0].page or 0,))
    assert {hit.chunk.page for hit in seeing.near_image("t", images[3], limit=9, where=only)} == {figures[0].page}
    assert seeing.near_vector("t", vectors[5], limit=1)[0].chunk == text


def test_a_figure_written_again_keeps_its_image_vector_until_it_shows_something_else(seeing: ChunkStore) -> None:
    figure = make_chunk("2019 2020", document="d7", kind="figure", image="a.png")
    (image,) = random_vectors(1, 16)
    seeing.put("t", [figure], random_vectors(1), images={figure.id: image})
    for again in (figure.model_copy(update={"name": "new.pdf"}), figure.model_copy(update={"caption": "Figure 1"})):
        seeing.put("t", [again])
        np.testing.assert_allclose(seeing.image_vectors("t", [figure.id])[figure.id], image, atol=1e-6)
    seeing.put("t", [figure.model_copy(update={"image": "b.png"})], random_vectors(1))
    assert seeing.image_vectors("t", [figure.id]) == {}


def test_where_there_are_no_image_vectors_none_are_found(store: ChunkStore, tenant: str) -> None:
    store.put(tenant, [make_chunk("cloud", image="a.png")], random_vectors(1))
    assert store.near_image(tenant, random_vectors(1, 16)[0], limit=3) == []


def test_a_collection_from_before_a_property_was_there_gets_it(
    settings: Settings, store: ChunkStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as before:
        before.setattr(schema, "_PROPERTIES", [item for item in schema._PROPERTIES if item.name != "nearby"])
        old = ChunkStore.open(settings, "earlier")
    old.ensure_tenant("t")
    old.close()
    opened = ChunkStore.open(settings, "earlier")
    chunk = make_chunk("cloud", kind="figure", nearby="It rose by a third.")
    opened.put("t", [chunk], random_vectors(1))
    assert opened.bm25("t", "cloud", limit=1)[0].chunk == chunk
    opened.close()
