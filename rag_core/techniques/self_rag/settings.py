"""What a segment must be worth, and who judges it."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from rag_core.techniques.base import TechniqueSettings
from rag_core.types import Support

AT_ONCE = 4
"""Calls of a model, at most."""


class SelfRagSettings(TechniqueSettings):
    """What a segment must be worth, and who judges it."""

    critic: Literal["auto", "model", "native", "trained"] = Field(
        default="auto",
        description="Who judges: the model in use; native, a model that was trained to write reflection tokens; or the "
        "small critic that comes with the app. auto: the model where there is one, else the small critic.",
    )
    isrel_threshold: float = Field(
        default=0.7, ge=0, le=1, description="Chunks that are less likely relevant are left out."
    )
    issup_min: Support = Field(
        default="partially_supported", description="Segments that their chunk holds less are rejected."
    )
    w_rel: float = Field(default=1.0, ge=0, le=5, description="What relevance counts for in a segment's score.")
    w_sup: float = Field(default=1.0, ge=0, le=5, description="What support counts for in it.")
    w_use: float = Field(default=0.5, ge=0, le=5, description="What usefulness counts for in it.")
    beam_width: int = Field(default=2, ge=1, le=5, description="Answers that are kept growing side by side.")
    max_segments: int = Field(default=3, ge=1, le=7, description="Segments of an answer, one or two sentences each.")
    passages: int = Field(default=5, ge=1, le=15, description="Chunks that are judged and written from, the best.")
