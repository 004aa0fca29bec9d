"""Describe figures: have a model that sees say what each figure shows, so that a question finds it by that.

It is done while indexing, is off by default, and costs one call of about a thousand tokens a figure: `estimate` says
how many. What a model said is kept beside the crop, so that nothing is paid twice. Without such a model a figure's
caption, the text in it and what is said of it nearby take the place.

Source: Chen et al. 2024, "MMLongBench-Doc", https://arxiv.org/abs/2407.01523 (figures are where text alone fails most)
"""

from __future__ import annotations

import hashlib
import logging
import os
from collections.abc import Sequence
from pathlib import Path

from pydantic import BaseModel, Field

from rag_core.llm.engine import Engine, Watch
from rag_core.llm.quoting import quoted
from rag_core.llm.reading.reading import Reading
from rag_core.llm.signature import Signature
from rag_core.techniques.base import TechniqueSettings
from rag_core.types import Chunk, Value

PICTURE_TOKENS = 1_105
"""A crop of six tiles, as OpenAI counts them; other endpoints count less."""
PROMPT_TOKENS = 400
WORDS_A_TOKEN = 0.75
MOST_FAILURES = 3
"""Figures in a row that the model fails on before it is asked for none of the others."""

log = logging.getLogger(__name__)


class DescribeSettings(TechniqueSettings):
    """How figures are described."""

    words: int = Field(default=120, ge=20, le=400, description="Words a description, about.")
    most: int = Field(default=200, ge=1, le=10_000, description="Figures described a document, the first ones.")


class FigureInput(BaseModel):
    picture: Path
    texts: list[str] = Field(description="Caption, text in the picture, text nearby: what there is of them.")
    quoted_texts: str
    words: int


class FigureOutput(BaseModel):
    description: str = Field(min_length=1, description="What the figure shows, in plain text.")


class Estimate(Value):
    """What describing figures takes."""

    figures: int = 0
    input_tokens: int = 0
    output_tokens: int = 0

    def __add__(self, other: Estimate) -> Estimate:
        return Estimate(
            figures=self.figures + other.figures,
            input_tokens=self.input_tokens + other.input_tokens,
            output_tokens=self.output_tokens + other.output_tokens,
        )


def described_by_its_texts(inputs: FigureInput, _: Reading) -> FigureOutput:
    """Caption, text in the picture and text nearby stand for a description."""
    return FigureOutput(description="\n".join(inputs.texts) or "A figure without text.")


DESCRIBE = Signature(
    name="describe.figure",
    inputs=FigureInput,
    outputs=FigureOutput,
    prompt="""\
Describe the figure in about {words} words, for a reader who searches for it. Say what kind it is, what its axes or
parts are, the values and names that can be read in it, and what it shows. Say nothing that cannot be seen in it.

{quoted_texts}
""",
    keyless=described_by_its_texts,
    pictures=lambda inputs: [inputs.picture],
)


class Describe:
    """Describes the figures of a document."""

    def __init__(self, settings: DescribeSettings, engine: Engine, reading: Reading) -> None:
        self._settings = settings
        self._engine = engine
        self._reading = reading

    def estimate(self, chunks: Sequence[Chunk], crops: Path) -> Estimate:
        """What is still to be paid for a document; to be shown before it begins."""
        figures = sum(not self._kept(chunk, crops).exists() for chunk in self._figures(chunks))
        return Estimate(
            figures=figures,
            input_tokens=figures * (PICTURE_TOKENS + PROMPT_TOKENS),
            output_tokens=round(figures * self._settings.words / WORDS_A_TOKEN),
        )

    def describe(self, chunks: Sequence[Chunk], crops: Path, watch: Watch) -> list[Chunk]:
        """Give the chunks, those of figures with their description among what is searched.

        Args:
            crops: The folder of the document's crops; the descriptions are kept there.

        Raises:
            Stopped: The work was stopped meanwhile; what was described until then is kept.
        """
        chosen = {chunk.id for chunk in self._figures(chunks)}
        made, failures = [], 0
        for chunk in chunks:
            description = None
            if chunk.id in chosen and (description := self._read(chunk, crops)) is None and failures < MOST_FAILURES:
                description = self._asked(chunk, crops, watch)
                failures = 0 if description else failures + 1
            made.append(_saying(chunk, description) if description else chunk)
        return made

    def _read(self, chunk: Chunk, crops: Path) -> str | None:
        """What was said of a figure before."""
        try:
            return self._kept(chunk, crops).read_text(encoding="utf-8")
        except FileNotFoundError:
            return None

    def _asked(self, chunk: Chunk, crops: Path, watch: Watch) -> str | None:
        """What the model says of a figure; None where it says nothing, and the figure's own texts are searched."""
        texts = [text for text in (chunk.caption, chunk.text, chunk.nearby) if text]
        asked = FigureInput(
            picture=crops / str(chunk.image),
            texts=texts,
            quoted_texts="\n".join(map(quoted, texts)),
            words=self._settings.words,
        )
        made = self._engine.complete(DESCRIBE, asked, self._reading, watch)
        if made == described_by_its_texts(asked, self._reading):
            return None
        self._keep(made.description, self._kept(chunk, crops))
        return made.description

    def _keep(self, description: str, path: Path) -> None:
        part = path.with_suffix(f".{os.getpid()}.part")
        try:
            part.write_text(description, encoding="utf-8")
            part.replace(path)
        except OSError as error:
            log.warning("a description is not kept in %s: %s", path, error)

    def _kept(self, chunk: Chunk, crops: Path) -> Path:
        """Where the description of a crop is kept; crops are named by their content."""
        asked = f"{self._engine.name}\n{self._settings.words}\n{DESCRIBE.prompt}"
        return crops / f"{Path(str(chunk.image)).stem}.{hashlib.sha256(asked.encode()).hexdigest()[:12]}.txt"

    def _figures(self, chunks: Sequence[Chunk]) -> list[Chunk]:
        return [chunk for chunk in chunks if chunk.kind == "figure" and chunk.image][: self._settings.most]


def _saying(chunk: Chunk, description: str) -> Chunk:
    return chunk.model_copy(update={"nearby": f"{chunk.nearby}\n{description}".strip()})
