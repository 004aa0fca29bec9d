"""Engines: what answers a signature. The keyless one reads; the model one asks a model and falls back to reading."""

from __future__ import annotations

import math
from typing import Protocol, TypeVar

from pydantic import BaseModel, Field

from rag_core.llm.reading.reading import Reading
from rag_core.llm.signature import Signature
from rag_core.types import Usage, Value

In = TypeVar("In", bound=BaseModel)
Out = TypeVar("Out", bound=BaseModel)


class Call(Value):
    """One signature asked, as the trace keeps it."""

    signature: str
    engine: str = Field(description="What really answered: 'keyless' or the model's name.")
    prompt: str = Field(description="As sent; empty for keyless.")
    reply: str
    note: str = Field(default="", description="A repair, a retry or a fall back, in words.")
    seconds: float = 0
    usage: Usage = Usage()


class Watch(Protocol):
    """What an engine tells the run that it works for, and asks of it."""

    def stopped(self) -> bool:
        """Whether to give up now."""
        ...

    def called(self, call: Call) -> None:
        """A call is over."""
        ...

    def text(self, delta: str) -> None:
        """A piece of the answer, as it is written."""
        ...

    def restart(self) -> None:
        """The text so far is void: it begins again."""
        ...

    def left_s(self) -> float:
        """Seconds left of the run's budget."""
        ...


class Nobody:
    """Watches nothing: for work that is no step of a run."""

    def stopped(self) -> bool:
        return False

    def called(self, call: Call) -> None: ...

    def text(self, delta: str) -> None: ...

    def restart(self) -> None: ...

    def left_s(self) -> float:
        return math.inf


class Engine(Protocol):
    """Answers signatures."""

    name: str

    def complete(
        self, signature: Signature[In, Out], inputs: In, reading: Reading, watch: Watch, *, stream: bool = False
    ) -> Out:
        """Answer a signature.

        Args:
            stream: Tell `watch.text` the reply as it comes; only for signatures whose reply is text to be read.

        Raises:
            Stopped: The run was stopped meanwhile.
        """
        ...


class KeylessEngine:
    """Answers by the signature's own keyless function."""

    name = "keyless"

    def complete(
        self, signature: Signature[In, Out], inputs: In, reading: Reading, watch: Watch, *, stream: bool = False
    ) -> Out:
        outputs = signature.keyless(inputs, reading)
        watch.called(Call(signature=signature.name, engine=self.name, prompt="", reply=outputs.model_dump_json()))
        return outputs
