"""ONNX Runtime, and the files from the hub that models which are an option run from."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from tokenizers import Tokenizer

from rag_core.download import download, sha256_at_hub
from rag_core.errors import ArtefactError

if TYPE_CHECKING:
    import onnxruntime


def fetch(folder: Path, hub: str, files: Mapping[str, str], switch: str, say: Callable[[str], None]) -> Path:
    """Fetch a model's files where they are not; gives the folder.

    Args:
        files: Our name of each file, and its name at the hub.
        switch: The environment's name of what switches the model on.

    Raises:
        ArtefactError: They are not to be had; the text says the way out.
    """
    for name, there in files.items():
        if (folder / name).exists():
            continue
        try:
            download(f"{hub}/{there}", folder / name, sha256=sha256_at_hub(f"{hub}/{there}"), say=say)
        except ArtefactError as error:
            listed = ", ".join(f"{there} as {name}" for name, there in files.items())
            raise ArtefactError(
                f"{error} Or fetch from {hub} elsewhere: {listed}; and set {switch}_WEIGHTS to their folder; "
                f"without {switch} all else works."
            ) from error
    return folder


def tokenizer(path: Path, most_tokens: int) -> Tokenizer:
    """Load what cuts texts into tokens, no more than so many.

    Raises:
        ArtefactError: The file is missing or damaged.
    """
    try:
        loaded = Tokenizer.from_file(str(path))
    except Exception as error:  # the library raises nothing narrower
        raise ArtefactError(f"{path} is missing or damaged: remove it, it is fetched anew.") from error
    loaded.no_padding()
    loaded.enable_truncation(most_tokens)
    return loaded


def session(path: Path, threads: int) -> onnxruntime.InferenceSession:
    """Load a model.

    Raises:
        ArtefactError: The file is missing or damaged.
    """
    # Half a second of imports, only where such a model is on.
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    options.inter_op_num_threads = 1
    options.add_session_config_entry("session.intra_op.allow_spinning", "0")
    try:
        return onnxruntime.InferenceSession(path, sess_options=options, providers=["CPUExecutionProvider"])
    except Exception as error:  # of many kinds, none of which ONNX Runtime exports
        raise ArtefactError(f"{path} is missing or damaged: remove it, it is fetched anew.") from error


def run(model: onnxruntime.InferenceSession, given: dict[str, np.ndarray]) -> np.ndarray:
    """The model's first output."""
    return np.asarray(model.run([model.get_outputs()[0].name], given)[0])
