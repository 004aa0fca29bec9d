import pytest
from pydantic import BaseModel, ValidationError

from rag_core.llm.connections import ModelConnection
from rag_core.llm.model import ModelEngine
from rag_core.llm.overrides import Override, Overrides, UnknownSignature, checked
from rag_core.llm.reading.reading import Reading
from rag_core.llm.signature import PromptError, Signature
from tests.fakes import Watch, WordVectors
from tests.model_server import model_server, says


class Asked(BaseModel):
    question: str


class Told(BaseModel):
    answer: str


def a_signature(name: str) -> Signature[Asked, Told]:
    return Signature(name, Asked, Told, "Say: {question}", keyless=lambda i, r: Told(answer="keyless"))


ASK, OTHER = a_signature("test.ask"), a_signature("test.other")


def ask(given: dict, signature: Signature = ASK) -> tuple[Told, dict, str]:
    with model_server(models=["scripted", "large"]) as server:
        server.then = says('{"answer": "good"}')
        engine = ModelEngine(
            ModelConnection(kind="openai", base_url=server.base_url, model="scripted"),
            overrides=checked(given, [ASK, OTHER]),
        )
        watch = Watch()
        told = engine.complete(signature, Asked(question="why?"), Reading(WordVectors()), watch)
        return told, server.asked[-1], watch.calls[0].engine


def test_another_prompt_is_sent_for_its_signature_and_no_other() -> None:
    given = {"test.ask": "Shout: {question}"}
    assert "Shout: why?" in ask(given)[1]["messages"][-1]["content"]
    assert "Say: why?" in ask(given, OTHER)[1]["messages"][-1]["content"]


def test_another_model_answers_and_the_call_names_it() -> None:
    told, asked, engine = ask({"test.ask": {"model": "large", "temperature": 0.3, "max_tokens": 7}})
    assert told.answer == "good"
    assert (asked["model"], asked["temperature"], asked["max_tokens"], engine) == ("large", 0.3, 7, "large")


def test_a_model_elsewhere_is_asked_there() -> None:
    with model_server(models=["far"]) as far:
        far.then = says('{"answer": "from afar"}')
        elsewhere = {"kind": "openai", "base_url": far.base_url, "model": "far"}
        overrides = checked({"test.ask": {"model": elsewhere}}, [ASK])
        engine = ModelEngine(
            ModelConnection(kind="openai", base_url="http://127.0.0.1:9/v1", model="scripted"), overrides=overrides
        )
        watch = Watch()
        assert engine.complete(ASK, Asked(question="?"), Reading(WordVectors()), watch).answer == "from afar"
    assert watch.calls[0].engine == "far"


@pytest.mark.parametrize(
    ("prompt", "said"),
    [
        ("About {topic}", r"\{topic\}.*it can fill \{question\}"),
        ("About {question.__class__}", r"it can fill \{question\}"),
        ("About {question:{question}}", r"it can fill \{question\}"),
        ("About {}", r"it can fill \{question\}"),
        ("A brace { alone", "written twice.*question"),
    ],
)
def test_a_prompt_that_cannot_be_filled_is_refused_with_what_can(prompt: str, said: str) -> None:
    with pytest.raises(PromptError, match=said):
        checked({"test.ask": prompt}, [ASK])


def test_an_unknown_signature_is_refused_with_the_known_ones() -> None:
    with pytest.raises(UnknownSignature, match=r"'test.gone'.*test\.ask, test\.other"):
        checked({"test.gone": "x"}, [OTHER, ASK])


@pytest.mark.parametrize("value", [{"temperature": 9}, {"colour": "red"}, {"max_tokens": 0}, {"prompt": ""}])
def test_a_value_out_of_its_range_is_refused(value: dict) -> None:
    with pytest.raises(ValidationError):
        checked({"test.ask": value}, [ASK])


def test_those_from_code_stand_before_those_saved() -> None:
    saved = Overrides({"test.ask": Override(prompt="saved"), "test.other": Override(prompt="other")})
    both = Overrides({"test.ask": Override(prompt="code")}).over(saved)
    assert both.as_json() == {"test.ask": {"prompt": "code"}, "test.other": {"prompt": "other"}}
