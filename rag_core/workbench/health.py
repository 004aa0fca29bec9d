"""How every part is, and what to do where one is not well."""

from __future__ import annotations

import shutil
import time
from pathlib import Path

from pydantic import Field

from rag_core.embedding.minilm import TextEmbedder
from rag_core.errors import RagError
from rag_core.llm import connections
from rag_core.llm.connections import ModelConnection
from rag_core.pipeline.telemetry import Telemetry
from rag_core.stores.weaviate.chunks import ChunkStore
from rag_core.types import Value

_ROOM_BYTES = 2e9


class PartHealth(Value):
    """How one part is, and what to do where it is not well."""

    part: str
    ok: bool
    summary: str
    advice: str = ""
    details: dict[str, str] = Field(default_factory=dict)


def store_health(store: ChunkStore) -> PartHealth:
    try:
        health = store.health()
    except RagError as error:
        return PartHealth(part="Weaviate", ok=False, summary="It does not answer.", advice=str(error))
    details = {"address": health.address, "version": health.version, "objects": f"{health.objects:,}"}
    if health.resident_mb is not None:
        details["memory"] = f"{health.resident_mb:,.0f} MB"
    if health.log is not None:
        details["log"] = health.log
    return PartHealth(part="Weaviate", ok=health.ready, summary=f"Version {health.version}, ready.", details=details)


def embedder_health(embedder: TextEmbedder) -> PartHealth:
    began = time.perf_counter()
    embedder.embed([f"How long does a query take? {began}"])
    milliseconds = (time.perf_counter() - began) * 1e3
    return PartHealth(part="Embedder", ok=True, summary=f"{embedder.name}, {milliseconds:.0f} ms a query.")


def model_health(connection: ModelConnection | None) -> PartHealth:
    if connection is None:
        return PartHealth(part="Model", ok=True, summary="None: answers are read and quoted.")
    tried = connections.try_out(connection)
    advice = "" if tried.ok else "Questions are answered without it until it is back."
    return PartHealth(part="Model", ok=tried.ok, summary=tried.message, advice=advice)


def disk_health(folder: Path) -> PartHealth:
    free = shutil.disk_usage(folder).free
    advice = "" if free > _ROOM_BYTES else "Make room, or move the data with RAGSCOPE_DATA_DIR."
    summary = f"{free / 1e9:,.1f} GB free."
    return PartHealth(part="Disk", ok=not advice, summary=summary, advice=advice, details={"data": str(folder)})


def ocr_health() -> PartHealth:
    if shutil.which("tesseract"):
        return PartHealth(part="OCR", ok=True, summary="Tesseract is there: scans are read.")
    advice = "Install Tesseract (apt install tesseract-ocr, brew install tesseract) to have scans read."
    return PartHealth(part="OCR", ok=False, summary="Tesseract is not installed.", advice=advice)


def telemetry_health(telemetry: Telemetry) -> PartHealth:
    what = "with their texts" if telemetry.texts else "without texts"
    summary = f"Runs are sent to {telemetry.endpoint}, {what}."
    details = {"sent": f"{telemetry.sent:,}", "lost": f"{telemetry.lost:,}"}
    trouble = telemetry.trouble
    return PartHealth(part="Telemetry", ok=not trouble, summary=summary, advice=trouble, details=details)
