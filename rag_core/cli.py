"""The command line: what other programs, scripts and evaluations use. Names and fields are a contract (docs/cli.md)."""

from __future__ import annotations

import argparse
import json
import os
import signal
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from threading import Event, Thread
from typing import IO, Any, TypeVar

from pydantic import BaseModel, ValidationError

from rag_core.errors import PlanError, RagError, SettingsError, UnknownCollection, UnknownDocument
from rag_core.evaluation.ledger import Ledger, summary
from rag_core.indexing.tree import TreeEstimate, TreeProgress
from rag_core.pipeline.plan import Plan, plan_from, with_assignments
from rag_core.pipeline.run import Run
from rag_core.settings import ROOT, Settings
from rag_core.techniques import TECHNIQUES
from rag_core.workbench import DEFAULT_COLLECTION, DEMO_COLLECTION, DEMO_FOLDER, FileResult, Workbench
from rag_core.workbench.backup import back_up, restore
from rag_core.workbench.plans import Plans
from rag_core.workbench.verifying import GivenAnswer, Verifier

DONE, FAILED, WRONG_USE = 0, 1, 2

_ISREL = {True: "relevant", False: "irrelevant", None: None}

L = TypeVar("L", bound=BaseModel)


class Question(BaseModel):
    """A line of a questions file. Fields beside these are left alone."""

    id: str | int
    question: str
    document: str | None = None
    documents: list[str] | None = None

    @property
    def names(self) -> list[str]:
        return [*([self.document] if self.document else []), *(self.documents or [])]


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command; returns its exit status."""
    parsed = _parser().parse_args(arguments)
    # Ended by a signal, a command still closes what it opened.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))
    try:
        return parsed.do(parsed)
    except (PlanError, SettingsError, UnknownCollection, UnknownDocument) as error:
        return _say(str(error), WRONG_USE)
    except RagError as error:
        return _say(str(error), FAILED)
    except BrokenPipeError:  # the reader of our output has gone
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return FAILED
    except KeyboardInterrupt:
        return _say("Stopped.", FAILED)


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


# the commands


def _ingest(parsed: argparse.Namespace) -> int:
    missing = [path for path in parsed.paths if not Path(path).exists()]
    if missing:
        return _say(f"There is no file or folder {missing[0]}.", WRONG_USE)

    def told(result: FileResult) -> None:
        print(result.model_dump_json() if parsed.json else _file_line(result), flush=True)

    if parsed.watch and parsed.describe:
        return _say("--describe goes before --watch: what is watched later is described too.", WRONG_USE)
    if parsed.watch:
        return _watch(parsed, told)
    with _workbench() as workbench:
        results = workbench.ingest(*parsed.paths, collection=parsed.collection, quick=parsed.quick, told=told)
        if parsed.describe:
            expected = workbench.estimate_descriptions(parsed.collection)
            tokens = f"{expected.input_tokens:,} tokens in and {expected.output_tokens:,} out"
            _progress(f"Describing {expected.figures} figures takes about {tokens}: Ctrl-C ends it.")
            workbench.describe(parsed.collection, now=True, told=told)
        if results and workbench.settings.enable_raptor:
            _grow(workbench, parsed.collection)
    if not results:
        return _say("There is no document in there to index; name passages files (.jsonl, .jsonl.gz).", FAILED)
    return FAILED if any(result.state in ("failed", "partial") for result in results) else DONE


def _watch(parsed: argparse.Namespace, told: Callable[[FileResult], None]) -> int:
    stopped = Event()
    # Set by another thread: the signal may come while this one holds the event's own lock.
    signal.signal(signal.SIGINT, lambda *_: Thread(target=stopped.set).start())
    with _workbench() as workbench:
        _progress(f"Watching {', '.join(parsed.paths)}: Ctrl-C ends it.")
        workbench.watch(
            *parsed.paths,
            stopped=stopped,
            collection=parsed.collection,
            delete_missing=parsed.delete_missing,
            told=told,
        )
    return DONE


def _ask(parsed: argparse.Namespace) -> int:
    plan = _plan(parsed)
    if parsed.questions:
        if not parsed.out:
            return _say("--questions needs --out, the file for the answers.", WRONG_USE)
        return _ask_many(parsed, plan)
    if not parsed.question:
        return _say("Give a question, or --questions with a file of them.", WRONG_USE)
    with _workbench() as workbench:
        run = _asked(workbench, parsed, plan, parsed.question, parsed.document)
    print(json.dumps(record_as_json(run, None, parsed.contexts)) if parsed.json else _answer_lines(run))
    return FAILED if run.status == "failed" else DONE


def _ask_many(parsed: argparse.Namespace, plan: Plan) -> int:
    questions = _lines(Path(parsed.questions), Question, "id and question")
    out = Path(parsed.out)
    done = _done(out, [question.id for question in questions], "questions")
    failed = 0
    with _workbench() as workbench, _appended(out) as file:
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
                _say(f"{question.id}: {line['error']}", FAILED)
            _append(file, line)
            _progress(f"{question.id}: {len(line.get('sentences', []))} sentences")
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


def _ledger(parsed: argparse.Namespace) -> int:
    with _workbench() as workbench:
        run = _asked(workbench, parsed, _plan(parsed), parsed.question, parsed.document)
        if run.status == "failed":
            return _say(run.error or "The question could not be answered.", FAILED)
        expected = workbench.ledgers.estimate(run.id)
        calls = f"{expected.model_calls} model calls, {expected.tokens:,} tokens"
        _progress(
            f"Asking {expected.runs} times more takes about {expected.seconds:.1f} s and {calls}: Ctrl-C ends it."
        )
        making = workbench.ledgers.make(run.id)
        making.wait()
    print(making.record.model_dump_json() if parsed.json else _ledger_lines(making.record))
    return DONE


def _ledger_lines(record: Ledger) -> str:
    told = [entry for entry in record.entries if entry.verdict]
    rows = [f"{entry.verdict:14} {TECHNIQUES[entry.technique].label:24} {entry.reason}" for entry in told]
    return "\n".join([*rows, summary(record.entries), "One question is a hint, not a proof."])


def _verify(parsed: argparse.Namespace) -> int:
    given, out = Path(parsed.answers), Path(parsed.out)
    if given.resolve() == out.resolve():
        return _say("--out must be another file than the answers.", WRONG_USE)
    answers = _lines(given, GivenAnswer, "id, answer and contexts, a list of texts")
    left = answers[_done(out, [answer.id for answer in answers], "answers") :]
    verifier = Verifier.open(Settings.from_env(), _progress)
    with _appended(out) as file:
        for verdict in verifier.check(left):
            _append(file, verdict.model_dump(mode="json"))
    _progress(f"{len(answers)} answers verified, {len(left)} of them now.")
    return DONE


def _list(parsed: argparse.Namespace) -> int:
    with _workbench() as workbench:
        for info in workbench.collections():
            if parsed.collection not in (None, info.name):
                continue
            if not parsed.json:
                print(f"{info.name}: {info.documents} documents, {info.pages} pages, {info.chunks} chunks")
            for record in workbench.documents(info.name):
                print(
                    record.model_dump_json(exclude={"progress"}) if parsed.json else f"  {record.name}: {record.state}"
                )
    return DONE


def _delete(parsed: argparse.Namespace) -> int:
    with _workbench() as workbench:
        workbench.remove(parsed.document, parsed.collection or workbench.default_collection())
    return DONE


def _tree(parsed: argparse.Namespace) -> int:
    with _workbench() as workbench:
        collection = parsed.collection or workbench.default_collection()
        if parsed.what == "build":
            _grow(workbench, collection, engine=parsed.engine, anew=parsed.anew)
        status = workbench.trees.status(collection)
        expected = workbench.trees.estimate(collection, parsed.engine)
    if parsed.json:
        print(json.dumps(status.model_dump(mode="json") | {"estimate": expected.model_dump(mode="json")}))
        return DONE
    said = f", {status.changed} of {status.documents} documents changed" if status.state == "stale" else ""
    levels = " + ".join(map(str, status.levels)) or "no"
    print(f"{status.collection}: {status.state}{said}; {levels} summaries, from the lowest level up")
    if expected.documents:
        print(f"  to do: {_tree_cost(expected)}")
    return DONE


def _grow(workbench: Workbench, collection: str, *, engine: str | None = None, anew: bool = False) -> None:
    """Bring a collection's tree up to date, with what it will take said first."""
    _progress(f"Building the tree of {collection}: {_tree_cost(workbench.trees.estimate(collection, engine))}.")

    def told(progress: TreeProgress) -> None:
        if not progress.summaries % 20:
            at = progress.document or "all documents together"
            _progress(f"  {progress.done} of {progress.total} documents, {progress.summaries} summaries: {at}")

    workbench.trees.build_tree(collection, engine=engine, anew=anew, told=told)


def _tree_cost(expected: TreeEstimate) -> str:
    chunks = f"{expected.documents} documents, {expected.chunks:,} chunks, about {expected.summaries:,} summaries"
    if not expected.model_calls:
        return chunks
    tokens = f"{expected.input_tokens:,} tokens in and {expected.output_tokens:,} out"
    return f"{chunks}, a model call each, about {tokens}; Ctrl-C ends it, and what is done is kept"


def _graph(parsed: argparse.Namespace) -> int:
    if (parsed.query is not None) != (parsed.what == "cypher"):
        return _say("`graph cypher` needs a query, and `graph build` and `graph status` take none.", WRONG_USE)
    with _workbench() as workbench:
        collection = parsed.collection or workbench.default_collection()
        if parsed.what == "cypher":
            if (graph := workbench.graphs.graph(collection)) is None:
                return _say(f"{collection!r} has no graph yet: `python -m rag_core graph build` makes it.", FAILED)
            table = graph.cypher(parsed.query)
            for row in table.rows:
                known = dict(zip(table.columns, row, strict=True))
                print(json.dumps(known, ensure_ascii=False) if parsed.json else "\t".join(map(str, row)))
            return DONE
        if parsed.what == "build":
            expected = workbench.graphs.estimate(collection, parsed.engine)
            tokens = f", {expected.input_tokens:,} tokens in and {expected.output_tokens:,} out, at most"
            cost = tokens if expected.model_calls else ""
            _progress(f"Building the graph of {collection}: {expected.chunks:,} chunks{cost}; Ctrl-C ends it.")
            workbench.graphs.build_graph(collection, engine=parsed.engine, anew=parsed.anew)
        status = workbench.graphs.status(collection)
    counts = f"{status.entities:,} entities, {status.relations:,} relations, {status.communities:,} communities"
    print(status.model_dump_json() if parsed.json else f"{status.collection}: {status.state}; {counts}")
    return DONE


def _backup(parsed: argparse.Namespace) -> int:
    contents = back_up(Settings.from_env().data_dir, Path(parsed.file))
    print(
        f"{parsed.file}: {len(contents.files):,} files, {contents.size / 1e6:,.1f} MB. Keep it as you keep your keys."
    )
    return DONE


def _restore(parsed: argparse.Namespace) -> int:
    data_dir = Settings.from_env().data_dir
    contents = restore(Path(parsed.file), data_dir)
    print(f"{len(contents.files):,} files are back in {data_dir}; its documents are indexed anew when the app starts.")
    return DONE


def _doctor(parsed: argparse.Namespace) -> int:
    with _workbench() as workbench:
        parts = workbench.health()
    for part in parts:
        print(part.model_dump_json() if parsed.json else f"{'ok  ' if part.ok else 'look'} {part.part}: {part.summary}")
        if part.advice and not parsed.json:
            print(f"     {part.advice}")
    return DONE if all(part.ok for part in parts) else FAILED


def _demo(parsed: argparse.Namespace) -> int:
    parsed.paths, parsed.collection = [str(DEMO_FOLDER)], DEMO_COLLECTION
    parsed.quick = parsed.watch = parsed.describe = False
    return _ingest(parsed)


def _setup(_: argparse.Namespace) -> int:
    from rag_core.embedding.clip import find_clip
    from rag_core.embedding.weights import find_weights
    from rag_core.stores.weaviate.binary import find_server

    settings = Settings.from_env()
    print(f"weights   {find_weights(settings, _progress)}")
    if settings.clip:
        print(f"clip      {find_clip(settings, _progress)}")
    if settings.weaviate_url:
        print(f"weaviate  {settings.weaviate_url} (WEAVIATE_URL: none is started here)")
    else:
        print(f"weaviate  {find_server(settings, _progress)}")
    return DONE


def _serve(parsed: argparse.Namespace) -> int:
    command = [sys.executable, "-m", "streamlit", "run", "app.py", "--server.port", str(parsed.port)]
    os.chdir(ROOT)
    os.execv(sys.executable, [*command, "--server.address", parsed.host])


# inside


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m rag_core", description="Ask your PDFs, and see how it was done.")
    commands = parser.add_subparsers(required=True, metavar="COMMAND")

    ingest = _command(commands, "ingest", _ingest, "index files, folders and passages files")
    ingest.add_argument("paths", nargs="+", metavar="PATH")
    ingest.add_argument("--collection", default=DEFAULT_COLLECTION)
    ingest.add_argument("--quick", action="store_true", help="return when searchable; refine later")
    ingest.add_argument("--watch", action="store_true", help="stay, and index what is written there, until Ctrl-C")
    ingest.add_argument("--describe", action="store_true", help="have a model that sees describe the figures, too")
    ingest.add_argument("--delete-missing", action="store_true", help="with --watch: remove documents whose files go")

    ask = _command(commands, "ask", _ask, "ask one question, or a file of them")
    ask.add_argument("question", nargs="?")
    _how_to_ask(ask)
    ask.add_argument("--contexts", type=_contexts, default=10, metavar="N", help="ranked evidence to give, 10 to 200")
    ask.add_argument("--picture", metavar="FILE", help="with CLIP: figures like this one come first")
    ask.add_argument("--questions", metavar="FILE.jsonl")
    ask.add_argument("--out", metavar="FILE.jsonl")

    ledger = _command(commands, "ledger", _ledger, "ask without each technique in turn: what did each buy?")
    ledger.add_argument("question")
    _how_to_ask(ledger)
    ledger.set_defaults(contexts=10, picture=None)

    verify = _command(commands, "verify", _verify, "check answers from anywhere against their passages")
    verify.add_argument("answers", metavar="FILE.jsonl")
    verify.add_argument("--out", required=True, metavar="FILE.jsonl")

    listing = _command(commands, "list", _list, "collections and their documents")
    listing.add_argument("--collection")
    delete = _command(commands, "delete", _delete, "remove a document")
    delete.add_argument("document")
    delete.add_argument("--collection")
    tree = _command(commands, "tree", _tree, "the tree of summaries over a collection, for the technique raptor")
    tree.add_argument("what", choices=["build", "status"])
    tree.add_argument("--collection")
    tree.add_argument("--engine", choices=["keyless", "model"])
    tree.add_argument("--anew", action="store_true", help="make all of it again")
    graph = _command(commands, "graph", _graph, "the graph of a collection: build it, how it is, ask it in Cypher")
    graph.add_argument("what", choices=["build", "status", "cypher"])
    graph.add_argument("query", nargs="?")
    graph.add_argument("--collection")
    graph.add_argument("--engine", choices=["keyless", "model"])
    graph.add_argument("--anew", action="store_true", help="make all of it again")
    backup = _command(commands, "backup", _backup, "everything of the data directory in one file")
    backup.add_argument("file", metavar="FILE")
    restoring = _command(commands, "restore", _restore, "put a backup into an empty data directory")
    restoring.add_argument("file", metavar="FILE")
    _command(commands, "doctor", _doctor, "how every part is, and what to do")
    _command(commands, "demo", _demo, "index the demo documents")
    _command(commands, "setup", _setup, "fetch the Weaviate server and the embedding weights")
    serve = _command(commands, "serve", _serve, "start the app")
    serve.add_argument("--host", default="127.0.0.1")
    serve.add_argument("--port", type=int, default=8501)
    return parser


def _command(commands: Any, name: str, do: Callable[[argparse.Namespace], int], text: str) -> argparse.ArgumentParser:
    command = commands.add_parser(name, help=text, description=text)
    command.add_argument("--json", action="store_true", help="print JSON, a line each")
    command.set_defaults(do=do)
    return command


def _how_to_ask(command: argparse.ArgumentParser) -> None:
    command.add_argument("--collection")
    command.add_argument(
        "--document", action="append", default=[], metavar="NAME", help="search only this one; repeatable"
    )
    command.add_argument("--plan", default="simple", metavar="PRESET|FILE.json")
    command.add_argument("--set", action="append", default=[], metavar="technique.field=value")
    command.add_argument("--on", action="append", default=[], metavar="technique")
    command.add_argument("--off", action="append", default=[], metavar="technique")
    command.add_argument("--engine", choices=["keyless", "model"])


def _contexts(text: str) -> int:
    number = int(text)
    if not 1 <= number <= 200:
        raise argparse.ArgumentTypeError("must be from 1 to 200")
    return number


def _workbench() -> Workbench:
    return Workbench.open(say=_progress)


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


def _lines(path: Path, kind: type[L], needs: str) -> list[L]:
    """The lines of a file, read.

    Raises:
        PlanError: It cannot be read, or a line of it has not what it needs.
    """
    try:
        lines = path.read_text(encoding="utf-8").split("\n")  # `splitlines` would cut at more, within a text
    except (OSError, UnicodeDecodeError) as error:
        raise PlanError(f"{path} cannot be read: {error}.") from error
    found = []
    for number, line in enumerate(lines, start=1):
        if line.strip():
            try:
                found.append(kind.model_validate(json.loads(line)))
            except (ValueError, ValidationError) as error:
                raise PlanError(f"{path}, line {number}: it is not an object with {needs}.") from error
    return found


def _done(out: Path, ids: Sequence[str | int], what: str) -> int:
    """How many of the lines with these ids the file has results of; half a line at its end is cut off.

    Raises:
        PlanError: The file is of other lines, or cannot be read.
    """
    try:
        whole = out.read_bytes() if out.exists() else b""
    except OSError as error:
        raise PlanError(f"{out} cannot be read: {error}.") from error
    kept = whole[: whole.rfind(b"\n") + 1]
    try:
        there = [json.loads(line)["id"] for line in kept.splitlines()]
    except (ValueError, KeyError, TypeError):
        there = [None]
    if there != [*ids[: len(there)]]:
        raise PlanError(f"{out} is of other {what}: name another file, or remove it.")
    if kept != whole:
        out.write_bytes(kept)
    return len(there)


def _appended(out: Path) -> IO[str]:
    try:
        # Half a character pair, as broken texts have them, is written as the escape that JSON has for it.
        return out.open("a", encoding="utf-8", errors="backslashreplace")
    except OSError as error:
        raise PlanError(f"{out} cannot be written: {error}.") from error


def _append(file: IO[str], line: dict[str, Any]) -> None:
    file.write(json.dumps(line, ensure_ascii=False) + "\n")
    file.flush()


def _file_line(result: FileResult) -> str:
    found = f"{result.pages} pages, {result.chunks} chunks, {result.seconds:.1f} s"
    if result.reason:
        found += f"; {result.reason}"
    said = {
        "failed": str(result.reason),
        "gone": "its file has gone; the document stays",
        "deleted": "its file has gone",
    }
    return f"{result.state:9} {result.name}: " + said.get(result.state, found)


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


def _progress(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


def _say(text: str, status: int) -> int:
    print(text, file=sys.stderr)
    return status
