import pytest

from rag_core.llm.connections import ModelConnection
from rag_core.llm.engine import Engine, KeylessEngine
from rag_core.llm.model import ModelEngine
from rag_core.llm.reading.reading import Reading
from rag_core.techniques.base import Listed, Technique, TechniqueSettings
from rag_core.techniques.gate import FROM, Gate, Gated, GateSettings
from tests.fakes import Watch, WordVectors
from tests.model_server import Turn, model_server, says

TECHNIQUES = [
    Technique("rerank", "rerank", "retrieve", "Puts the best chunks first.", TechniqueSettings),
    Technique("hyde", "imagined answers", "retrieve", "Searches with imagined answers.", TechniqueSettings),
]


class Documents:
    def documents(self) -> list[Listed]:
        return [Listed(id="d", name="report.pdf")]

    def printed(self, document: str, number: str) -> list[int]:
        return []


def decided(
    question: str, engine: Engine | None = None, watch: Watch | None = None, settings: GateSettings | None = None
) -> Gated:
    gate = Gate(settings or GateSettings(), engine or KeylessEngine(), Reading(WordVectors()), Documents(), TECHNIQUES)
    return gate.decide(question, watch or Watch())


def text_of(gated: Gated) -> str:
    return " ".join(sentence.text for sentence in gated.sentences)


@pytest.mark.parametrize(
    ("question", "answer"),
    [
        ("12*7", "12 × 7 = 84."),
        ("12 x 7 =", "12 × 7 = 84."),
        ("What is 7 times 6?", "7 × 6 = 42."),
        ("what's 1,200 + 300?", "1200 + 300 = 1,500."),
        ("How much is 15% of 240?", "(15 ÷ 100) × 240 = 36."),
        ("Please calculate 3 * (4 + 5)", "3 × (4 + 5) = 27."),
        ("Can you work out 100 divided by 8, please?", "100 ÷ 8 = 12.5."),
        ("2 to the power of 10", "2^10 = 1,024."),
        ("What is the square root of 16?", "sqrt(16) = 4."),
        ("sqrt(2)", "sqrt(2) ≈ 1.41421."),
        ("5 squared", "5^2 = 25."),
        ("0.1 + 0.2", "0.1 + 0.2 = 0.3."),
        ("what is 1/3", "1 ÷ 3 ≈ 0.333333."),
        ("-5 + 3", "−5 + 3 = −2."),
        ("what is 1/0?", "1 ÷ 0 has no result: it divides by zero."),
        ("9^9^9", "9^9^9 is too large to be written out."),
        ("sqrt(-4)", "sqrt(−4) has no real result."),
    ],
)
def test_a_sum_is_worked_out_exactly_and_without_a_search(question: str, answer: str) -> None:
    gated = decided(question)
    assert (gated.retrieve, text_of(gated), gated.origin) == (False, answer, FROM["sum"])
    assert gated.sentences[0].computed


@pytest.mark.parametrize(
    "question",
    [
        "24/7",
        "2023-24",
        "What is 2023-24?",
        "10/15/2023",
        "2023-10-15",
        "555-1234",
        "2023",
        "What is 5?",
        "What was revenue in 2023 minus 2022?",
        "What is the sum of Cloud Platform and Enterprise Software revenue?",
        "1.2.3",
        "3 4",
        "1,5 + 2",
        "__import__('os').system('ls')",
        "().__class__",
        "2 if 1 else 3",
        "sqrt",
        "1e300*1e300",
    ],
)
def test_what_only_looks_like_a_sum_is_searched_for(question: str) -> None:
    assert decided(question).retrieve


@pytest.mark.parametrize(
    ("said", "reply"),
    [
        ("Hi!", "Hello."),
        ("hello there", "Hello."),
        ("Good morning :)", "Hello."),
        ("Hey, how are you?", "Hello."),
        ("Guten Tag", "Hello."),
        ("Bonjour!", "Hello."),
        ("Thanks!", "You are welcome."),
        ("thank you so much 🙏", "You are welcome."),
        ("ok great, thanks a lot", "You are welcome."),
        ("Merci beaucoup", "You are welcome."),
        ("Bye!", "Goodbye."),
        ("Thanks, goodbye.", "Goodbye."),
    ],
)
def test_small_talk_is_answered_in_kind(said: str, reply: str) -> None:
    gated = decided(said)
    assert (gated.retrieve, gated.origin) == (False, FROM["greeting"])
    assert text_of(gated).startswith(reply)


@pytest.mark.parametrize(
    "question",
    [
        "What can you do?",
        "who are you",
        "What is Ragscope?",
        "How does this app work?",
        "how do I use this tool?",
        "What can I ask you?",
        "How can I upload a PDF?",
        "Which techniques are there?",
        "help",
    ],
)
def test_questions_about_the_app_are_answered_from_what_it_has(question: str) -> None:
    gated = decided(question)
    assert (gated.retrieve, gated.origin) == (False, FROM["app"])
    assert "rerank: puts the best chunks first." in text_of(gated)


def test_of_one_switch_only_that_is_told() -> None:
    assert text_of(decided("What does the 'imagined answers' switch do?")) == (
        "Imagined answers: Searches with imagined answers."
    )


@pytest.mark.parametrize(
    "question",
    [
        "Hello Kitty revenue in 2022?",
        "Thanks to whom was the deal closed?",
        "Hi, what was the revenue in 2023?",
        "What can DataWeave do?",
        "What does rerank do in the paper?",
        "Who is the help desk of InnovateCorp?",
        "What is the capital of France?",
        "How does this study work out the margin?",
        "?",
    ],
)
def test_all_else_is_searched_for(question: str) -> None:
    gated = decided(question)
    assert gated.retrieve
    assert gated.sentences == ()


def with_model(question: str, *turns: Turn, settings: GateSettings | None = None) -> tuple[Gated, Watch, list[dict]]:
    with model_server() as server:
        server.script = list(turns)
        server.then = says("I cannot help with that.")
        connection = ModelConnection(kind="openai", base_url=server.base_url, model="scripted")
        watch = Watch()
        gated = decided(question, ModelEngine(connection, pause_s=0.01), watch, settings)
        return gated, watch, server.asked


def test_a_model_answers_by_itself_what_no_document_is_needed_for_and_it_is_labelled() -> None:
    need = says('{"need": "general", "reason": "common knowledge"}')
    gated, watch, _ = with_model("What is the capital of France?", need, says("It is Paris. A city."))
    assert (gated.retrieve, gated.origin, gated.why) == (False, FROM["general"], "common knowledge")
    assert [sentence.text for sentence in gated.sentences] == ["It is Paris.", "A city."]
    assert watch.heard == "It is Paris. A city."


def test_its_own_knowledge_can_be_switched_off() -> None:
    need = says('{"need": "general"}')
    gated, _, asked = with_model("What is the capital of France?", need, settings=GateSettings(general=False))
    assert gated.retrieve
    assert len(asked) == 1


def test_the_model_sees_what_can_be_searched_and_a_sum_costs_no_call() -> None:
    gated, _, asked = with_model("Who founded it?", says('{"need": "documents"}'))
    assert gated.retrieve
    assert "report.pdf" in asked[0]["messages"][-1]["content"]
    assert with_model("12*7")[2] == []


@pytest.mark.parametrize("bad", ["nonsense", '{"need": "magic"}', "I cannot help with that.", ""])
def test_a_bad_or_refusing_reply_ends_in_a_search(bad: str) -> None:
    gated, watch, _ = with_model("Who founded DataWeave?", says(bad), says(bad))
    assert gated.retrieve
    assert "no usable reply" in watch.calls[0].note


def test_a_model_that_then_says_nothing_ends_in_a_search() -> None:
    gated, _, _ = with_model("Who founded it?", says('{"need": "general"}'), says(" "), says(" "))
    assert gated.retrieve
