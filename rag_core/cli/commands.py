"""Every command with its options; names and fields are a contract (docs/cli.md)."""

from __future__ import annotations

import argparse
import os
import signal
import sys
from collections.abc import Callable, Sequence
from io import TextIOWrapper
from typing import Any

from rag_core.cli import asking, documents, house, knowledge, verifying
from rag_core.cli.said import FAILED, WRONG_USE, say
from rag_core.errors import PlanError, RagError, SettingsError, UnknownCollection, UnknownDocument
from rag_core.workbench import DEFAULT_COLLECTION


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command; returns its exit status."""
    parsed = _parser().parse_args(arguments)
    if isinstance(sys.stdout, TextIOWrapper):  # answers have characters that not every terminal can show
        sys.stdout.reconfigure(errors="backslashreplace")
    # Ended by a signal, a command still closes what it opened.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))
    try:
        return parsed.do(parsed)
    except (PlanError, SettingsError, UnknownCollection, UnknownDocument) as error:
        return say(str(error), WRONG_USE)
    except RagError as error:
        return say(str(error), FAILED)
    except BrokenPipeError:  # the reader of our output has gone
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return FAILED
    except KeyboardInterrupt:
        return say("Stopped.", FAILED)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m rag_core", description="Ask your PDFs, and see how it was done.")
    commands = parser.add_subparsers(required=True, metavar="COMMAND")

    ingest = _command(commands, "ingest", documents.ingest, "index files, folders and passages files")
    ingest.add_argument("paths", nargs="+", metavar="PATH")
    ingest.add_argument("--collection", default=DEFAULT_COLLECTION)
    ingest.add_argument("--quick", action="store_true", help="return when searchable; refine later")
    ingest.add_argument("--watch", action="store_true", help="stay, and index what is written there, until Ctrl-C")
    ingest.add_argument("--describe", action="store_true", help="have a model that sees describe the figures, too")
    ingest.add_argument("--delete-missing", action="store_true", help="with --watch: remove documents whose files go")

    ask = _command(commands, "ask", asking.ask, "ask one question, or a file of them")
    ask.add_argument("question", nargs="?")
    _how_to_ask(ask)
    ask.add_argument("--contexts", type=_contexts, default=10, metavar="N", help="ranked evidence to give, 10 to 200")
    ask.add_argument("--picture", metavar="FILE", help="with CLIP: figures like this one come first")
    ask.add_argument("--questions", metavar="FILE.jsonl")
    ask.add_argument("--out", metavar="FILE.jsonl")

    ledger = _command(commands, "ledger", asking.ledger, "ask without each technique in turn: what did each buy?")
    ledger.add_argument("question")
    _how_to_ask(ledger)
    ledger.set_defaults(contexts=10, picture=None)

    verify = _command(commands, "verify", verifying.verify, "check answers from anywhere against their passages")
    verify.add_argument("answers", metavar="FILE.jsonl")
    verify.add_argument("--out", required=True, metavar="FILE.jsonl")
    verify.add_argument("--engine", choices=["keyless", "model"], default="keyless")

    listing = _command(commands, "list", documents.list_documents, "collections and their documents")
    listing.add_argument("--collection")
    delete = _command(commands, "delete", documents.delete, "remove a document")
    delete.add_argument("document")
    delete.add_argument("--collection")
    tree = _command(commands, "tree", knowledge.tree, "the tree of summaries of a collection, for the technique raptor")
    tree.add_argument("what", choices=["build", "status"])
    tree.add_argument("--collection")
    tree.add_argument("--engine", choices=["keyless", "model"])
    tree.add_argument("--anew", action="store_true", help="make all of it again")
    graph = _command(commands, "graph", knowledge.graph, "the graph of a collection: build it, see how it is, query it")
    graph.add_argument("what", choices=["build", "status", "cypher"])
    graph.add_argument("query", nargs="?")
    graph.add_argument("--collection")
    graph.add_argument("--engine", choices=["keyless", "model"])
    graph.add_argument("--anew", action="store_true", help="make all of it again")
    backup = _command(commands, "backup", house.backup, "everything of the data directory in one file")
    backup.add_argument("file", metavar="FILE")
    restoring = _command(commands, "restore", house.restore, "put a backup into an empty data directory")
    restoring.add_argument("file", metavar="FILE")
    _command(commands, "doctor", house.doctor, "how every part is, and what to do")
    _command(commands, "demo", documents.demo, "index the demo documents")
    _command(commands, "setup", house.setup, "fetch the Weaviate server and the embedding weights")
    serve = _command(commands, "serve", house.serve, "start the app")
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
