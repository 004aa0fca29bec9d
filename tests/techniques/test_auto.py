import json
from collections import Counter

import pytest

from rag_core.llm.connections import ModelConnection
from rag_core.llm.engine import KeylessEngine
from rag_core.llm.model import ModelEngine
from rag_core.llm.reading.reading import Reading
from rag_core.settings import ROOT
from rag_core.techniques.auto import KINDS, PLANS, Auto, AutoSettings, Chosen, Kind
from rag_core.techniques.expand import ExpandSettings
from rag_core.techniques.gate import GateSettings
from rag_core.techniques.hybrid import HybridSettings
from rag_core.techniques.multi_hop import MultiHopSettings
from rag_core.techniques.multimodal import MultimodalSettings
from rag_core.techniques.rerank import RerankSettings
from rag_core.techniques.sub_queries import SubQueriesSettings
from tests.fakes import Watch, WordVectors
from tests.model_server import model_server, says

READING = Reading(WordVectors())


def chosen(question: str, settings: AutoSettings | None = None) -> Chosen:
    return Auto(settings or AutoSettings(), KeylessEngine(), READING).choose(question, Watch())


@pytest.mark.parametrize(
    ("kind", "questions"),
    [
        (
            "lookup",
            [
                "Who founded DataWeave?",
                "When did the acquisition of DataWeave close?",
                "How soon must a lost device be reported?",
                "What is the capital of France?",
                "Where is the head office?",
            ],
        ),
        (
            "comparison",
            [
                "How does the margin compare with last year's?",
                "What is the difference between the two editions?",
                "Which segment grew fastest in 2023?",
                "Were Scott Derrickson and Ed Wood of the same nationality?",
                "Which magazine was started first, Arthur's Magazine or First for Women?",
                "By how much did profit grow from 2021 to 2022?",
                "Is Corvane Live cheaper than the Team edition?",
                "What is the sum of the revenue of Cloud and Devices?",
            ],
        ),
        (
            "multi_hop",
            [
                "What product was launched by the company that InnovateCorp acquired?",
                "Where was the father of Albert Einstein born?",
                "Who is the director of the film whose composer was Hans Zimmer?",
                "Jaclyn Stapp is married to the former frontman of a band that disbanded in what year?",
                "Who directed the 1940 film in which John Arledge appeared?",
                "Who is Marie Curie's paternal grandmother?",
            ],
        ),
        (
            "summary",
            [
                "Summarize the four findings of Project Titan.",
                "Give me a summary of the handbook",
                "What are the main risks of the acquisition?",
                "What is this document about?",
                "Explain the voting procedure",
                "Please summarise chapter 2",
            ],
        ),
        (
            "table",
            [
                "How much revenue did InnovateCorp earn in Asia-Pacific in Q3 2022?",
                "What percentage of sales came from Europe in 2021?",
                "What were total assets in FY2018?",
                "What does the second row of the table say?",
                "Which bar of the chart is for 2020?",
            ],
        ),
        (
            "relation",
            [
                "To whom does Dr. Amara Okafor report?",
                "How is DataWeave related to InnovateCorp?",
                "On what does initiative R-01 depend?",
                "Who leads the integration team?",
                "Which company acquired DataWeave?",
            ],
        ),
        ("chit_chat", ["Hello!", "Thanks a lot", "Good morning"]),
    ],
)
def test_the_wording_tells_the_kind(kind: Kind, questions: list[str]) -> None:
    assert {question: chosen(question).kind for question in questions} == dict.fromkeys(questions, kind)
    assert all(chosen(question).why for question in questions)


def test_the_demo_questions_that_need_more_than_a_search_are_told_from_those_that_do_not() -> None:
    rows = [json.loads(line) for line in (ROOT / "data" / "demo" / "questions.jsonl").open()]
    told = Counter((row["kind"], chosen(row["question"]).kind) for row in rows)
    of = Counter(row["kind"] for row in rows)
    assert told["multi-hop", "multi_hop"] / of["multi-hop"] > 0.8
    assert told["comparison", "comparison"] / of["comparison"] > 0.8
    assert told["summary", "summary"] / of["summary"] > 0.8
    assert told["lookup", "multi_hop"] + told["lookup", "comparison"] == 0


def test_every_kind_has_a_plan_and_it_comes_with_the_choice() -> None:
    assert set(PLANS) == set(KINDS)
    assert chosen("Summarize the report").techniques == {name: dict(given) for name, given in PLANS["summary"].items()}


def test_the_plans_name_techniques_and_settings_that_are_there() -> None:
    known = {
        "expand": ExpandSettings,
        "gate": GateSettings,
        "hybrid": HybridSettings,
        "multi_hop": MultiHopSettings,
        "multimodal": MultimodalSettings,
        "rerank": RerankSettings,
        "sub_queries": SubQueriesSettings,
    }
    for plan in PLANS.values():
        for name, settings in plan.items():
            known[name].model_validate(settings)


def test_the_kind_can_be_set() -> None:
    told = chosen("Hello!", AutoSettings(kind="relation"))
    assert (told.kind, told.why) == ("relation", "You chose the kind.")


def by_model(*replies: str) -> tuple[Chosen, Watch]:
    with model_server() as server:
        server.script = [says(reply) for reply in replies]
        connection = ModelConnection(kind="openai", base_url=server.base_url, model="scripted")
        watch = Watch()
        told = Auto(AutoSettings(), ModelEngine(connection, pause_s=0.01), READING).choose("Who founded it?", watch)
        return told, watch


def test_a_model_tells_the_kind_and_why() -> None:
    told, _ = by_model('{"kind": "multi_hop", "reason": "it is not named"}')
    assert (told.kind, told.why) == ("multi_hop", "it is not named")


@pytest.mark.parametrize("bad", ["nonsense", '{"kind": "riddle"}', "I cannot help with that."])
def test_a_bad_reply_leaves_it_to_the_wording(bad: str) -> None:
    told, watch = by_model(bad, bad)
    assert told.kind == "lookup"
    assert "no usable reply" in watch.calls[0].note
