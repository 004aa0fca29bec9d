"""What answers: the model that the user chose, or none."""

from __future__ import annotations

import json
import os
from typing import Literal

from rag_core.llm import connections
from rag_core.llm.connections import ModelConnection
from rag_core.settings import Settings
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
        text = connection.model_dump_json() if connection else "null"
        part = self._path.with_suffix(".part")
        with os.fdopen(os.open(part, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w", encoding="utf-8") as file:
            file.write(text)
        part.replace(self._path)
