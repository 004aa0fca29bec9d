import json

import numpy as np
import pytest

from rag_core.llm.engine import KeylessEngine
from rag_core.llm.reading.reading import Reading, max_sim
from rag_core.techniques.rerank import Rerank, RerankSettings
from rag_core.types import Hit
from tests.fakes import Watch, WordVectors, a_hit
from tests.model_server import Turn
from tests.techniques.scripted import a_model

READING = Reading(WordVectors())
TEXTS = ["The moon is far away.", "A fox sleeps.", "The red fox sleeps in its den."]


def hits(*texts: str) -> list[Hit]:
    return [a_hit(text).model_copy(update={"score": 1 - 0.01 * number}) for number, text in enumerate(texts or TEXTS)]


def ranked(found: list[Hit]) -> list[str]:
    return [hit.chunk.text for hit in found]


def test_max_sim_is_the_weighted_mean_of_each_tokens_nearest() -> None:
    random = np.random.default_rng(1)
    asked, given = (rows / np.linalg.norm(rows, axis=1, keepdims=True) for rows in random.normal(size=(2, 5, 8)))
    weights = np.array([0.4, 0.3, 0.2, 0.1, 0.0])
    plain = sum(weight * max(float(row @ other) for other in given) for row, weight in zip(asked, weights, strict=True))
    assert max_sim(asked, weights, given) == pytest.approx(plain)
    assert max_sim(asked, weights, np.empty((0, 8))) == 0.0


def test_without_a_model_tokens_that_are_near_move_a_chunk_up_and_its_move_is_kept() -> None:
    found = Rerank(RerankSettings(token_weight=1), KeylessEngine(), READING).rerank(
        "Where does the red fox sleep?", hits(), Watch(), at_least=3
    )
    assert ranked(found) == [TEXTS[2], TEXTS[1], TEXTS[0]]
    assert [hit.scores["was"] for hit in found] == [3, 2, 1]
    assert found[0].scores["rerank"] == 10
    assert found[0].score == 1


def test_with_no_weight_on_tokens_the_first_order_stays() -> None:
    rerank = Rerank(RerankSettings(token_weight=0), KeylessEngine(), READING)
    assert ranked(rerank.rerank("fox?", hits(), Watch(), at_least=3)) == TEXTS


def test_only_the_candidates_are_judged_and_the_others_follow_them() -> None:
    rerank = Rerank(RerankSettings(candidates=2, token_weight=1), KeylessEngine(), READING)
    found = rerank.rerank("Where does a fox sleep?", hits(), Watch(), at_least=3)
    assert ranked(found) == [TEXTS[1], TEXTS[0], TEXTS[2]]
    assert [hit.score for hit in found] == sorted((hit.score for hit in found), reverse=True)
    assert "rerank" not in found[2].scores


def judged(*scores: float) -> str:
    return json.dumps({"judged": [{"passage": at, "score": score} for at, score in enumerate(scores, start=1)]})


def test_a_model_judges_all_in_one_call() -> None:
    with a_model(judged(1, 8, 9.5)) as (engine, server):
        found = Rerank(RerankSettings(), engine, READING).rerank("Where?", hits(), Watch(), at_least=3)
    assert ranked(found) == [TEXTS[2], TEXTS[1], TEXTS[0]]
    assert len(server.asked) == 1
    assert "[3]\n<passage>\nThe red fox" in server.asked[0]["messages"][-1]["content"]


def test_what_is_judged_below_the_threshold_goes_where_enough_is_left() -> None:
    with a_model(judged(1, 8, 9.5)) as (engine, _):
        found = Rerank(RerankSettings(), engine, READING).rerank("Where?", hits(), Watch(), at_least=1)
    assert ranked(found) == [TEXTS[2], TEXTS[1]]


def test_numbers_that_are_no_passage_count_for_nothing_and_the_unjudged_stay_behind_in_their_order() -> None:
    with a_model('{"judged": [{"passage": 7, "score": 9}, {"passage": 3, "score": 5}]}') as (engine, _):
        found = Rerank(RerankSettings(), engine, READING).rerank("Where?", hits(), Watch(), at_least=3)
    assert ranked(found) == [TEXTS[2], TEXTS[0], TEXTS[1]]


@pytest.mark.parametrize(
    "reply", ["I cannot help with that.", '{"judged": "all good"}', '{"judged": []}', Turn(status=401)]
)
def test_a_bad_reply_keeps_the_order(reply: str | Turn) -> None:
    before = hits()
    with a_model(reply) as (engine, _):
        assert Rerank(RerankSettings(), engine, READING).rerank("Where?", before, Watch(), at_least=3) == before


def test_one_hit_alone_is_not_judged() -> None:
    watch = Watch()
    alone = hits("A fox.")
    assert Rerank(RerankSettings(), KeylessEngine(), READING).rerank("fox?", alone, watch, at_least=5) == alone
    assert not watch.calls
