"""How trees of summaries are made, and how they are searched."""

from __future__ import annotations

from typing import Literal

from pydantic import BaseModel, ConfigDict, Field

from rag_core.techniques.base import TechniqueSettings


class TreeSettings(BaseModel):
    """How a tree is made, while indexing."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    max_levels: int = Field(
        default=3, ge=1, le=8, description="Levels of summaries over the chunks of a document, and over documents."
    )
    threshold: float = Field(
        default=0.1, gt=0, lt=1, description="The probability from which a node belongs to a cluster."
    )
    largest: int = Field(default=12, ge=4, le=50, description="Nodes that one summary is made of, at most.")
    words: int = Field(default=90, ge=20, le=400, description="Words a summary, about.")


class RaptorSettings(TechniqueSettings):
    """How the tree is searched."""

    mode: Literal["collapsed", "traversal"] = Field(
        default="collapsed",
        description="'collapsed' compares the nodes of all levels at once, 'traversal' goes down from the top.",
    )
    token_budget: int = Field(
        default=2_000, ge=200, le=16_000, description="Tokens of the nodes that a question takes from the tree."
    )
    weight: float = Field(
        default=0.5, ge=0, le=2, description="How much the chunks under summaries count beside those of the search."
    )
    found_weight: float = Field(
        default=0.5,
        ge=0,
        le=1,
        description="How much the hits of the search under a summary count for it; 0 goes by its own vector alone.",
    )
    most_of_a_level: int = Field(default=4, ge=1, le=20, description="Nodes that a question takes from one level.")
