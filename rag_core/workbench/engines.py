"""What answers: the model that the user chose, or none, and the prompts and models chosen for single signatures."""

from __future__ import annotations

import json
import os
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any, Literal

from rag_core.errors import QuestionError, RagError
from rag_core.llm import connections
from rag_core.llm.connections import ModelConnection
from rag_core.llm.engine import Engine, KeylessEngine
from rag_core.llm.model import ModelEngine
from rag_core.llm.overrides import Overrides, checked
from rag_core.llm.signature import Signature
from rag_core.settings import Settings
from rag_core.techniques import SIGNATURES
from rag_core.types import Value


class EngineChoice(Value):
    """What a question can be asked with now."""

    name: Literal["keyless", "model"]
    label: str
    detail: str


class SavedConnection:
    """The model that the user chose, in a file that only its owner reads; `null` in it means none, on purpose."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._path = settings.data_dir / "connection.json"

    def get(self) -> ModelConnection | None:
        try:
            saved = json.loads(self._path.read_text(encoding="utf-8"))
            return ModelConnection.model_validate(saved) if saved else None
        except (OSError, ValueError):
            return connections.from_settings(self._settings)

    def save(self, connection: ModelConnection | None) -> None:
        write_private(self._path, connection.model_dump_json() if connection else "null")


class SavedOverrides:
    """The prompts and models that the user chose for signatures, in a file that only its owner reads."""

    def __init__(self, data_dir: Path, signatures: Collection[Signature[Any, Any]]) -> None:
        self._path = data_dir / "prompts.json"
        self._signatures = signatures

    def get(self) -> Overrides:
        """What is saved; nothing where nothing is.

        Raises:
            RagError: The file was changed to what cannot be used; the message says where and how to mend it.
        """
        try:
            return checked(json.loads(self._path.read_text(encoding="utf-8")), self._signatures)
        except FileNotFoundError:
            return Overrides()
        except (OSError, ValueError, AttributeError, RagError) as error:
            reason = str(error).splitlines()[0]
            raise RagError(f"{self._path} cannot be used ({reason}): mend it, or delete it.") from error

    def save(self, given: Mapping[str, Any]) -> Overrides:
        """Use these from now on, and none besides.

        Raises:
            RagError: A signature is unknown or a prompt cannot be filled; nothing was saved.
        """
        overrides = checked(given, self._signatures)
        write_private(self._path, json.dumps(overrides.as_json(), ensure_ascii=False, indent=2))
        return overrides


class Engines:
    """What answers questions and describes figures, as the user chose it here or in the environment."""

    def __init__(self, settings: Settings, own: Overrides) -> None:
        """Read what is saved.

        Args:
            own: Prompts and models given from code; they come before what is saved.
        """
        self._settings = settings
        self._own = own
        self.connections = SavedConnection(settings)
        self.overrides = SavedOverrides(settings.data_dir, SIGNATURES)

    def choices(self) -> list[EngineChoice]:
        """What a question can be asked with now, the default first."""
        keyless = EngineChoice(name="keyless", label="No model", detail="Reads and quotes.")
        if (model := self.connections.get()) is None:
            return [keyless]
        return [EngineChoice(name="model", label=model.model, detail=model.base_url), keyless]

    def get(self, name: str | None) -> Engine:
        """The engine of that name; the model where there is one, when not given.

        Raises:
            RagError: There is no model, or what is saved for its prompts cannot be used.
        """
        connection = self.connections.get()
        if name == "model" and connection is None:
            raise QuestionError("No model is set: choose one in Settings, or set OPENAI_BASE_URL and OPENAI_MODEL.")
        if name == "keyless" or connection is None:
            return KeylessEngine()
        return self._asking(connection)

    def seeing(self) -> Engine | None:
        """The model that sees, at the endpoint of the model in use; None where there is none."""
        connection, model = self.connections.get(), self._settings.vision_model
        if connection is None or model is None:
            return None
        return self._asking(connection.model_copy(update={"model": model}))

    def _asking(self, connection: ModelConnection) -> ModelEngine:
        overrides = self._own.over(self.overrides.get())
        return ModelEngine(connection, silence_s=self._settings.model_timeout_s, overrides=overrides)


def write_private(path: Path, text: str) -> None:
    """Write a file that only its owner may read, whole or not at all."""
    part = path.with_suffix(".part")
    with os.fdopen(os.open(part, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w", encoding="utf-8") as file:
        file.write(text)
    part.replace(path)
