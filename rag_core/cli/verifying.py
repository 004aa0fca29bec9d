"""Answers from anywhere, checked against their passages."""

from __future__ import annotations

import argparse
from pathlib import Path

from rag_core.cli.lines import append, appended, done_already, read_lines
from rag_core.cli.said import DONE, WRONG_USE, progress, say
from rag_core.settings import Settings
from rag_core.workbench.verifying import GivenAnswer, Verifier


def verify(parsed: argparse.Namespace) -> int:
    given, out = Path(parsed.answers), Path(parsed.out)
    if given.resolve() == out.resolve():
        return say("--out must be another file than the answers.", WRONG_USE)
    answers = read_lines(given, GivenAnswer, "id, answer and contexts, a list of texts")
    left = answers[done_already(out, [answer.id for answer in answers], "answers") :]
    verifier = Verifier.open(Settings.from_env(), progress, by_model=parsed.engine == "model")
    with appended(out) as file:
        for verdict in verifier.check(left):
            append(file, verdict.model_dump(mode="json"))
    progress(f"{len(answers)} answers verified, {len(left)} of them now.")
    return DONE
