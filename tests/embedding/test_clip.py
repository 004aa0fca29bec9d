"""The real loading code, over a CLIP of random weights."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import numpy_helper
from PIL import Image

from rag_core.download import sha256_of
from rag_core.embedding import clip
from rag_core.embedding.clip import ImageEmbedder, PictureError, find_clip
from rag_core.errors import ArtefactError
from rag_core.settings import Settings
from tests.tiny_clip import WIDTH, tiny_clip


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tiny_clip(tmp_path_factory.mktemp("clip"))


@pytest.fixture(scope="module")
def embedder(folder: Path) -> ImageEmbedder:
    return ImageEmbedder(folder)


def picture(path: Path, colour: str, size: tuple[int, int] = (224, 224)) -> Path:
    Image.new("RGB", size, colour).save(path)
    return path


def test_pictures_have_unit_vectors_in_their_order(tmp_path: Path, embedder: ImageEmbedder) -> None:
    paths = [picture(tmp_path / f"{number}.png", ("red", "blue")[number % 2]) for number in range(11)]
    vectors = embedder.embed_images(paths)
    assert (vectors.shape, vectors.dtype, embedder.dimensions) == ((11, WIDTH), np.float32, WIDTH)
    assert np.linalg.norm(vectors, axis=1) == pytest.approx(1, abs=1e-5)
    assert vectors[0] == pytest.approx(vectors[10])
    assert vectors[0] @ vectors[1] < 0.9


def test_a_picture_is_scaled_as_clip_was_trained(tmp_path: Path, embedder: ImageEmbedder, folder: Path) -> None:
    (vector,) = embedder.embed_images([picture(tmp_path / "red.png", "#ff0000")])
    weights = numpy_helper.to_array(onnx.load(folder / "vision.onnx").graph.initializer[0])
    pixel = (np.array([1, 0, 0]) - [0.48145466, 0.4578275, 0.40821073]) / [0.26862954, 0.26130258, 0.27577711]
    expected = pixel @ weights
    assert vector == pytest.approx(expected / np.linalg.norm(expected), abs=1e-4)


def test_a_wide_picture_is_seen_whole(tmp_path: Path, embedder: ImageEmbedder) -> None:
    chart = Image.new("RGB", (900, 300), "blue")
    chart.paste("red", (0, 0, 300, 300))  # CLIP's own middle crop would leave this third out
    chart.save(tmp_path / "chart.png")
    seen, plain = embedder.embed_images([tmp_path / "chart.png", picture(tmp_path / "b.png", "blue", (900, 300))])
    assert seen @ plain < 0.999


def test_what_is_transparent_is_white(tmp_path: Path, embedder: ImageEmbedder) -> None:
    Image.new("RGBA", (50, 50), (0, 0, 0, 0)).save(tmp_path / "clear.png")
    clear, white = embedder.embed_images([tmp_path / "clear.png", picture(tmp_path / "white.png", "white")])
    assert clear == pytest.approx(white, abs=1e-5)


def test_texts_stand_in_the_same_space(embedder: ImageEmbedder) -> None:
    vectors = embedder.embed_texts(["a red chart", "a blue chart", "a red chart " * 60, "\ud800"])
    assert vectors.shape == (4, WIDTH)
    assert np.linalg.norm(vectors, axis=1) == pytest.approx(1, abs=1e-5)
    assert vectors[0] @ vectors[1] < 0.999


def test_nothing_gives_no_rows(embedder: ImageEmbedder) -> None:
    assert embedder.embed_images([]).shape == embedder.embed_texts([]).shape == (0, WIDTH)


def test_a_file_that_is_no_picture_is_named(tmp_path: Path, embedder: ImageEmbedder) -> None:
    (tmp_path / "notes.png").write_text("no picture")
    with pytest.raises(PictureError, match=r"notes.png is no picture"):
        embedder.embed_images([tmp_path / "notes.png"])


def test_missing_and_wrong_files_are_named(tmp_path: Path, folder: Path) -> None:
    with pytest.raises(ArtefactError, match=r"vision.onnx is missing or damaged"):
        ImageEmbedder(tmp_path)
    for name in ("text.onnx", "tokenizer.json"):
        (tmp_path / name).write_bytes((folder / name).read_bytes())
    (tmp_path / "vision.onnx").write_bytes((folder / "text.onnx").read_bytes())
    with pytest.raises(ArtefactError, match=r"vision.onnx is another model"):
        ImageEmbedder(tmp_path)


def test_other_weights_have_another_name(tmp_path: Path, folder: Path, embedder: ImageEmbedder) -> None:
    assert ImageEmbedder(folder).name == embedder.name
    tiny_clip(tmp_path)
    model = onnx.load(tmp_path / "vision.onnx")
    model.producer_name = "another"
    onnx.save(model, tmp_path / "vision.onnx")
    assert ImageEmbedder(tmp_path).name != embedder.name


@pytest.fixture
def hub(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[dict[str, str]]:
    """A server that answers as the hub does: its files by our names, and the SHA-256 that it states of each."""
    stated = {there: sha256_of(folder / name) for name, there in clip._FILES.items() if name.endswith(".onnx")}
    names = {there: name for name, there in clip._FILES.items()}

    class Handler(BaseHTTPRequestHandler):
        def do_HEAD(self) -> None:
            there = self.path.removeprefix("/")
            self.send_response(302)
            self.send_header("Location", f"/cdn/{there}")
            self.send_header("X-Linked-Etag" if there in stated else "ETag", f'"{stated.get(there, "1" * 40)}"')
            self.end_headers()

        def do_GET(self) -> None:
            body = (folder / names[self.path.removeprefix("/")]).read_bytes()
            self.send_response(200)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
    monkeypatch.setattr(clip, "HUB", f"http://127.0.0.1:{server.server_port}")
    yield stated
    server.shutdown()
    server.server_close()


def test_the_weights_are_fetched_once_and_held_against_what_the_hub_states(
    tmp_path: Path, folder: Path, hub: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    found = find_clip(Settings(cache_dir=tmp_path))
    assert {path.name: path.read_bytes() for path in found.iterdir() if path.suffix != ".lock"} == {
        path.name: path.read_bytes() for path in folder.iterdir()
    }
    monkeypatch.setattr(clip, "HUB", "http://127.0.0.1:9")
    assert find_clip(Settings(cache_dir=tmp_path)) == found


def test_weights_that_are_not_what_the_hub_states_are_refused(tmp_path: Path, hub: dict[str, str]) -> None:
    hub["onnx/text_model_quantized.onnx"] = "0" * 64
    with pytest.raises(ArtefactError, match=r"not the file that was expected.*RAGSCOPE_CLIP_WEIGHTS"):
        find_clip(Settings(cache_dir=tmp_path))
    assert not list(tmp_path.rglob("text.onnx"))


def test_a_folder_of_ones_own_is_taken_without_a_network(tmp_path: Path) -> None:
    assert find_clip(Settings(clip_weights=tmp_path)) == tmp_path
