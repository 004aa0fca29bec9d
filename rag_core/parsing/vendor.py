"""PyMuPDF, set up before it is imported. Only worker processes import this module.

`import pymupdf` loads ONNX models for page layout at once, so what they run under is settled here first.
"""

from __future__ import annotations

import os
from typing import Any

os.environ.update(DO_NOT_TRACK="1", OMP_THREAD_LIMIT="1")

import onnxruntime


class _OneThreadSession(onnxruntime.InferenceSession):
    """A session that keeps to one core and does not spin.

    With the default threads a page takes 1.7 times as long, and two workers disturb each other. It must be a class:
    PyMuPDF uses the name in annotations.
    """

    def __init__(self, model: Any, sess_options: onnxruntime.SessionOptions | None = None, **rest: Any) -> None:
        options = sess_options or onnxruntime.SessionOptions()
        options.intra_op_num_threads = 1
        options.inter_op_num_threads = 1
        options.add_session_config_entry("session.intra_op.allow_spinning", "0")
        super().__init__(model, sess_options=options, **rest)


onnxruntime.InferenceSession = _OneThreadSession

import pymupdf  # noqa: E402 (after the session class is in place)
from pymupdf import mupdf  # noqa: E402
from pymupdf.mupdf import FzErrorBase as MupdfError  # noqa: E402

pymupdf.TOOLS.mupdf_display_errors(False)
pymupdf.TOOLS.mupdf_display_warnings(False)

__all__ = ["MupdfError", "mupdf", "pymupdf"]
