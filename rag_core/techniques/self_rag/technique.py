"""Self-RAG at work: candidates for the next segment, what is judged of them, and the answers that go on."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from rag_core.errors import RagError
from rag_core.fan_out import fan_out
from rag_core.llm.engine import Engine, KeylessEngine, Watch
from rag_core.llm.quoting import quoted, without_tags
from rag_core.llm.reading.mending import quotable
from rag_core.llm.reading.reading import Reading
from rag_core.llm.reading.words import stems
from rag_core.techniques.base import Critic
from rag_core.techniques.self_rag.beam import checked, grown, segment_score, usable_of
from rag_core.techniques.self_rag.judge import Judge
from rag_core.techniques.self_rag.matrix import Matrix
from rag_core.techniques.self_rag.reflection import Critique, Decision, Isrel, Reflection, Segment
from rag_core.techniques.self_rag.segment import NATIVE_SEGMENT, SEGMENT, SegmentInput, SegmentOutput
from rag_core.techniques.self_rag.settings import AT_ONCE, SelfRagSettings
from rag_core.techniques.self_rag.tokens import Shares, spoilt
from rag_core.types import Chunk, Hit, Sentence

_COVERED = 0.9
"""Without a model: an answer that takes up this share of the question's words needs no further segment."""


class _Job(NamedTuple):
    """A candidate that is to be written: from which chunk, going on with which answer of the beam."""

    path: int
    written: str
    chunk: Chunk
    known: Isrel | None


class SelfRag:
    """Grows an answer segment by segment, and holds answers against their evidence."""

    def __init__(self, settings: SelfRagSettings, engine: Engine, reading: Reading, critic: Critic) -> None:
        self._settings = settings
        self._engine = engine
        self._reading = reading
        self._judge = Judge(settings, engine, critic)
        self._matrix = Matrix(self._judge, engine, reading)
        self.critic = self._judge.name
        """Who judges."""

    def extend(self, question: str, hits: Sequence[Hit], before: Reflection | None, watch: Watch) -> Reflection:
        """Write and judge the next segment.

        Args:
            hits: The evidence, best first; what `before.query` found since then is among it.
            before: What was written until now; None at first.

        Raises:
            RagError: No candidate could be written; one that fails spoils no other.
            Stopped: The run was stopped meanwhile.
        """
        before = before or Reflection()
        chunks = [hit.chunk for hit in hits[: self._settings.passages]]
        judged = {one.chunk: one for one in before.isrel}
        if self.critic == "trained":
            judged |= self._judge.relevance(question, [chunk for chunk in chunks if chunk.id not in judged])
        asked = [chunk for chunk in chunks if chunk.id not in judged or chunk.id in usable_of(judged.values())]
        jobs = [
            _Job(at, path.text, chunk, judged.get(chunk.id))
            for at, path in enumerate(before.beam)
            if not path.ended
            for chunk in asked
        ]
        outcomes = fan_out(
            lambda job: self._candidate(question, job, asked, watch),
            jobs,
            at_once=1 if self._engine.name == KeylessEngine.name else AT_ONCE,
        )
        candidates = [outcome for outcome in outcomes if isinstance(outcome, Segment)]
        failed = [outcome for outcome in outcomes if isinstance(outcome, RagError)]
        if failed and not candidates:
            raise failed[0]
        for segment in candidates:
            judged.setdefault(segment.isrel.chunk, segment.isrel)
        usable = usable_of(judged.values())
        least = self._settings.issup_min
        latest = tuple(checked(segment, before.beam[segment.path], usable, least) for segment in candidates)
        may_stay = [segment for segment in latest if not segment.rejected]
        return Reflection(
            rounds=(*before.rounds, latest),
            isrel=tuple(judged.values()),
            beam=grown(before.beam, may_stay, self._settings.beam_width),
        )

    def critique(
        self,
        question: str,
        answer: Sequence[Sentence],
        chunks: Sequence[Chunk],
        watch: Watch,
        written: Reflection | None = None,
    ) -> Critique:
        """Hold every sentence of an answer against every chunk, and say how useful the answer is.

        Args:
            written: How the answer came about, where it was written here: what was judged then is not judged again.

        Raises:
            Stopped: The run was stopped meanwhile.
        """
        return self._matrix.critique(question, answer, chunks, watch, written)

    def _candidate(self, question: str, job: _Job, chunks: Sequence[Chunk], watch: Watch) -> Segment:
        """What a chunk has to say next, with its reflection tokens."""
        chunk = job.chunk
        plain = spoilt(chunk.searchable_text)
        asked = SegmentInput(
            question=question,
            written=without_tags(spoilt(job.written)),
            passage=quoted(plain),
            paragraph=without_tags(plain, "paragraph"),
            statements=quotable(chunk),
        )
        signature = NATIVE_SEGMENT if self.critic == "native" else SEGMENT
        reply = self._engine.complete(signature, asked, self._reading, watch)
        if self.critic == "trained":
            reply = SegmentOutput(text=reply.text)
        isrel = self._judge.isrel(chunk, reply.isrel) or job.known or self._judge.relevance(question, [chunk])[chunk.id]
        if not reply.text:
            return Segment(path=job.path, text="", isrel=isrel)
        issup = self._judge.issup(chunk.id, reply.issup) or self._judge.support(question, [reply.text], [chunk])[0][0]
        answer = f"{job.written} {reply.text}".strip()
        isuse = self._judge.isuse(question, answer, reply.isuse)
        return Segment(
            path=job.path,
            text=reply.text,
            isrel=isrel,
            issup=issup,
            isuse=isuse,
            retrieve=_decision(reply.retrieve) or self._next(question, answer, chunks),
            score=round(segment_score(self._settings, isrel, issup, isuse), 4),
        )

    def _next(self, question: str, answer: str, chunks: Sequence[Chunk]) -> Decision:
        """What follows where no model says: nothing once the answer takes up what was asked; else more from the
        chunks, where they have what is missing.
        """
        if self._reading.coverage(stems(question), stems(answer)) >= _COVERED:
            return "no"
        left = set(self._reading.missing(question, [answer]))
        return "continue" if any(left.intersection(stems(chunk.searchable_text)) for chunk in chunks) else "yes"


def _decision(shares: Shares) -> Decision | None:
    best = max(shares, key=shares.__getitem__, default=None)
    return best if best in ("yes", "no", "continue") else None
