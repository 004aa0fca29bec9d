import pytest

from rag_core.errors import QuestionError, UnknownCollection
from rag_core.llm.connections import ModelConnection
from rag_core.llm.engine import Engine, KeylessEngine
from rag_core.llm.model import ModelEngine
from rag_core.llm.reading.reading import Reading
from rag_core.techniques.route import Described, Route, Routed, RouteSettings
from tests.fakes import Watch, WordVectors
from tests.model_server import model_server, says

FINANCE = Described(name="Finance", description="Quarterly reports: revenue and profit.", documents=("report-q3.pdf",))
PEOPLE = Described(name="People", description="Vacation, notice periods, working from home.")
PAPERS = Described(name="Papers", description="", documents=("attention is all you need.pdf",))
ALL = (FINANCE, PEOPLE, PAPERS)


def routed(
    question: str,
    collections: tuple[Described, ...] = ALL,
    *,
    chosen: tuple[str, ...] = (),
    default: str = "People",
    engine: Engine | None = None,
    settings: RouteSettings | None = None,
) -> Routed:
    route = Route(settings or RouteSettings(), engine or KeylessEngine(), Reading(WordVectors()))
    return route.choose(question, collections, chosen=chosen, default=default, watch=Watch())


@pytest.mark.parametrize(
    ("question", "collection"),
    [
        ("What was the revenue of the quarter?", "Finance"),
        ("How much vacation do I have?", "People"),
        ("What does attention need?", "Papers"),
        ("What is in report-q3?", "Finance"),
    ],
)
def test_the_collection_that_speaks_of_it_is_chosen(question: str, collection: str) -> None:
    told = routed(question)
    assert (told.collections, told.by) == ((collection,), "router")
    assert collection in told.why


def test_what_the_user_chose_stands_before_the_router() -> None:
    told = routed("What was the revenue?", chosen=("Papers", "People", "Papers"))
    assert (told.collections, told.by) == (("Papers", "People"), "user")


def test_where_none_fits_the_default_is_searched_and_it_is_said() -> None:
    told = routed("zebra xylophone")
    assert (told.collections, told.by) == (("People",), "default")
    assert "No collection fits" in told.why


def test_one_collection_needs_no_choice() -> None:
    told = routed("zebra", (FINANCE,), default="Finance")
    assert (told.collections, told.by, told.why) == (("Finance",), "default", "There is only one collection.")


@pytest.mark.parametrize("chosen", [("Gone",), ("People", "Gone")])
def test_an_unknown_collection_is_an_error_and_names_those_there_are(chosen: tuple[str, ...]) -> None:
    with pytest.raises(UnknownCollection, match=r"'Gone'; there are: Finance, People, Papers"):
        routed("What was the revenue?", chosen=chosen)


def test_a_default_that_cannot_be_searched_hinders_no_choice_and_is_said_where_there_is_none() -> None:
    assert routed("What was the revenue?", default="Drafts").collections == ("Finance",)
    assert routed("What was the revenue?", (FINANCE,), default="Drafts").by == "router"
    with pytest.raises(QuestionError, match="'Drafts' is searchable yet: choose one of Finance, People, Papers"):
        routed("zebra xylophone", default="Drafts")


def test_no_more_are_chosen_than_set_and_none_that_fits_less_than_the_threshold() -> None:
    question = "vacation and revenue"
    assert len(routed(question, settings=RouteSettings(most=2)).collections) == 2
    assert len(routed(question, settings=RouteSettings(most=1)).collections) == 1
    assert routed(question, settings=RouteSettings(threshold=1)).by == "default"


def by_model(reply: str, *, most: int = 1) -> tuple[Routed, str]:
    with model_server() as server:
        server.then = says(reply)
        engine = ModelEngine(ModelConnection(kind="openai", base_url=server.base_url, model="scripted"), pause_s=0.01)
        told = routed("What was the revenue?", engine=engine, settings=RouteSettings(most=most))
        return told, server.asked[0]["messages"][-1]["content"]


def test_a_model_chooses_by_names_and_descriptions() -> None:
    told, prompt = by_model('{"collections": ["Papers", "Finance"], "reason": "it is in the papers"}')
    assert told == Routed(collections=("Papers",), by="router", why="it is in the papers")
    assert "Quarterly reports" in prompt
    assert "report-q3.pdf" in prompt


def test_a_model_that_finds_none_leaves_the_default() -> None:
    assert by_model('{"collections": []}')[0].by == "default"


def test_a_collection_that_a_model_makes_up_is_not_searched_and_widens_nothing() -> None:
    told, _ = by_model('{"collections": ["Everything", "Papers"]}', most=3)
    assert "Everything" not in told.collections
    assert told.collections[0] == "Finance"
    assert "'Everything', which does not exist" in told.why


@pytest.mark.parametrize("bad", ["nonsense", '{"collections": "Finance"}', "I cannot help with that."])
def test_a_bad_reply_leaves_it_to_words_and_meaning(bad: str) -> None:
    assert by_model(bad)[0].collections == ("Finance",)
