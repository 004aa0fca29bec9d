"""The tree and the graph of a collection: build them, say how they are, ask the graph."""

from __future__ import annotations

import argparse
import json

from rag_core.cli.said import DONE, FAILED, WRONG_USE, opened, progress, say
from rag_core.indexing.tree import TreeEstimate, TreeProgress
from rag_core.workbench import Workbench


def tree(parsed: argparse.Namespace) -> int:
    with opened() as workbench:
        collection = parsed.collection or workbench.default_collection()
        if parsed.what == "build":
            grow(workbench, collection, engine=parsed.engine, anew=parsed.anew)
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


def grow(workbench: Workbench, collection: str, *, engine: str | None = None, anew: bool = False) -> None:
    """Bring a collection's tree up to date, with what it will take said first."""
    progress(f"Building the tree of {collection}: {_tree_cost(workbench.trees.estimate(collection, engine))}.")

    def told(now: TreeProgress) -> None:
        if not now.summaries % 20:
            at = now.document or "all documents together"
            progress(f"  {now.done} of {now.total} documents, {now.summaries} summaries: {at}")

    workbench.trees.build_tree(collection, engine=engine, anew=anew, told=told)


def _tree_cost(expected: TreeEstimate) -> str:
    chunks = f"{expected.documents} documents, {expected.chunks:,} chunks, about {expected.summaries:,} summaries"
    if not expected.model_calls:
        return chunks
    tokens = f"{expected.input_tokens:,} tokens in and {expected.output_tokens:,} out"
    return f"{chunks}, a model call each, about {tokens}; Ctrl-C ends it, and what is done is kept"


def graph(parsed: argparse.Namespace) -> int:
    if (parsed.query is not None) != (parsed.what == "cypher"):
        return say("`graph cypher` needs a query, and `graph build` and `graph status` take none.", WRONG_USE)
    with opened() as workbench:
        collection = parsed.collection or workbench.default_collection()
        if parsed.what == "cypher":
            if (found := workbench.graphs.graph(collection)) is None:
                return say(f"{collection!r} has no graph yet: `python -m rag_core graph build` makes it.", FAILED)
            table = found.cypher(parsed.query)
            for row in table.rows:
                known = dict(zip(table.columns, row, strict=True))
                print(json.dumps(known, ensure_ascii=False) if parsed.json else "\t".join(map(str, row)))
            return DONE
        if parsed.what == "build":
            expected = workbench.graphs.estimate(collection, parsed.engine)
            tokens = f", {expected.input_tokens:,} tokens in and {expected.output_tokens:,} out, at most"
            cost = tokens if expected.model_calls else ""
            progress(f"Building the graph of {collection}: {expected.chunks:,} chunks{cost}; Ctrl-C ends it.")
            workbench.graphs.build_graph(collection, engine=parsed.engine, anew=parsed.anew)
        status = workbench.graphs.status(collection)
    counts = f"{status.entities:,} entities, {status.relations:,} relations, {status.communities:,} communities"
    lacking = "" if status.grouped else ", not all of what it says now: `python -m rag_core graph build` goes on"
    print(status.model_dump_json() if parsed.json else f"{status.collection}: {status.state}; {counts}{lacking}")
    return DONE
