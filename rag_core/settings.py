"""What the environment gives: keys, addresses, paths, limits.

Settings of techniques stand beside the techniques; `pipeline/plan.py` gathers those.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal, NamedTuple

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from rag_core.errors import SettingsError
from rag_core.types import Support

ROOT = Path(__file__).resolve().parents[1]
Precision = Literal["int8", "float32"]
OcrEngine = Literal["tesseract", "rapidocr"]
WebProvider = Literal["auto", "searxng", "tavily", "brave", "ddgs"]


def _user_cache() -> Path:
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "ragscope"


def _cores() -> int:
    """The cores there are, up to eight: beyond that their readers take more memory than time is won."""
    return min(os.cpu_count() or 1, 8)


class Toggle(NamedTuple):
    """What the environment says of a technique: whether it is on (None: nothing), and settings of it."""

    on: bool | None
    settings: dict[str, Any]


class Settings(BaseModel):
    """The process's settings, by the environment variable that each one has as alias."""

    model_config = ConfigDict(frozen=True, extra="ignore", populate_by_name=True)

    data_dir: Path = Field(
        default=ROOT / "data" / "var", alias="RAGSCOPE_DATA_DIR", description="Where everything of yours is kept."
    )
    cache_dir: Path = Field(
        default_factory=_user_cache,
        alias="RAGSCOPE_CACHE_DIR",
        description="Where the server binary and the weights are kept, shared by all checkouts.",
    )
    weaviate_url: str | None = Field(
        default=None, alias="WEAVIATE_URL", description="A Weaviate of yours; unset, one is started here."
    )
    weaviate_api_key: str | None = Field(default=None, alias="WEAVIATE_API_KEY", description="Its key.")
    weaviate_grpc_port: int = Field(
        default=50051, ge=1, le=65535, alias="RAGSCOPE_WEAVIATE_GRPC_PORT", description="Its gRPC port."
    )
    openai_api_key: str | None = Field(
        default=None, alias="OPENAI_API_KEY", description="Key of an OpenAI-compatible endpoint."
    )
    openai_base_url: str | None = Field(
        default=None, alias="OPENAI_BASE_URL", description="Address of an OpenAI-compatible endpoint."
    )
    openai_model: str | None = Field(default=None, alias="OPENAI_MODEL", description="The model to ask there.")
    ollama_host: str | None = Field(default=None, alias="OLLAMA_HOST", description="Address of an Ollama server.")
    ollama_model: str | None = Field(
        default=None, alias="RAGSCOPE_OLLAMA_MODEL", description="The model to ask at Ollama."
    )
    model_timeout_s: float = Field(
        default=60, gt=0, le=3600, alias="RAGSCOPE_MODEL_TIMEOUT_S", description="Seconds a model may be silent."
    )
    precision: Precision = Field(
        default="int8",
        alias="RAGSCOPE_EMBED_PRECISION",
        description="int8 is 2.4 times as fast; float32 gives the published vectors.",
    )
    weights: Path | None = Field(
        default=None, alias="RAGSCOPE_WEIGHTS", description="A folder with model.safetensors and tokenizer.json."
    )
    ocr_engine: OcrEngine = Field(
        default="tesseract",
        alias="RAGSCOPE_OCR_ENGINE",
        description="What reads scans: tesseract, or rapidocr where that is installed.",
    )
    ocr_languages: str = Field(
        default="eng",
        pattern=r"^[A-Za-z_]+(\+[A-Za-z_]+)*$",
        alias="RAGSCOPE_OCR_LANGUAGES",
        description="What scans are written in, by Tesseract's names: eng+deu.",
    )
    clip: bool = Field(
        default=False, alias="RAGSCOPE_CLIP", description="Find figures by what they show: fetches CLIP, 155 MB, once."
    )
    clip_weights: Path | None = Field(
        default=None, alias="RAGSCOPE_CLIP_WEIGHTS", description="A folder with vision.onnx, text.onnx, tokenizer.json."
    )
    cross_encoder: bool = Field(
        default=False,
        alias="RAGSCOPE_CROSS_ENCODER",
        description="Have `rerank` judge by a cross-encoder: fetches ms-marco-MiniLM, 23 MB, once.",
    )
    cross_encoder_weights: Path | None = Field(
        default=None,
        alias="RAGSCOPE_CROSS_ENCODER_WEIGHTS",
        description="A folder with model.onnx and tokenizer.json.",
    )
    describe_figures: bool = Field(
        default=False,
        alias="RAGSCOPE_DESCRIBE_FIGURES",
        description="Have every figure described by MULTIMODAL_VISION_MODEL: one call each, once.",
    )
    vision_model: str | None = Field(
        default=None, alias="MULTIMODAL_VISION_MODEL", description="A model that sees, at the endpoint of the others."
    )
    max_file_mb: int = Field(
        default=500, ge=1, le=10_000, alias="RAGSCOPE_MAX_FILE_MB", description="Larger files are refused."
    )
    max_pages: int = Field(
        default=5_000, ge=1, le=100_000, alias="RAGSCOPE_MAX_PAGES", description="Longer files are refused."
    )
    page_seconds: float = Field(
        default=30,
        gt=0,
        le=600,
        alias="RAGSCOPE_PAGE_SECONDS",
        description="A page that takes longer is given up; where others hold the processor it has thrice as long.",
    )
    document_seconds: float = Field(
        default=14_400,
        gt=0,
        le=1_000_000,
        alias="RAGSCOPE_DOCUMENT_SECONDS",
        description="A document whose pages together take longer is read only so far.",
    )
    parse_workers: int = Field(
        default_factory=_cores,
        ge=1,
        le=64,
        alias="RAGSCOPE_PARSE_WORKERS",
        description="How many pages are read at once; a reader takes about half a gigabyte.",
    )
    max_question_chars: int = Field(
        default=4_000, ge=100, le=100_000, alias="RAGSCOPE_MAX_QUESTION_CHARS", description="Longer ones are refused."
    )
    run_seconds: float = Field(
        default=300, gt=0, le=7200, alias="RAGSCOPE_RUN_SECONDS", description="A run ends with its best by then."
    )
    otlp_endpoint: str | None = Field(
        default=None,
        pattern=r"^https?://\S+$",
        alias="OTEL_EXPORTER_OTLP_ENDPOINT",
        description="Where finished runs are sent as OpenTelemetry traces (docs/telemetry.md).",
    )
    otlp_texts: bool = Field(
        default=False,
        alias="RAGSCOPE_OTLP_TEXTS",
        description="Send questions, prompts, passages and answers too, not only counts, times, scores and ids.",
    )
    enable_hyde: bool | None = Field(
        default=None, alias="ENABLE_HYDE", description="Whether hypothetical answers are on in the presets."
    )
    hyde_num_hypotheticals: int | None = Field(
        default=None, ge=1, le=8, alias="HYDE_NUM_HYPOTHETICALS", description="How many of them, by default."
    )
    hyde_temperature: float | None = Field(
        default=None, ge=0, le=1.2, alias="HYDE_TEMPERATURE", description="The temperature of the first, by default."
    )
    enable_raptor: bool | None = Field(
        default=None,
        alias="ENABLE_RAPTOR",
        description="Whether the tree of summaries is on in the presets; `ingest` then builds it, too.",
    )
    raptor_max_levels: int = Field(
        default=3, ge=1, le=8, alias="RAPTOR_MAX_LEVELS", description="Levels of summaries that a tree has at most."
    )
    raptor_tree_path: Path | None = Field(
        default=None, alias="RAPTOR_TREE_PATH", description="A file that a tree is also written to, as JSON."
    )
    enable_self_rag: bool | None = Field(
        default=None, alias="ENABLE_SELF_RAG", description="Whether Self-RAG is on in the presets."
    )
    self_rag_isrel_threshold: float | None = Field(
        default=None, ge=0, le=1, alias="SELF_RAG_ISREL_THRESHOLD", description="A chunk is relevant from here on."
    )
    self_rag_issup_min: Support | None = Field(
        default=None, alias="SELF_RAG_ISSUP_MIN", description="Segments with less support are rejected."
    )
    enable_multimodal: bool | None = Field(
        default=None, alias="ENABLE_MULTIMODAL", description="Whether tables and figures are on in the presets."
    )
    enable_graphrag: bool | None = Field(
        default=None, alias="ENABLE_GRAPHRAG", description="Whether retrieval over the graph is on in the presets."
    )
    enable_crag: bool | None = Field(
        default=None, alias="ENABLE_CRAG", description="Whether corrective retrieval is on in the presets."
    )
    crag_confidence_threshold: float | None = Field(
        default=None,
        ge=0,
        le=1,
        alias="CRAG_CONFIDENCE_THRESHOLD",
        description="A chunk counts as relevant above this score, by default.",
    )
    crag_refinement_enabled: bool | None = Field(
        default=None, alias="CRAG_REFINEMENT_ENABLED", description="Whether chunks are cut down to strips, by default."
    )
    crag_web_fallback_enabled: bool | None = Field(
        default=None,
        alias="CRAG_WEB_FALLBACK_ENABLED",
        description="Whether the web is asked where documents do not help: words of the question leave the house.",
    )
    web_provider: WebProvider = Field(
        default="auto",
        alias="RAGSCOPE_WEB_PROVIDER",
        description="What searches the web; auto takes the first of searxng, tavily, brave, ddgs that is set up.",
    )
    searxng_url: str | None = Field(
        default=None,
        pattern=r"^https?://\S+$",
        alias="RAGSCOPE_SEARXNG_URL",
        description="Address of a SearXNG that has the format json switched on.",
    )
    tavily_api_key: str | None = Field(default=None, alias="TAVILY_API_KEY", description="Key of Tavily's search.")
    brave_api_key: str | None = Field(default=None, alias="BRAVE_API_KEY", description="Key of Brave's search.")
    web_timeout_s: float = Field(
        default=8,
        gt=0,
        le=120,
        alias="RAGSCOPE_WEB_TIMEOUT_S",
        description="Seconds that a search, or a page, may take.",
    )
    web_fetch_pages: bool = Field(
        default=False,
        alias="RAGSCOPE_WEB_FETCH_PAGES",
        description="Read the pages that a web search finds, not only what the search says of them.",
    )

    graph_uri: str | None = Field(
        default=None,
        pattern=r"^(bolt|neo4j)(\+s|\+ssc)?://\S+$",
        alias="GRAPHRAG_NEO4J_URI",
        description="A Neo4j for the graphs, as bolt:// or neo4j://; unset, they are kept in files (docs/graph.md).",
    )
    neo4j_username: str = Field(default="neo4j", alias="NEO4J_USERNAME", description="Who signs in there.")
    neo4j_password: str | None = Field(default=None, alias="NEO4J_PASSWORD", description="With which password.")

    def toggles(self) -> dict[str, Toggle]:
        """The defaults that the environment gives to techniques, by name; those that it leaves alone are absent."""
        given: dict[str, tuple[bool | None, dict[str, Any]]] = {
            "hyde": (
                self.enable_hyde,
                {"num_hypotheticals": self.hyde_num_hypotheticals, "temperature": self.hyde_temperature},
            ),
            "raptor": (self.enable_raptor, {}),
            "self_rag": (
                self.enable_self_rag,
                {"isrel_threshold": self.self_rag_isrel_threshold, "issup_min": self.self_rag_issup_min},
            ),
            "multimodal": (self.enable_multimodal, {}),
            "crag": (
                self.enable_crag,
                {
                    "relevance_threshold": self.crag_confidence_threshold,
                    "refine": self.crag_refinement_enabled,
                    "web": self.crag_web_fallback_enabled,
                },
            ),
            "graph": (self.enable_graphrag, {}),
        }
        all_ = {
            name: Toggle(on, {key: value for key, value in settings.items() if value is not None})
            for name, (on, settings) in given.items()
        }
        return {name: toggle for name, toggle in all_.items() if toggle != (None, {})}

    @classmethod
    def from_env(cls, environ: Mapping[str, str] | None = None) -> Settings:
        """Read the environment; an empty variable counts as unset.

        Raises:
            SettingsError: A value is not allowed; the message has the name, the value and what is.
        """
        given = {name: text for name, text in (os.environ if environ is None else environ).items() if text.strip()}
        known = {field.alias: given[field.alias] for field in cls.model_fields.values() if field.alias in given}
        try:
            settings = cls.model_validate(known)
        except ValidationError as error:
            first = error.errors()[0]
            name = str(first["loc"][0])
            allowed = first["msg"].removeprefix("Input should be ").removeprefix("a valid ")
            raise SettingsError(name, known.get(name, ""), allowed) from error
        return settings.model_copy(update={"data_dir": settings.data_dir.expanduser().resolve()})
