import pytest
from hypothesis import given
from hypothesis import strategies as st

from rag_core.llm.connections import ModelConnection
from rag_core.llm.engine import KeylessEngine
from rag_core.llm.model import ModelEngine
from rag_core.llm.reading.reading import Reading
from rag_core.techniques.base import Turn
from rag_core.techniques.rewrite import Rewrite, RewriteSettings, Rewritten
from tests.fakes import Watch, WordVectors
from tests.model_server import model_server, says

READING = Reading(WordVectors())
REVENUE = Turn(
    question="What was InnovateCorp's revenue in the third quarter of 2023?",
    answer="InnovateCorp's revenue was $50 million.",
)
FOUNDER = Turn(question="Who founded DataWeave?", answer="DataWeave was founded by Dr. Amara Okafor in 2015.")
BOUGHT = Turn(
    question="Which company did InnovateCorp acquire?", answer="InnovateCorp acquired DataWeave for $1.2 billion."
)
HOTEL = Turn(question="What is the hotel limit for London at InnovateCorp?", answer="It is £220.")
DAYS = Turn(question="How many vacation days do employees in Rotterdam have?", answer="28.")
FEE = Turn(question="what is the break fee?", answer="$36 million")
SECTION = Turn(question="What does section 3 say?", answer="It defines terms.")
CFO = Turn(question="Who is the CFO of AMD?", answer="Jean Hu is the CFO of AMD.")
TREATY = Turn(question="When was the treaty signed?", answer="The treaty was signed in Maastricht in 1992.")
RISKS = Turn(question="What are the main risks of the acquisition?", answer="Integration and retention.")


def rewritten(question: str, *turns: Turn, settings: RewriteSettings | None = None) -> Rewritten:
    return Rewrite(settings or RewriteSettings(), KeylessEngine(), READING).rewrite(question, turns, Watch())


@pytest.mark.parametrize(
    ("question", "query"),
    [
        ("Hi there, could you please tell me who founded DataWeave? Thanks!", "Who founded DataWeave?"),
        ("hey what is the revenue", "what is the revenue"),
        ("I was wondering if you could tell me who founded DataWeave", "Who founded DataWeave"),
        ("please summarize the report", "summarize the report"),
        ("Do you know when it closed?", "When it closed?"),
        ("So what was the profit?", "What was the profit?"),
        ("Could you compare A and B for me, please?", "Compare A and B?"),
        ("Quick question: how large is the break fee?", "How large is the break fee?"),
        ("I'd like to know more about Project Titan.", "Project Titan."),
        ("Thanks! How many employees are there, by the way?", "How many employees are there?"),
    ],
)
def test_filler_goes_and_what_went_is_said(question: str, query: str) -> None:
    told = rewritten(question)
    assert told.query == query
    assert told.changes[0].startswith("left out ")


@pytest.mark.parametrize(
    "question",
    [
        "What was InnovateCorp's revenue in Q3 2023?",
        "Hello Kitty revenue?",
        "Tell me about DataWeave",
        "thanks",
        "Hi",
        "Please note section 3.1",
        "OK Computer release date",
        "What does 'please advise' mean?",
        "",
    ],
)
def test_what_has_nothing_to_rewrite_stays_as_it_is(question: str) -> None:
    assert rewritten(question) == Rewritten(query=question, changes=())


@pytest.mark.parametrize(
    ("turn", "question", "query"),
    [
        (
            REVENUE,
            "How much did it grow compared to 2022?",
            "How much did InnovateCorp's revenue grow compared to 2022?",
        ),
        (REVENUE, "What was its net income?", "What was InnovateCorp's net income?"),
        (REVENUE, "Who is the CEO of that company?", "Who is the CEO of InnovateCorp?"),
        (REVENUE, "What happened in that quarter?", "What happened in the third quarter of 2023?"),
        (REVENUE, "What happened then?", "What happened in the third quarter of 2023?"),
        (REVENUE, "Why did they grow?", "Why did InnovateCorp grow?"),
        (FOUNDER, "When was it acquired?", "When was DataWeave acquired?"),
        (FOUNDER, "Where did she study?", "Where did Dr. Amara Okafor study?"),
        (FOUNDER, "Who is her boss?", "Who is Dr. Amara Okafor's boss?"),
        (FOUNDER, "What does that person earn?", "What does Dr. Amara Okafor earn?"),
        (FOUNDER, "What about her education?", "What about Dr. Amara Okafor's education?"),
        (FOUNDER, "What is its main product?", "What is DataWeave's main product?"),
        (BOUGHT, "When was it founded?", "When was DataWeave founded?"),
        (BOUGHT, "Who founded the company?", "Who founded DataWeave?"),
        (BOUGHT, "How much did they pay for it?", "How much did InnovateCorp pay for DataWeave?"),
        (DAYS, "How many can they carry over?", "How many can employees in Rotterdam carry over?"),
        (CFO, "How long has she been there?", "How long has Jean Hu been at AMD?"),
        (TREATY, "Who signed it?", "Who signed the treaty?"),
        (FEE, "Who pays it?", "Who pays the break fee?"),
        (RISKS, "How can they be reduced?", "How can the main risks be reduced?"),
    ],
)
def test_what_points_back_is_put_in(turn: Turn, question: str, query: str) -> None:
    told = rewritten(question, turn)
    assert told.query == query
    assert " is " in told.changes[0]


@pytest.mark.parametrize(
    ("turn", "question", "query"),
    [
        (REVENUE, "and in 2022?", "What was InnovateCorp's revenue in the third quarter of 2022?"),
        (REVENUE, "2021?", "What was InnovateCorp's revenue in the third quarter of 2021?"),
        (REVENUE, "How about Q2?", "What was InnovateCorp's revenue in Q2 2023?"),
        (
            REVENUE,
            "and in the second quarter of 2022?",
            "What was InnovateCorp's revenue in the second quarter of 2022?",
        ),
        (
            REVENUE,
            "And the operating profit?",
            "What was InnovateCorp's operating profit in the third quarter of 2023?",
        ),
        (REVENUE, "What about DataWeave?", "What was DataWeave's revenue in the third quarter of 2023?"),
        (REVENUE, "Thanks! And for DataWeave?", "What was DataWeave's revenue in the third quarter of 2023?"),
        (FOUNDER, "And InnovateCorp?", "Who founded InnovateCorp?"),
        (HOTEL, "and for Paris?", "What is the hotel limit for Paris at InnovateCorp?"),
        (DAYS, "And in Denver?", "How many vacation days do employees in Denver have?"),
        (DAYS, "What about Denver?", "How many vacation days do employees in Denver have?"),
        (BOUGHT, "Why?", "Why did InnovateCorp acquire?"),
        (SECTION, "and section 4?", "What does section 4 say?"),
        (CFO, "And of Nvidia?", "Who is the CFO of Nvidia?"),
        (FEE, "and in 2022?", "what is the break fee in 2022?"),
    ],
)
def test_a_fragment_is_completed_by_the_question_before(turn: Turn, question: str, query: str) -> None:
    told = rewritten(question, turn)
    assert told.query == query
    assert told.changes[-1].startswith("completed by the question before")


def test_fragments_of_fragments_go_back_to_the_whole_question() -> None:
    turns = (REVENUE, Turn(question="and in 2022?", answer="$45 million"))
    assert rewritten("and the operating profit?", *turns).query == (
        "What was InnovateCorp's operating profit in the third quarter of 2022?"
    )
    assert rewritten("What was its margin?", *turns).query == "What was InnovateCorp's margin?"


@pytest.mark.parametrize(
    "question",
    [
        "What is the notice period for grade 7?",
        "Is it allowed to work from home?",
        "How long does it take to get a badge?",
        "When DataWeave was sold, who bought it?",
        "Is there a table of investors?",
        "What was Corvane's revenue in 2021?",
        "and what is the retention pool?",
        "And list all subsidiaries of Corvane",
        "But summarize the handbook",
    ],
)
def test_a_question_that_stands_alone_is_left_alone_in_a_chat(question: str) -> None:
    assert rewritten(question, REVENUE) == Rewritten(query=question, changes=())


def test_only_so_many_turns_are_looked_back_to() -> None:
    assert rewritten("Who leads it?", FOUNDER, settings=RewriteSettings(turns=0)).query == "Who leads it?"
    assert rewritten("Who sold it?", FOUNDER, Turn(question="thanks", answer="Welcome.")).query == "Who sold DataWeave?"
    assert rewritten("Who sold it?", FOUNDER, FEE).query == "Who sold the break fee?"


@given(st.text(min_size=1, max_size=80), st.text(max_size=60), st.text(max_size=60))
def test_no_chat_breaks_it_and_every_change_is_said(question: str, before: str, answer: str) -> None:
    told = rewritten(question, Turn(question=before, answer=answer))
    assert bool(told.changes) == (told.query != question)


@given(
    st.integers(1000, 1899), st.sampled_from(["Hi, what is rule {} please?", "and rule {}?", "What is its rule {}?"])
)
def test_a_number_of_the_question_is_never_lost(number: int, form: str) -> None:
    assert str(number) in rewritten(form.format(number), REVENUE).query


def by_model(question: str, *replies: str, turns: tuple[Turn, ...] = (FOUNDER,)) -> tuple[Rewritten, Watch, list[dict]]:
    with model_server() as server:
        server.script = [says(reply) for reply in replies]
        connection = ModelConnection(kind="openai", base_url=server.base_url, model="scripted")
        watch = Watch()
        told = Rewrite(RewriteSettings(), ModelEngine(connection, pause_s=0.01), READING).rewrite(
            question, turns, watch
        )
        return told, watch, server.asked


def test_a_model_s_rewriting_is_taken_with_what_it_says_of_it() -> None:
    reply = '{"query": "When was DataWeave acquired?", "changes": ["\'it\' is DataWeave"]}'
    told, _, asked = by_model("When was it acquired?", reply)
    assert told == Rewritten(query="When was DataWeave acquired?", changes=("'it' is DataWeave",))
    assert "Dr. Amara Okafor" in asked[0]["messages"][-1]["content"]


def test_a_model_that_loses_a_number_or_a_name_is_not_followed() -> None:
    told, _, _ = by_model("Was it sold to Corvane in 2023?", '{"query": "Was DataWeave sold?"}')
    assert told.query == "Was DataWeave sold to Corvane in 2023?"
    assert told.changes[-1] == "the model's rewriting was not used: it lost 'Corvane', '2023'"


def test_a_model_that_changes_nothing_leaves_the_question() -> None:
    told, _, _ = by_model("When was DataWeave sold?", '{"query": "When was DataWeave sold?", "changes": ["nothing"]}')
    assert told.changes == ()


@pytest.mark.parametrize("bad", ["nonsense", '{"query": ""}', "I cannot help with that."])
def test_a_bad_reply_leaves_it_to_the_rules(bad: str) -> None:
    told, watch, _ = by_model("When was it acquired?", bad, bad)
    assert told.query == "When was DataWeave acquired?"
    assert watch.calls[0].engine == "keyless"


def test_the_model_is_not_asked_where_there_is_nothing_to_rewrite() -> None:
    assert by_model("Who founded DataWeave?", turns=())[2] == []
    assert by_model("Thanks a lot!")[2] == []
