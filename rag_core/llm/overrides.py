"""Other prompts and other models, signature by signature: from code, and from what Settings has saved."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Mapping
from typing import Any, TypeVar

from pydantic import BaseModel, Field

from rag_core.errors import RagError
from rag_core.llm.connections import ModelConnection
from rag_core.llm.signature import Signature
from rag_core.types import Value

In = TypeVar("In", bound=BaseModel)
Out = TypeVar("Out", bound=BaseModel)


class UnknownSignature(RagError):
    """A signature that does not exist was named."""

    def __init__(self, name: str, known: list[str]) -> None:
        super().__init__(f"There is no signature {name!r}; there are: {', '.join(known)}.")
        self.name, self.known = name, known


class Override(Value):
    """What is other than usual for one signature. What is not given stays as it is."""

    prompt: str | None = Field(default=None, min_length=1, description="Its prompt, with the same placeholders.")
    model: str | ModelConnection | None = Field(
        default=None, description="Another model at the endpoint in use, or a model elsewhere."
    )
    temperature: float | None = Field(default=None, ge=0, le=2)
    max_tokens: int | None = Field(default=None, ge=1, le=100_000, description="Tokens that its reply may have.")


class Overrides:
    """The overrides of one run, by the signature's name."""

    def __init__(self, given: Mapping[str, Override] | None = None) -> None:
        self._given = dict(given or {})

    def applied(self, signature: Signature[In, Out]) -> Signature[In, Out]:
        """The signature as it is to be asked.

        Raises:
            PromptError: Its other prompt has a placeholder that it cannot fill.
        """
        override = self._given.get(signature.name)
        if override is None:
            return signature
        changes = override.model_dump(include={"prompt", "temperature", "max_tokens"}, exclude_none=True)
        return dataclasses.replace(signature, **changes)

    def connection(self, signature: str, usual: ModelConnection) -> ModelConnection:
        """Where a signature is asked."""
        model = self._given[signature].model if signature in self._given else None
        if isinstance(model, ModelConnection):
            return model
        return usual.model_copy(update={"model": model}) if model else usual

    def over(self, others: Overrides) -> Overrides:
        """These, and for signatures that they leave alone the others."""
        return Overrides({**others._given, **self._given})

    def as_json(self) -> dict[str, Any]:
        """What of them is not usual; what `checked` reads."""
        return {name: override.model_dump(mode="json", exclude_none=True) for name, override in self._given.items()}


def checked(given: Mapping[str, Any], signatures: Iterable[Signature[Any, Any]]) -> Overrides:
    """Overrides out of `{signature: prompt}` or `{signature: {prompt, model, temperature, max_tokens}}`.

    Raises:
        UnknownSignature: There is none of that name.
        PromptError: A prompt has a placeholder that its signature cannot fill.
        ValidationError: A value is out of its range.
    """
    known = {signature.name: signature for signature in signatures}
    read: dict[str, Override] = {}
    for name, value in given.items():
        if name not in known:
            raise UnknownSignature(name, sorted(known))
        read[name] = Override(prompt=value) if isinstance(value, str) else Override.model_validate(value)
    overrides = Overrides(read)
    for name in read:
        overrides.applied(known[name])
    return overrides
