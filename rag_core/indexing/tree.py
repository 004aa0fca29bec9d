"""Trees of summaries over the documents of a collection: grown offline, told what they would cost, taken up again.

    each document     chunks and their vectors -> clusters -> a summary each -> clusters of those -> ... -> its tops
    the collection    the tops of its documents -> clusters -> a summary each -> ...

A document's tree hangs on nothing but its own chunks, and is known by what those were made of: when documents come, go
or change, the trees of all others stay, and of the summaries over documents those that stand over the same ones. Each
document's tree takes its place in one transaction, and every summary is kept as soon as it is written, by what it was
made of: a build that was cut short goes on where it was.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from threading import Lock
from typing import Literal

import numpy as np
from filelock import FileLock, Timeout
from pydantic import Field

from rag_core.embedding.minilm import TextEmbedder
from rag_core.errors import EngineError, RagError, Stopped
from rag_core.fan_out import fan_out
from rag_core.indexing.describing import Listening
from rag_core.indexing.ledger import Ledger
from rag_core.indexing.tree_store import Grown, TreeStore
from rag_core.indexing.versions import hash_of, version_of
from rag_core.llm.engine import Engine, KeylessEngine
from rag_core.llm.reading.reading import Reading
from rag_core.stores.weaviate.chunks import ChunkStore
from rag_core.techniques.raptor.growing import Write, Written, grow
from rag_core.techniques.raptor.nodes import EMPTY, Node, Tree, joined, tokens_of
from rag_core.techniques.raptor.settings import TreeSettings
from rag_core.techniques.raptor.summarising import SUMMARISE, summarised
from rag_core.types import Chunk, Value

_LOOKED_AT_S = 0.5
"""How long a build waits for its lock: whoever asks how a tree is holds that for a moment."""
_AT_ONCE = 4
"""Summaries asked of a model at the same time."""
_MOST_FAILURES = 3
"""Summaries in a row that the model fails on before the build ends."""
_CHUNKS_A_SUMMARY = 4.3
"""Of all levels together: 4.3 on the demo, and on 17 papers, reports and brochures of 1,875 chunks."""
_CHUNK_TOKENS = 120
_PROMPT_TOKENS = 110
_TOKENS_A_WORD = 4 / 3


class TreeStatus(Value):
    """How the tree of a collection is."""

    collection: str
    state: Literal["none", "building", "stale", "ready"]
    documents: int = Field(ge=0, description="Those that have chunks to be summarised.")
    changed: int = Field(default=0, ge=0, description="Documents that came, changed or went since it was built.")
    waiting: int = Field(default=0, ge=0, description="Documents that are still being read.")
    levels: tuple[int, ...] = Field(default=(), description="Summaries a level, from level 1 up.")
    progress: TreeProgress | None = Field(default=None, description="Only while this process builds it.")

    @property
    def summaries(self) -> int:
        return sum(self.levels)


class TreeProgress(Value):
    """How far a build is."""

    document: str = Field(description="The name of the one it is at; empty over all of them.")
    done: int = Field(ge=0, description="Documents.")
    total: int = Field(ge=0)
    summaries: int = Field(default=0, ge=0, description="Written in this build.")
    kept: int = Field(default=0, ge=0, description="Taken over as they were.")


class TreeEstimate(Value):
    """What building would take, about: what is done already is left out."""

    documents: int = 0
    chunks: int = 0
    summaries: int = 0
    model_calls: int = 0
    input_tokens: int = 0
    output_tokens: int = 0


Told = Callable[[TreeProgress], None]


class Trees:
    """The trees of one data directory. Safe for threads; a collection's is built by one process at a time."""

    def __init__(
        self,
        ledger: Ledger,
        store: ChunkStore,
        embedder: TextEmbedder,
        data_dir: Path,
        *,
        settings: TreeSettings,
        fingerprint: str,
        copy: Path | None = None,
    ) -> None:
        """Open them.

        Args:
            fingerprint: That of today's index: what was read for another one is not in it.
            copy: Where a tree is written to as JSON, too, when it is built.
        """
        self._ledger = ledger
        self._store = store
        self._embedder = embedder
        self._settings = settings
        self._fingerprint = fingerprint
        self._copy = copy
        self._locks = data_dir / "trees"
        self._trees = TreeStore(data_dir / "trees.sqlite")
        self._progress: dict[str, TreeProgress] = {}
        self._read: dict[str, tuple[tuple[str, ...], Tree]] = {}
        self._reading = Lock()

    def close(self) -> None:
        self._trees.close()

    # how it is

    def status(self, collection: str) -> TreeStatus:
        """How the tree of a collection is.

        Raises:
            UnknownCollection: There is no such collection.
        """
        tenant, grown = self._ledger.tenant(collection), self._trees.grown()
        now, then = self._versions(collection), grown[tenant].made_of if tenant in grown else {}
        changed = sum(then.get(id_) != now.get(id_) for id_ in then.keys() | now.keys())
        there = any(self._is_grown(id_, version, grown) for id_, version in now.items())
        state: Literal["none", "building", "stale", "ready"]
        state = "none" if not there else "stale" if changed else "ready"
        nodes = [node.level for node in self.tree([collection]).nodes if node.level]
        return TreeStatus(
            collection=collection,
            state="building" if self._is_built_now(tenant) else state,
            documents=len(now),
            changed=changed,
            waiting=sum(not record.by_meaning for record in self._ledger.documents(collection)),
            levels=tuple(nodes.count(level) for level in range(1, max(nodes, default=0) + 1)),
            progress=self._progress.get(tenant),
        )

    def estimate(self, collection: str, engine: Engine) -> TreeEstimate:
        """What building the tree of a collection would take.

        Raises:
            UnknownCollection: There is no such collection.
        """
        grown, now = self._trees.grown(), self._versions(collection)
        how = self._how(engine)
        todo = [
            record
            for record in self._ledger.documents(collection)
            if record.id in now and not self._is_done(record.id, now[record.id], how, grown)
        ]
        chunks = sum(record.chunks for record in todo)
        summaries = round(chunks / _CHUNKS_A_SUMMARY)
        calls = 0 if engine.name == KeylessEngine.name else summaries
        words = round(self._settings.words * _TOKENS_A_WORD)
        return TreeEstimate(
            documents=len(todo),
            chunks=chunks,
            summaries=summaries,
            model_calls=calls,
            # What is summarised are all chunks, and all summaries but the last.
            input_tokens=calls and chunks * _CHUNK_TOKENS + summaries * (words + _PROMPT_TOKENS),
            output_tokens=calls * words,
        )

    def tree(self, collections: Sequence[str]) -> Tree:
        """The tree over some collections, of what they hold now: what a change left without its chunks is not in it."""
        return joined(self._current(collection) for collection in collections)

    def _current(self, collection: str) -> Tree:
        tenant, grown, now = self._ledger.tenant(collection), self._trees.grown(), self._versions(collection)
        documents = [id_ for id_, version in now.items() if self._is_grown(id_, version, grown)]
        over = [tenant] if tenant in grown else []
        revisions = tuple(grown[scope].revision for scope in [*documents, *over])
        with self._reading:
            kept = self._read.get(tenant)
        if kept and kept[0] == revisions:
            return kept[1]
        below = joined(self._trees.tree(id_) for id_ in documents)
        tree = joined([below, _standing(self._trees.tree(tenant), below)] if over else [below])
        with self._reading:
            self._read[tenant] = revisions, tree
        return tree

    # building it

    def build(
        self,
        collection: str,
        engine: Engine,
        *,
        anew: bool = False,
        told: Told = lambda progress: None,
        stopped: Callable[[], bool] = lambda: False,
    ) -> TreeStatus:
        """Bring the tree of a collection up to date, here and now; what is as it was is not made again.

        Args:
            anew: Make all of it again.

        Raises:
            UnknownCollection: There is no such collection.
            RagError: It is being built already, or there is nothing to be summarised yet.
            EngineError: The model failed again and again; what was made until then is kept.
            Stopped: The work was stopped meanwhile; what was made until then is kept.
        """
        tenant = self._ledger.tenant(collection)
        with self._alone(collection, tenant):
            now = self._versions(collection)
            if not now:
                raise RagError(f"No document of {collection!r} is found by meaning yet: add one or wait until it is.")
            self._forget_gone()
            if anew:
                self._trees.forget([*now, tenant])
            try:
                _Build(self, collection, tenant, engine, now, told, stopped).run()
            finally:
                self._progress.pop(tenant, None)
            collection = self._ledger.collection(tenant)  # it may be called otherwise by now
            if self._copy:
                self.write_json(collection, self._copy)
        return self.status(collection)

    def write_json(self, collection: str, path: Path) -> None:
        """Write the tree of a collection as JSON, whole or not at all.

        Raises:
            RagError: It cannot be written there.
        """
        tree = self.tree([collection])
        names = {record.id: record.name for record in self._ledger.documents(collection)}
        said = {
            "collection": collection,
            "documents": names,
            "nodes": [node.model_dump(mode="json") for node in tree.nodes],
        }
        part = path.with_name(f"{path.name}.{os.getpid()}.part")
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            part.write_text(json.dumps(said, ensure_ascii=False, indent=1), encoding="utf-8")
            part.replace(path)
        except OSError as error:
            raise RagError(f"The tree cannot be written to {path} ({error}): change RAPTOR_TREE_PATH.") from error

    def forget_document(self, document: str) -> None:
        """Forget everything that was summarised of a document."""
        self._trees.forget([document])

    def forget_collection(self, tenant: str) -> None:
        """Forget what was summarised over the documents of a collection."""
        self._trees.forget([tenant])
        with self._reading:
            self._read.pop(tenant, None)
        self._lock_file(tenant).unlink(missing_ok=True)

    def _forget_gone(self) -> None:
        """Forget the trees of documents and collections that are no more: whoever deleted them may have crashed."""
        infos = self._ledger.collections()
        there = {record.id for info in infos for record in self._ledger.documents(info.name)}
        there |= {self._ledger.tenant(info.name) for info in infos}
        if gone := [scope for scope in self._trees.grown() if scope not in there]:
            self._trees.forget(gone)

    # inside

    def _versions(self, collection: str) -> dict[str, str]:
        """What the chunks of each document were made of, by its id, the oldest first; of those that have vectors."""
        stale = self._ledger.stale(collection, self._fingerprint)
        return {
            record.id: version_of(record, self._fingerprint)
            for record in reversed(self._ledger.documents(collection))
            if record.searchable and record.by_meaning and record.chunks and record.id not in stale
        }

    def _how(self, engine: Engine) -> str:
        return f"{engine.name} {hash_of(SUMMARISE.prompt, self._settings.model_dump())}"

    def _is_grown(self, id_: str, version: str, grown: Mapping[str, Grown]) -> bool:
        return id_ in grown and grown[id_].made_of == {id_: version}

    def _is_done(self, id_: str, version: str, how: str, grown: Mapping[str, Grown]) -> bool:
        return self._is_grown(id_, version, grown) and _is_as_good(grown[id_].made_by, how)

    @contextmanager
    def _alone(self, collection: str, tenant: str) -> Iterator[None]:
        self._locks.mkdir(parents=True, exist_ok=True)
        try:
            with FileLock(self._lock_file(tenant), timeout=_LOOKED_AT_S):
                yield
        except Timeout as error:
            raise RagError(f"The tree of {collection!r} is being built already: wait until it is done.") from error

    def _is_built_now(self, tenant: str) -> bool:
        if tenant in self._progress:
            return True
        if not (file := self._lock_file(tenant)).exists():
            return False
        try:
            with FileLock(file, timeout=0):
                return False
        except Timeout:
            return True

    def _lock_file(self, tenant: str) -> Path:
        return self._locks / f"{tenant}.lock"


class _Build:
    """One build: the trees of the documents that changed, then what stands over all of them."""

    def __init__(
        self,
        trees: Trees,
        collection: str,
        tenant: str,
        engine: Engine,
        now: Mapping[str, str],
        told: Told,
        stopped: Callable[[], bool],
    ) -> None:
        self._of = trees
        self._kept = trees._trees
        self._tenant = tenant
        self._engine = engine
        self._now = dict(now)
        self._names = {record.id: record.name for record in trees._ledger.documents(collection)}
        self._told = told
        self._stopped = stopped
        # Its own vectors: those that questions are compared with are not pushed out by a million of sentences.
        self._reading = Reading(trees._embedder, trees._ledger.statistics(collection), kept_vectors=2_000)
        self._summaries = self._taken_over = self._failures = 0

    def run(self) -> None:
        how, grown = self._of._how(self._engine), self._kept.grown()
        todo = [id_ for id_, version in self._now.items() if not self._of._is_done(id_, version, how, grown)]
        for done, id_ in enumerate(todo):
            self._tell(id_, done, len(todo))
            self._document(id_, how, lambda id_=id_, done=done: self._tell(id_, done, len(todo)))
        self._tell("", len(todo), len(todo))
        last = grown.get(self._tenant)
        if todo or last is None or last.made_of != self._now or not _is_as_good(last.made_by, how):
            self._over_documents(how, lambda: self._tell("", len(todo), len(todo)))

    def _document(self, id_: str, how: str, tell: Callable[[], None]) -> None:
        """Grow the tree of a document, and put it in the place of the one before."""
        chunks = [*self._of._store.document(self._tenant, id_)]
        if not chunks:  # it was deleted meanwhile, or is read anew
            return
        leaves = Tree(
            tuple(Node(id=c.id, level=0, document=id_, tokens=tokens_of(c.text)) for c in chunks), self._vectors(chunks)
        )
        tree = grow(leaves, {c.id: text_of(c) for c in chunks}, self._writer(id_, tell), self._of._settings)
        whole = tree if tree.nodes else leaves  # a single chunk stands for its document
        self._kept.put(id_, whole, made_of={id_: self._now[id_]}, made_by=self._made(whole, how))

    def _over_documents(self, how: str, tell: Callable[[], None]) -> None:
        """Grow what stands over the documents, where there are several."""
        below = joined(self._kept.tree(id_).tops for id_ in self._now)
        single = [node.id for node in below.nodes if not node.level]
        texts = {node.id: node.text for node in below.nodes}
        texts |= {chunk.id: text_of(chunk) for chunk in self._of._store.get(self._tenant, single)}
        known = below.only(lambda node: bool(texts[node.id]))
        write = self._writer(self._tenant, tell)
        tree = grow(known, texts, write, self._of._settings) if len(self._now) > 1 else EMPTY
        self._kept.put(self._tenant, tree, made_of=self._now, made_by=self._made(tree, how))

    def _vectors(self, chunks: Sequence[Chunk]) -> np.ndarray:
        known = self._of._store.vectors(self._tenant, [chunk.id for chunk in chunks])
        missing = [chunk for chunk in chunks if chunk.id not in known]
        if missing:
            vectors = self._of._embedder.embed([chunk.searchable_text for chunk in missing])
            known |= {chunk.id: vector for chunk, vector in zip(missing, vectors, strict=True)}
        return np.stack([known[chunk.id] for chunk in chunks])

    def _writer(self, scope: str, tell: Callable[[], None]) -> Write:
        def write(texts: Sequence[Sequence[str]]) -> Sequence[Written]:
            keys = [self._key(group) for group in texts]
            known = {key: one for key, one in self._kept.written(scope, keys).items() if self._is_ours(one)}
            self._taken_over += len(known)
            missing = {key: group for key, group in zip(keys, texts, strict=True) if key not in known}

            def made(item: tuple[str, Sequence[str]]) -> Written:
                one = self._written(item[1])
                self._kept.keep(scope, item[0], one)
                self._summaries += 1
                tell()
                return one

            at_once = 1 if self._engine.name == KeylessEngine.name else _AT_ONCE
            outcomes = fan_out(made, [*missing.items()], at_once=at_once)
            for key, outcome in zip(missing, outcomes, strict=True):
                if isinstance(outcome, RagError):
                    raise outcome
                known[key] = outcome
            return [known[key] for key in keys]

        return write

    def _written(self, texts: Sequence[str]) -> Written:
        if self._stopped():
            raise Stopped("The building of the tree was stopped.")
        if self._failures >= _MOST_FAILURES:
            raise EngineError("unreachable", "The model failed again and again: build again when it answers.")
        watch = Listening(self._stopped, lambda calls: None)
        asked = summarised(texts, self._of._settings.words)
        text = self._engine.complete(SUMMARISE, asked, self._reading, watch).summary
        fell_back = bool(watch.failed) and self._engine.name != KeylessEngine.name
        self._failures = self._failures + 1 if fell_back else 0
        made_by = KeylessEngine.name if fell_back else self._engine.name
        return Written(text, self._of._embedder.embed_one(text), made_by)

    def _is_ours(self, written: Written) -> bool:
        return self._engine.name in (written.made_by, KeylessEngine.name)

    def _made(self, tree: Tree, how: str) -> str:
        """How a tree was made; one that the model did not write all of is tried again at the next build."""
        whole = all(self._engine.name in (node.made_by, KeylessEngine.name) for node in tree.nodes if node.level)
        return how if whole else ""

    def _key(self, texts: Sequence[str]) -> str:
        return hash_of([*texts], self._of._settings.words, SUMMARISE.prompt)

    def _tell(self, id_: str, done: int, total: int) -> None:
        progress = TreeProgress(
            document=self._names.get(id_, ""),
            done=done,
            total=total,
            summaries=self._summaries,
            kept=self._taken_over,
        )
        self._of._progress[self._tenant] = progress
        self._told(progress)


def text_of(chunk: Chunk) -> str:
    """What a chunk says, under its headings: its text, and what is said of a figure or table before it."""
    return "\n\n".join(part for part in (" › ".join(chunk.section), chunk.caption, chunk.nearby, chunk.text) if part)


def _standing(over: Tree, below: Tree) -> Tree:
    """What of the nodes over documents stands on nodes that are there."""
    there = {node.id for node in below.nodes}
    for node in over.nodes:
        if there.issuperset(node.children):
            there.add(node.id)
    return over.only(lambda node: node.id in there)


def _is_as_good(made_by: str, how: str) -> bool:
    """Whether what was made so need not be made again: what a model was paid for does not yield to reading."""
    engine, settings = how.rsplit(maxsplit=1)
    return made_by == how or (engine == KeylessEngine.name and made_by.endswith(f" {settings}"))
