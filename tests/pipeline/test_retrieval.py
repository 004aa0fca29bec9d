from __future__ import annotations

import json
import threading
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rag_core.errors import StoreError
from rag_core.llm.connections import ModelConnection
from rag_core.llm.engine import KeylessEngine
from rag_core.llm.model import ModelEngine
from rag_core.llm.reading.reading import Reading
from rag_core.pipeline.forecast import most_calls
from rag_core.pipeline.plan import PRESETS
from rag_core.stores.graph.embedded import EmbeddedGraph
from rag_core.techniques.graph.extraction import Extractor
from rag_core.techniques.raptor.nodes import EMPTY, Node, Tree, tokens_of
from rag_core.trace import TraceEvent
from rag_core.types import Chunk, Hit
from tests.fakes import Watch, WordVectors, a_hit
from tests.model_server import Turn, model_server, says
from tests.pipeline.library import BARE, ELSE, FILM, QUESTION, TOWN, Library, ask, spans

READING = Reading(WordVectors())


def test_a_second_hop_goes_over_the_bridge_and_its_evidence_joins_the_first() -> None:
    library = Library({"Silent Harbour": [FILM], "Anton": [TOWN]})
    told = ask(QUESTION, BARE.on("multi_hop"), library)
    assert library.asked[0] == QUESTION
    assert library.asked[1].startswith("Anton Vesely")
    assert {"film", "town"} <= {hit.chunk.id for hit in told.evidence}
    assert told.total_hops == len(spans(told, "retrieve")) >= 2
    assert told.searches == len(library.asked)
    assert "born" in spans(told, "multi_hop")[0]["missing"]


def test_a_hop_that_brings_no_new_chunk_is_the_last() -> None:
    library = Library({"": [FILM]})
    told = ask(QUESTION, BARE.set("multi_hop", max_hops=8), library)
    assert told.total_hops == 2
    assert spans(told, "retrieve")[1]["why"] == "It brought no new chunk."


def test_parts_are_searched_at_the_same_time_and_told_in_the_order_asked() -> None:
    question = "Who was born first, Anton Vesely or Berta Novak?"
    library = Library({"Anton": [TOWN], "Berta": [FILM]}, parts=threading.Barrier(2), whole=question)
    told = ask(question, BARE.set("sub_queries", max_iterations=1), library)
    assert told.status == "done"
    (round_,) = [span for span in told.spans if span.name == "sub_queries"]
    parts = sorted((span for span in told.spans if span.name == "sub_query"), key=lambda span: span.attributes["lane"])
    assert [str(part.attributes["query"]).split()[0] for part in parts] == ["Anton", "Berta"]
    assert [part.attributes["lane"] for part in parts] == [1, 2]
    assert {part.parent_id for part in parts} == {round_.span_id}
    assert overlap(parts)
    assert told.iteration_count == 1


def overlap(parts: Sequence[TraceEvent]) -> bool:
    """Whether all were under way at one time."""
    return max(part.start_s for part in parts) < min(part.start_s + part.duration_s for part in parts)


def test_the_further_searches_of_a_hop_are_made_at_the_same_time_each_in_a_lane() -> None:
    further = threading.Barrier(2)

    class Together(Library):
        def hybrid(self, query: str, vector: object, **asked: object) -> list[Hit]:
            if self.asked:
                further.wait(60)
            return super().hybrid(query, vector, **asked)

    told = ask("Who was the film director?", BARE.on("expand").on("hyde"), Together({"": [FILM, TOWN]}))
    assert told.searches == 3
    parts = [span for span in told.spans if span.name in ("expand", "hyde")]
    assert overlap(parts)
    assert sorted((span.name, span.attributes["lane"]) for span in parts) == [("expand", 1), ("hyde", 2)]
    assert [hop["lane"] for hop in spans(told, "retrieve")] == [1]


def test_a_part_that_fails_spoils_none_of_the_others() -> None:
    question = "Who was born earlier, Anton Vesely or Berta Novak?"
    library = Library({question: [ELSE], "Anton": [TOWN], "Berta": StoreError("It is down: start it.")})
    told = ask(question, BARE.on("sub_queries"), library)
    assert told.status == "done"
    assert "town" in {hit.chunk.id for hit in told.evidence}
    assert [span.error for span in told.spans if span.name == "sub_query"][:2] == [None, "It is down: start it."]


def test_a_round_in_which_all_fail_ends_the_run_with_what_it_has() -> None:
    question = "Who was born earlier, Anton Vesely or Berta Novak?"
    library = Library({question: [FILM], "": StoreError("It is down: start it.")})
    told = ask(question, BARE.on("sub_queries"), library)
    assert (told.status, told.error) == ("failed", "It is down: start it.")
    assert [hit.chunk.id for hit in told.evidence] == ["film"]


def test_a_question_that_asks_one_thing_is_not_taken_apart() -> None:
    library = Library({"": [FILM]})
    told = ask("When was it shown?", BARE.on("sub_queries"), library)
    assert library.asked == ["When was it shown?"]
    assert spans(told, "sub_queries")[0]["why"] == "It asks one thing."


@pytest.mark.parametrize("technique", ["expand", "hyde"])
def test_a_further_search_for_the_same_that_fails_is_done_without(technique: str) -> None:
    class Once(Library):
        def hybrid(self, query: str, vector: object, **asked: object) -> list[Hit]:
            if self.asked:
                raise StoreError("It is down: start it.")
            return super().hybrid(query, vector, **asked)

    told = ask("Who directed the film?", BARE.on(technique), Once({"": [FILM, TOWN]}))
    assert told.status == "done"
    assert {hit.chunk.id for hit in told.evidence} == {"film", "town"}
    assert [span.error for span in told.spans if span.name == technique] == ["It is down: start it."]
    assert told.techniques[technique].why == "It failed: It is down: start it."


def test_what_was_added_imagined_and_moved_is_told() -> None:
    told = ask("Who was the film director?", BARE.on("expand").on("hyde").on("rerank"), Library({"": [FILM, TOWN]}))
    assert {"anton", "vesely"} <= set(spans(told, "expand")[0]["terms"])
    assert "Anton Vesely was a film director born in Kolin." in spans(told, "hyde")[0]["hypotheticals"]
    assert told.evidence[0].scores["rerank"] == 10
    assert {hit.scores["was"] for hit in told.evidence} == {1, 2}
    assert told.searches == 3
    assert all(told.techniques[name].ran for name in ("expand", "hyde", "rerank"))


def test_what_is_named_by_its_number_is_moved_by_nothing() -> None:
    plan = BARE.on("rerank").on("expand")
    told = ask("What does page 1 say?", plan, Library({"": [FILM, TOWN]}))
    assert not told.techniques["rerank"].ran
    assert told.techniques["rerank"].why == "What the question names was found by its number."


WORDS = st.sampled_from("Anton Berta Cyril Dora film town born first or and who where director".split())


@settings(max_examples=25, deadline=None)
@given(st.lists(WORDS, min_size=1, max_size=8).map(" ".join), st.sampled_from(list(PRESETS)))
def test_no_preset_searches_for_the_same_words_twice_but_for_the_same_question(question: str, preset: str) -> None:
    library = Library({"Anton": [TOWN, FILM], "Berta": [FILM], "film": [FILM, ELSE]})
    plan = PRESETS[preset]
    for technique in ("expand", "hyde"):  # these search for the same words with another vector, or with more words
        plan = plan.off(technique)
    told = ask(question, plan, library)
    assert told.status == "done"
    bare = [" ".join(query.casefold().split()) for query in library.asked]
    assert len(set(bare)) == len(bare)


# Calls for a question whose model never finds its evidence complete or its answer good, and never repeats itself.
HEALING = 3 * 3
CALLS = {
    "simple": 2,
    "fast": 2 + (4 + 3) + 3 + 2,
    "balanced": 2 + (4 + 4 + 3) + (3 + 2) + 2 + HEALING,
    "quality": 2 + (4 * 5 - 1) + 5 * (1 + 3) + 1 + (3 + 2 + 2) + 2 + (1 + 1) + (1 + 3 * 2) + HEALING,
}


@pytest.mark.parametrize("preset", CALLS)
def test_a_preset_makes_the_calls_that_it_says(preset: str) -> None:
    count = 0

    def reply(prompt: str) -> Turn:
        nonlocal count
        count += 1
        fields = {
            "need": "documents",
            "refined_query": f"query {count}",
            "query": f"query {count}",
            "context": "Something.",
            "completeness": 0.1,
            "terms": ["more"],
            "judged": [{"passage": number, "score": 0.9} for number in range(1, 11)],
            "sub_questions": [f"part {count}"],
            "synthesis": "Something.",
            "needs_more": True,
            "focused_queries": [f"gap {count}"],
            "quality": 0.5,
            "sentences": [{"text": f"It is {count}.", "passages": [1]}],
            **dict.fromkeys(("faithfulness", "completeness", "clarity"), 0.1),
            "sufficient": False,
        }
        asked = prompt.rpartition("nothing else: ")[2]
        return says(json.dumps(fields) if asked.startswith("{") else "It is so [1].\nCONFIDENCE: 0.5")

    class New(Library):
        def hybrid(self, query: str, vector: object, **asked: object) -> list[Hit]:
            self.asked.append(query)
            return [a_hit(f"Found for {query}.", id_=f"hit {len(self.asked)}")]

    with model_server() as server:
        server.then = reply
        engine = ModelEngine(ModelConnection(kind="openai", base_url=server.base_url, model="scripted"))
        told = ask(f"Please tell me: {QUESTION}", PRESETS[preset], New({}), engine)
    assert most_calls(PRESETS[preset]) == CALLS[preset]
    assert told.usage.model_calls == CALLS[preset], [prompt.signature for prompt in told.prompts]
    assert {prompt.engine for prompt in told.prompts} == {"scripted"}


def test_a_graph_adds_the_chunks_that_it_leads_to_and_its_span_says_why(tmp_path: Path) -> None:
    there = {hit.chunk.id: hit.chunk for hit in (FILM, TOWN)}
    graph = EmbeddedGraph(tmp_path / "graph.lbug")
    graph.replace("doc", [Extractor(KeylessEngine(), READING, Watch()).extract(chunk) for chunk in there.values()])
    told = ask(QUESTION, BARE.on("graph"), Library({"": [FILM]}), graphs=[graph], there=there)
    assert [hit.chunk.id for hit in told.evidence] == ["film", "town"]
    (span,) = spans(told, "graph")
    assert "Anton Vesely" in span["because"]["town"]
    assert told.techniques["graph"].ran
    graph.close()


def test_without_a_graph_its_span_says_how_to_build_one() -> None:
    told = ask(QUESTION, BARE.on("graph"), Library({"": [FILM]}))
    assert "graph build" in spans(told, "graph")[0]["why"]
    assert not told.techniques["graph"].ran
    assert "graph build" in told.techniques["graph"].why
    assert [hit.chunk.id for hit in told.evidence] == ["film"]


def test_a_graph_that_is_out_leaves_the_hits_of_the_search(tmp_path: Path) -> None:
    graph = EmbeddedGraph(tmp_path / "graph.lbug")
    graph.close()
    told = ask(QUESTION, BARE.on("graph"), Library({"": [FILM]}), graphs=[graph])
    assert spans(told, "graph")[0]["why"]
    assert [hit.chunk.id for hit in told.evidence] == ["film"]


def test_what_a_question_names_by_number_is_not_moved_by_the_graph() -> None:
    told = ask("What does page 1 say of Silent Harbour?", BARE.on("graph").on("references"), Library({"": [FILM]}))
    assert not spans(told, "graph")
    assert told.techniques["graph"].why == "What the question names was found by its number."


def test_what_a_later_hop_finds_does_not_displace_what_the_graph_led_to(tmp_path: Path) -> None:
    there = {hit.chunk.id: hit.chunk for hit in (FILM, TOWN)}
    graph = EmbeddedGraph(tmp_path / "graph.lbug")
    graph.replace("doc", [Extractor(KeylessEngine(), READING, Watch()).extract(chunk) for chunk in there.values()])
    library = Library({"Silent Harbour": [FILM], "Anton": [ELSE]})
    told = ask(QUESTION, BARE.on("graph").on("multi_hop"), library, graphs=[graph], there=there)
    assert told.total_hops > 1
    assert [hit.chunk.id for hit in told.evidence] == ["film", "town", "else"]
    graph.close()


class OnceThere:
    """A tree over FILM that the first search finds and no later one."""

    def __init__(self) -> None:
        text = "A summary of Silent Harbour."
        node = Node(id="s", level=1, document="doc", text=text, children=("film",), tokens=tokens_of(text))
        self.left = [Tree((node,), WordVectors().embed([text]))]

    def tree(self) -> Tree:
        return self.left.pop() if self.left else EMPTY

    def get(self, ids: Sequence[str]) -> list[Chunk]:
        return [FILM.chunk for id_ in ids if id_ == "film"]

    def vectors(self, ids: Sequence[str]) -> dict[str, np.ndarray]:
        return {id_: WordVectors().embed_one(FILM.chunk.text) for id_ in ids if id_ == "film"}


def test_a_technique_that_had_nothing_to_do_on_a_later_hop_ran_all_the_same() -> None:
    library = Library({"Silent Harbour": [FILM], "Anton": [TOWN]})
    told = ask(QUESTION, BARE.on("multi_hop").on("raptor"), library, summaries=OnceThere())
    assert [span.get("skipped") for span in spans(told, "raptor")][:2] == [False, True]
    assert told.techniques["raptor"].ran
