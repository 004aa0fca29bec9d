import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel, Field

from rag_core.llm.signature import PromptError, ReplyError, Signature, last_json_object, without_thinking


class Asked(BaseModel):
    question: str


class Told(BaseModel):
    words: list[str]
    score: float = Field(ge=0, le=1)


def a_signature(prompt: str = "About {question}") -> Signature[Asked, Told]:
    return Signature("test.ask", Asked, Told, prompt, keyless=lambda inputs, reading: Told(words=[], score=0))


def test_a_prompt_with_a_wrong_placeholder_is_refused_with_the_right_ones() -> None:
    with pytest.raises(PromptError, match=r"\{topic\}.*\{question\}"):
        a_signature("About {topic}")


def test_what_stands_in_the_question_is_not_a_placeholder() -> None:
    rendered = a_signature().render(Asked(question="what is {question} and {0}?"))
    assert rendered.startswith("About what is {question} and {0}?")


@pytest.mark.parametrize(
    "reply",
    [
        '{"words": ["a"], "score": 0.5}',
        'Sure:\n```json\n{"words": ["a"], "score": 0.5}\n```\nDone.',
        '<think>{"words": ["no"], "score": 1}</think>{"words": ["a"], "score": 0.5}',
        '{"words": ["first"], "score": 1} and better {"words": ["a"], "score": 0.5}',
        'a { brace, then {"words": ["a"], "score": 0.5} }',
    ],
)
def test_the_last_balanced_object_of_a_reply_is_read(reply: str) -> None:
    assert a_signature().parse(reply) == Told(words=["a"], score=0.5)


@pytest.mark.parametrize(
    "reply", ["", "   ", "no JSON", "{", '{"words": "a"}', '{"words": [], "score": 7}', "<think>only thoughts"]
)
def test_a_reply_that_does_not_fit_says_why_without_repeating_itself(reply: str) -> None:
    with pytest.raises(ReplyError) as raised:
        a_signature().parse(reply)
    assert len(str(raised.value)) < 200


def test_an_unfinished_thought_is_taken_out_too() -> None:
    assert without_thinking("so <THINK>hm</think>yes <thinking>and") == "so yes "


@given(st.text(max_size=60), st.text(max_size=60))
def test_an_object_is_found_whatever_stands_around_it(before: str, after: str) -> None:
    before, after = before.replace("{", "("), after.replace("{", "(")
    assert last_json_object(f'{before}{{"a": {{"b": "}}"}}}}{after}') == '{"a": {"b": "}"}}'
