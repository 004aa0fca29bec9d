import math

from rag_core.llm.reading.reading import Reading
from rag_core.llm.reading.words import stems, words
from tests.fakes import WordVectors


class Corpus:
    chunks = 100

    def chunks_with(self, stem: str) -> int:
        return {"common": 99, "rare": 1}.get(stem, 0)


def test_words_fold_case_accents_and_possessives_and_keep_numbers() -> None:
    assert words("Zürich’s 1,200 QuantumLeap-Analytics") == ["zurich", "1,200", "quantumleap", "analytics"]


def test_stems_leave_stop_words_out_and_join_word_forms() -> None:
    assert stems("What were the revenues?") == stems("revenue") == ["revenu"]


def test_a_rare_word_weighs_more_in_coverage() -> None:
    reading = Reading(WordVectors(), Corpus())
    rare, common = math.log1p(100 / 2), math.log1p(100 / 100)
    assert reading.coverage(["rare", "common"], ["rare"]) == rare / (rare + common)
    assert reading.coverage(["rare", "common"], ["common"]) < 0.2


def test_nothing_asked_is_covered_by_nothing() -> None:
    assert Reading(WordVectors()).coverage([], ["a"]) == 0.0


def test_missing_words_come_with_the_rarest_first() -> None:
    reading = Reading(WordVectors(), Corpus())
    assert reading.missing("common rare text", ["some text"]) == ["rare", "common"]


def test_closeness_keeps_the_order_and_a_second_look_costs_no_embedding() -> None:
    class Counting(WordVectors):
        seen = 0

        def embed(self, texts):
            self.seen += len(texts)
            return super().embed(texts)

    embedder = Counting()
    reading = Reading(embedder)
    first = reading.closeness("red fox", ["blue sky", "red fox"])
    assert first[1] > 0.99 > first[0]
    assert (reading.closeness("red fox", ["blue sky", "red fox"]) == first).all()
    assert embedder.seen == 2


def test_without_texts_there_is_no_closeness() -> None:
    assert Reading(WordVectors()).closeness("red fox", []).shape == (0,)


def test_tokens_of_rare_words_count_more_and_those_of_stop_words_nothing() -> None:
    reading = Reading(WordVectors(), Corpus())
    rare, common, neither = reading.token_closeness("what is rare common", ["rare", "common", "what is"])
    assert rare > common > neither
    assert reading.token_closeness("rare", []).shape == (0,)
