"""Answers from anywhere, checked against their passages."""

from __future__ import annotations

import argparse
from pathlib import Path

from rag_core.cli.lines import append, going_on, read_lines
from rag_core.cli.said import DONE, progress
from rag_core.settings import Settings
from rag_core.workbench.verifying import GivenAnswer, Verifier


def verify(parsed: argparse.Namespace) -> int:
    given, out = Path(parsed.answers), Path(parsed.out)
    answers = read_lines(given, GivenAnswer, "id, answer and contexts, a list of texts")
    with going_on(out, given, [answer.id for answer in answers], "answers") as (file, done):
        left = answers[done:]
        verifier = Verifier.open(Settings.from_env(), progress, by_model=parsed.engine == "model")
        for verdict in verifier.check(left):
            append(file, verdict.model_dump(mode="json"))
    progress(f"{len(answers)} answers verified, {len(left)} of them now.")
    return DONE
