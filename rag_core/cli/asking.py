"""Questions: one, a file of them, or one without each technique in turn."""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

from pydantic import BaseModel

from rag_core.cli.lines import append, going_on, read_lines
from rag_core.cli.said import DONE, FAILED, WRONG_USE, opened, progress, say
from rag_core.errors import PlanError, RagError, UnknownCollection
from rag_core.evaluation.ledger import Ledger, summary
from rag_core.pipeline.plan import Plan, plan_from, with_assignments
from rag_core.pipeline.run import Run
from rag_core.settings import Settings
from rag_core.techniques import TECHNIQUES
from rag_core.workbench import Workbench
from rag_core.workbench.plans import Plans

_ISREL = {True: "relevant", False: "irrelevant", None: None}


class Question(BaseModel):
    """A line of a questions file. Fields beside these are left alone."""

    id: str | int
    question: str
    document: str | None = None
    documents: list[str] | None = None

    @property
    def names(self) -> list[str]:
        return [*([self.document] if self.document else []), *(self.documents or [])]


def ask(parsed: argparse.Namespace) -> int:
    plan = _plan(parsed)
    if parsed.questions:
        if not parsed.out:
            return say("--questions needs --out, the file for the answers.", WRONG_USE)
        if parsed.question is not None:
            return say("Give a question or --questions, not both.", WRONG_USE)
        return _ask_many(parsed, plan)
    if not (parsed.question or "").strip():
        return say("Give a question, or --questions with a file of them.", WRONG_USE)
    if parsed.out:
        return say(
            "--out goes with --questions: one answer is printed, with --json as a line of such a file.", WRONG_USE
        )
    with opened() as workbench:
        run = _asked(workbench, parsed, plan, parsed.question, parsed.document)
    print(json.dumps(record_as_json(run, None, parsed.contexts)) if parsed.json else _answer_lines(run))
    return FAILED if run.status == "failed" else DONE


def _ask_many(parsed: argparse.Namespace, plan: Plan) -> int:
    given = Path(parsed.questions)
    questions = read_lines(given, Question, "id and question")
    ids = [question.id for question in questions]
    failed = 0
    with going_on(Path(parsed.out), given, ids, "questions") as (file, done), opened() as workbench:
        for question in questions[done:]:
            try:
                run = _asked(workbench, parsed, plan, question.question, [*parsed.document, *question.names])
                line = record_as_json(run, question.id, parsed.contexts)
            except (UnknownCollection, PlanError):  # no line of the file can be asked so
                raise
            except RagError as error:
                line = record_as_json(_unasked(parsed, plan, question.question, error), question.id)
            if line["status"] == "failed":
                failed += 1
                say(f"{question.id}: {line['error']}", FAILED)
            append(file, line)
            progress(f"{question.id}: {len(line.get('sentences', []))} sentences")
    return FAILED if failed else DONE


def _unasked(parsed: argparse.Namespace, plan: Plan, question: str, error: RagError) -> Run:
    """What stands in the file for a question that could not be asked."""
    return Run(
        id="",
        chat="",
        question=question,
        plan=plan.as_json(),
        engine=parsed.engine or "",
        collection=parsed.collection or "",
        created_at="",
        status="failed",
        error=str(error),
    )


def _asked(workbench: Workbench, parsed: argparse.Namespace, plan: Plan, question: str, names: list[str]) -> Run:
    return workbench.ask(
        question,
        plan=plan,
        collection=parsed.collection,
        documents=names,
        engine=parsed.engine,
        contexts=parsed.contexts,
        picture=Path(parsed.picture) if parsed.picture else None,
    )


def _plan(parsed: argparse.Namespace) -> Plan:
    settings = Settings.from_env()
    toggles = settings.toggles()
    plan = plan_from(parsed.plan, Plans(settings).named())
    for name in [*parsed.on, *(assignment.partition(".")[0] for assignment in parsed.set)]:
        if not plan.has(name):
            plan = plan.set(name, **toggles[name].settings) if name in toggles else plan.on(name)
    for name in parsed.off:
        plan = plan.off(name)
    return with_assignments(plan, parsed.set)


def record_as_json(run: Run, question_id: str | int | None, contexts: int = 10) -> dict[str, Any]:
    """A run as the command line prints it."""
    whole = run.model_dump(mode="json")
    kept = (
        "question engine final_answer refused confidence quality_achieved total_hops iteration_count healing_attempts "
        "seconds searches sentences techniques status error note"
    ).split()
    return {
        "id": question_id if question_id is not None else run.id,
        **{name: whole[name] for name in kept},
        "plan": run.plan["name"],
        "model_calls": run.usage.model_calls,
        "tokens": run.usage.tokens,
        "cost": run.usage.cost if run.usage.model_calls else 0.0,
        "run": run.id,
        "retrieved_contexts": [
            {
                "chunk": hit.chunk.id,
                "document": hit.chunk.document,
                "name": hit.chunk.name,
                "source": hit.chunk.source,
                "page": hit.chunk.page,
                "kind": hit.chunk.kind,
                "text": hit.chunk.text,
                "score": hit.score,
                "scores": hit.scores,
                "isrel": _ISREL[hit.relevant],
            }
            for hit in run.evidence[: max(contexts, 10)]
        ],
    }


def _answer_lines(run: Run) -> str:
    if run.error:
        return run.error
    names = {
        hit.chunk.id: f"{hit.chunk.name}{f' p.{hit.chunk.page}' if hit.chunk.page else ''}" for hit in run.evidence
    }
    if run.refusal:
        looked_for = ", ".join(run.refusal.looked_for)
        return run.final_answer + (f" Looked for: {looked_for}." if looked_for else "")
    lines = [
        f"{s.text} [{'; '.join(dict.fromkeys(names[c] for c in s.citations)) or 'no source'}]" for s in run.sentences
    ]
    return "\n".join([*lines, *([run.note] if run.note else [])])


def ledger(parsed: argparse.Namespace) -> int:
    with opened() as workbench:
        run = _asked(workbench, parsed, _plan(parsed), parsed.question, parsed.document)
        if run.status == "failed":
            return say(run.error or "The question could not be answered.", FAILED)
        expected = workbench.ledgers.estimate(run.id)
        calls = f"{expected.model_calls} model calls, {expected.tokens:,} tokens"
        progress(f"Asking {expected.runs} times more takes about {expected.seconds:.1f} s and {calls}: Ctrl-C ends it.")
        making = workbench.ledgers.make(run.id)
        making.wait()
    print(making.record.model_dump_json() if parsed.json else _ledger_lines(making.record))
    return DONE


def _ledger_lines(record: Ledger) -> str:
    told = [entry for entry in record.entries if entry.verdict]
    rows = [f"{entry.verdict:14} {TECHNIQUES[entry.technique].label:24} {entry.reason}" for entry in told]
    return "\n".join([*rows, summary(record.entries), "One question is a hint, not a proof."])
