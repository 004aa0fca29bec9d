from __future__ import annotations

import base64
from pathlib import Path

import pymupdf
import pytest

from rag_core.llm.connections import ModelConnection
from rag_core.llm.engine import KeylessEngine
from rag_core.llm.model import ModelEngine
from rag_core.llm.reading.reading import Reading
from rag_core.techniques.describe import MOST_FAILURES, Describe, DescribeSettings
from rag_core.types import Chunk
from tests.fakes import Watch, WordVectors, a_chunk
from tests.model_server import Turn, model_server, says

READING = Reading(WordVectors())


@pytest.fixture
def crops(tmp_path: Path) -> Path:
    pixels = pymupdf.Pixmap(pymupdf.csRGB, (0, 0, 40, 20), False)
    pixels.clear_with(200)
    pixels.save(tmp_path / "crop.png")
    return tmp_path


def a_figure(number: int = 3) -> Chunk:
    return a_chunk(
        "2019 2020",
        id_=f"figure-{number}",
        kind="figure",
        caption=f"Figure {number}: Recall",
        image="crop.png",
        nearby="It falls.",
    )


def test_the_model_is_shown_the_crop_and_its_description_is_searched(crops: Path) -> None:
    with model_server() as server:
        server.script = [says('{"description": "A line chart that falls from 9 to 4."}')]
        connection = ModelConnection(kind="openai", base_url=server.base_url, model="scripted")
        describe = Describe(DescribeSettings(), ModelEngine(connection), READING)
        text, figure = describe.describe([a_chunk("Some text."), a_figure()], crops, Watch())
        (asked,) = server.asked
    parts = asked["messages"][-1]["content"]
    (shown,) = [part["image_url"]["url"] for part in parts if part["type"] == "image_url"]
    assert base64.b64decode(shown.partition("base64,")[2]) == (crops / "crop.png").read_bytes()
    assert "<passage>\nFigure 3: Recall\n</passage>" in parts[0]["text"]
    assert figure.nearby == "It falls.\nA line chart that falls from 9 to 4."
    assert "A line chart" in figure.searchable_text
    assert (figure.text, text) == ("2019 2020", a_chunk("Some text."))


def test_a_repair_shows_the_crop_again(crops: Path) -> None:
    with model_server() as server:
        server.script = [says("a chart"), says('{"description": "A chart."}')]
        connection = ModelConnection(kind="openai", base_url=server.base_url, model="scripted")
        Describe(DescribeSettings(), ModelEngine(connection), READING).describe([a_figure()], crops, Watch())
        again = server.asked[1]["messages"][1]["content"]
    assert [part["type"] for part in again] == ["text", "image_url"]


def test_a_model_that_cannot_see_leaves_the_figure_as_it_is(crops: Path) -> None:
    with model_server() as server:
        server.then = Turn(status=400)
        connection = ModelConnection(kind="openai", base_url=server.base_url, model="scripted")
        watch = Watch()
        found = Describe(DescribeSettings(), ModelEngine(connection, pause_s=0.01), READING).describe(
            [a_figure()], crops, watch
        )
    assert found == [a_figure()]
    assert "Answered without it" in watch.calls[0].note


def test_without_a_model_its_texts_stand_for_a_description(crops: Path) -> None:
    watch = Watch()
    assert Describe(DescribeSettings(), KeylessEngine(), READING).describe([a_figure()], crops, watch) == [a_figure()]
    assert "Figure 3: Recall" in watch.calls[0].reply


def test_only_the_first_figures_are_described_and_counted(crops: Path) -> None:
    chunks = [a_chunk("Some text."), *(a_figure(number) for number in range(5))]
    watch = Watch()
    describe = Describe(DescribeSettings(most=2, words=75), KeylessEngine(), READING)
    describe.describe(chunks, crops, watch)
    expected = describe.estimate(chunks, crops)
    assert (len(watch.calls), expected.figures, expected.output_tokens) == (2, 2, 200)
    assert expected.input_tokens > 2_000


def test_what_was_described_is_not_asked_for_again(crops: Path) -> None:
    with model_server() as server:
        server.script = [says('{"description": "A line chart."}')]
        connection = ModelConnection(kind="openai", base_url=server.base_url, model="scripted")
        describe = Describe(DescribeSettings(), ModelEngine(connection), READING)
        first = describe.describe([a_figure()], crops, Watch())
        again = describe.describe([a_figure()], crops, Watch())
        assert len(server.asked) == 1
    assert again == first
    assert describe.estimate([a_figure()], crops).figures == 0


def test_a_model_that_fails_again_and_again_is_left_alone(crops: Path) -> None:
    watch = Watch()
    figures = [a_figure(number) for number in range(9)]
    assert Describe(DescribeSettings(), KeylessEngine(), READING).describe(figures, crops, watch) == figures
    assert len(watch.calls) == MOST_FAILURES
