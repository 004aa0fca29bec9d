"""Which model answers, where it is, and what can be found running on this machine."""

from __future__ import annotations

import time
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Literal

import httpx
from pydantic import Field

from rag_core.errors import EngineError
from rag_core.settings import Settings
from rag_core.types import Value

# Where the usual local servers listen when nobody says otherwise.
LOCAL_SERVERS = (
    ("ollama", "Ollama", "http://127.0.0.1:11434"),
    ("openai", "LM Studio", "http://127.0.0.1:1234/v1"),
    ("openai", "llama.cpp", "http://127.0.0.1:8080/v1"),
    ("openai", "vLLM", "http://127.0.0.1:8000/v1"),
)
_LOOK_S = 0.4


class ModelConnection(Value):
    """A model at an endpoint."""

    kind: Literal["openai", "ollama"] = Field(description="The protocol that the endpoint speaks.")
    base_url: str = Field(description="Its address; for the OpenAI protocol it usually ends in /v1.")
    model: str = Field(description="The model's name there.")
    api_key: str = Field(default="", description="Left empty where none is needed.", repr=False)
    label: str = Field(default="", description="What found it, for the screen.")


class ConnectionTest(Value):
    """What a test of a connection found."""

    ok: bool
    message: str = Field(description="One sentence: what works, or what to do.")
    seconds: float
    models: tuple[str, ...] = ()


def from_settings(settings: Settings) -> ModelConnection | None:
    """The connection that the environment names, or None."""
    if settings.openai_model and (settings.openai_base_url or settings.openai_api_key):
        return ModelConnection(
            kind="openai",
            base_url=settings.openai_base_url or "https://api.openai.com/v1",
            model=settings.openai_model,
            api_key=settings.openai_api_key or "",
        )
    if settings.ollama_host and settings.ollama_model:
        host = settings.ollama_host if "://" in settings.ollama_host else f"http://{settings.ollama_host}"
        return ModelConnection(kind="ollama", base_url=host, model=settings.ollama_model)
    return None


def models_at(connection: ModelConnection, *, timeout_s: float = 5) -> tuple[str, ...]:
    """The models that an endpoint offers, by name.

    Raises:
        EngineError: unreachable, unauthorised, or not the protocol that was said.
    """
    base = connection.base_url.rstrip("/")
    url, key, name = (
        (f"{base}/api/tags", "models", "name") if connection.kind == "ollama" else (f"{base}/models", "data", "id")
    )
    headers = {"Authorization": f"Bearer {connection.api_key}"} if connection.api_key else {}
    try:
        reply = httpx.get(url, headers=headers, timeout=timeout_s)
    except (httpx.HTTPError, httpx.InvalidURL) as error:
        raise EngineError(
            "unreachable", f"Nothing answers at {base}: start the model server or mend its address."
        ) from error
    if reply.status_code in (401, 403):
        raise EngineError("unauthorised", f"{base} refused the key: check it in Settings.")
    try:
        reply.raise_for_status()
        return tuple(sorted(str(entry[name]) for entry in _listed(reply.json(), key)))
    except (httpx.HTTPError, ValueError, KeyError, TypeError) as error:
        raise EngineError(
            "unreachable", f"{base} does not speak the protocol of {connection.kind}: check its address."
        ) from error


def try_out(connection: ModelConnection, *, timeout_s: float = 5) -> ConnectionTest:
    """Ask an endpoint for its models and look whether the one named is there."""
    began = time.perf_counter()
    try:
        models = models_at(connection, timeout_s=timeout_s)
    except EngineError as error:
        return ConnectionTest(ok=False, message=str(error), seconds=time.perf_counter() - began)
    seconds = time.perf_counter() - began
    if connection.model in models or f"{connection.model}:latest" in models:
        return ConnectionTest(ok=True, message=f"{connection.model} is there.", seconds=seconds, models=models)
    listed = ", ".join(models[:6]) or "none"
    message = f"There is no model {connection.model!r} there; there are: {listed}."
    return ConnectionTest(ok=False, message=message, seconds=seconds, models=models)


def local_models() -> list[ModelConnection]:
    """The models of the servers found on their usual ports of this machine, looked for all at once."""

    def look(server: tuple[Any, str, str]) -> list[ModelConnection]:
        kind, label, url = server
        try:
            models = models_at(ModelConnection(kind=kind, base_url=url, model=""), timeout_s=_LOOK_S)
        except EngineError:
            return []
        return [ModelConnection(kind=kind, base_url=url, model=model, label=label) for model in models]

    with ThreadPoolExecutor(len(LOCAL_SERVERS)) as pool:
        return [found for server in pool.map(look, LOCAL_SERVERS) for found in server]


def _listed(reply: Any, key: str) -> list[dict[str, Any]]:
    entries = reply[key]
    if not isinstance(entries, list):
        raise TypeError(key)
    return entries
