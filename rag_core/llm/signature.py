"""A signature: one question to an engine, with typed inputs and outputs.

The prompt and the keyless function stand beside each other and give the same outputs, so every step of the pipeline
runs with a model and without one.
"""

from __future__ import annotations

import json
import re
import string
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Generic, TypeVar

from pydantic import BaseModel, ValidationError

from rag_core.errors import RagError
from rag_core.llm.likelihood import Scored, Token, scored

if TYPE_CHECKING:
    from rag_core.llm.reading.reading import Reading

In = TypeVar("In", bound=BaseModel)
Out = TypeVar("Out", bound=BaseModel)

_THINK = re.compile(r"<think(?:ing)?>.*?(?:</think(?:ing)?>|\Z)", re.DOTALL | re.IGNORECASE)


class PromptError(RagError):
    """A prompt asks for a field that its signature does not have, or has a brace that belongs to none."""

    def __init__(self, name: str, wrong: list[str], right: list[str]) -> None:
        listed = ", ".join(f"{{{field}}}" for field in right)
        has = f"{{{wrong[0]}}}, which it cannot fill" if wrong else "a brace of its own, which is to be written twice"
        super().__init__(f"The prompt of {name!r} has {has}; it can fill {listed}.")
        self.wrong, self.right = wrong, right


class ReplyError(ValueError):
    """A model's reply cannot be read as the outputs asked for."""


def _no_pictures(_: BaseModel) -> Sequence[Path]:
    return ()


@dataclass(frozen=True)
class Signature(Generic[In, Out]):
    """What is asked: `inputs` fill the placeholders of `prompt`, the reply is read into `outputs`.

    Args:
        read: Turns a reply without think-blocks into the outputs; by default its last balanced JSON object.
        read_scored: The same for a reply whose labels are judgements: how likely its tokens were comes with it.
        shown: The part of a reply under way that a reader may see, where it is streamed.
        pictures: The files of the pictures that go with the prompt, for models that see.

    Raises:
        PromptError: A placeholder of the prompt is not a field of the inputs.
    """

    name: str
    inputs: type[In]
    outputs: type[Out]
    prompt: str
    keyless: Callable[[In, Reading], Out]
    read: Callable[[str], Out] | None = None
    read_scored: Callable[[Scored], Out] | None = None
    shown: Callable[[str], str] = str
    pictures: Callable[[In], Sequence[Path]] = _no_pictures
    temperature: float = 0.0
    max_tokens: int = 1024

    def __post_init__(self) -> None:
        known = set(self.inputs.model_fields)
        try:
            parts = list(string.Formatter().parse(self.prompt))
        except ValueError as error:
            raise PromptError(self.name, [], sorted(known)) from error
        asked = {f"{field}:{spec}" if spec else field for _, field, spec, _ in parts if field is not None}
        if wrong := sorted(asked - known):
            raise PromptError(self.name, wrong, sorted(known))

    def render(self, inputs: In) -> str:
        """The prompt with its placeholders filled, and how to reply where the reply is JSON."""
        filled = self.prompt.format(**{name: getattr(inputs, name) for name in self.inputs.model_fields})
        if self.read or self.read_scored:
            return filled
        fields = {name: field.description or str(field.annotation) for name, field in self.outputs.model_fields.items()}
        return f"{filled}\nReply with one JSON object and nothing else: {json.dumps(fields, ensure_ascii=False)}"

    def parse(self, reply: str, tokens: Sequence[Token] = ()) -> Out:
        """Read a model's reply.

        Args:
            tokens: Of the whole reply, where the endpoint gave them.

        Raises:
            ReplyError: It is empty, has no JSON object, or one with wrong fields.
        """
        text = without_thinking(reply).strip()
        if not text:
            raise ReplyError("the reply was empty")
        if self.read_scored is not None:
            return self.read_scored(scored(text, tokens))
        if self.read is not None:
            return self.read(text)
        try:
            return self.outputs.model_validate_json(last_json_object(text))
        except ValueError as error:
            raise ReplyError(f"the reply does not fit: {_first_line(error)}") from error


def without_thinking(reply: str) -> str:
    """The reply without its think-blocks, an unfinished one included."""
    return _THINK.sub("", reply)


def last_json_object(text: str) -> str:
    """The last balanced `{...}` of a text that is valid JSON.

    Raises:
        ValueError: There is none.
    """
    decoder, found, at = json.JSONDecoder(), None, text.find("{")
    while at != -1:
        try:
            _, end = decoder.raw_decode(text, at)
        except (json.JSONDecodeError, RecursionError):
            at = text.find("{", at + 1)
            continue
        found, at = text[at:end], text.find("{", end)
    if found is None:
        raise ValueError("there is no JSON object in it")
    return found


def _first_line(error: Exception) -> str:
    if isinstance(error, ValidationError):  # its own text quotes the whole reply
        first = error.errors()[0]
        return f"{'.'.join(map(str, first['loc'])) or 'it'}: {first['msg']}"
    return str(error).splitlines()[0]
