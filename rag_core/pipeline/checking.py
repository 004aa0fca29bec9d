"""The evidence is judged before the answer; the answer is refined, checked, healed, and held against every chunk."""

from __future__ import annotations

from collections.abc import Sequence

from rag_core.llm.reading.mending import evidence_of
from rag_core.pipeline import judgements
from rag_core.pipeline.state import RunState
from rag_core.pipeline.tools import Tools
from rag_core.techniques.heal import Version, best_version
from rag_core.techniques.self_correct import best_revision
from rag_core.techniques.self_rag import Isrel, Reflection
from rag_core.techniques.validate import Validated
from rag_core.types import Hit, Sentence


def crag(state: RunState, tools: Tools) -> RunState:
    """Judge the evidence and correct it. Reads `question`, `hits`; writes `corrects`, `hits`, `aside`, `notes`."""
    assert tools.crag is not None  # else `next_step` has nothing to correct
    with tools.tracer.span("crag", phase="answer") as span:
        evaluated = tools.crag.evaluate(state.question, state.hits, tools.watch)
        if state.told.relevant or state.told.verdict:
            evaluated = tools.crag.overruled(evaluated, state.told.relevant, state.told.verdict)
        corrected = tools.crag.correct(state.question, evaluated, tools.watch)
        span.set(**judgements.correction(evaluated, corrected, tools.crag.relevant))
    least = min((hit.score for hit in corrected.hits), default=1.0)
    aside = (hit.model_copy(update={"score": min(hit.score, least)}) for hit in corrected.aside)
    hits = (*corrected.hits, *aside)
    tools.tracer.emit("evidence", hits=[hit.model_dump(mode="json") for hit in hits])
    return state.model_copy(
        update={
            "corrects": False,
            "hits": hits,
            "aside": len(corrected.aside),
            "notes": (*state.notes, *corrected.notes),
        }
    )


def self_rag(state: RunState, tools: Tools) -> RunState:
    """Write and judge the next segment. Reads `hits`, `reflection`; writes them and, at the end, the answer."""
    assert tools.self_rag is not None
    settings = state.self_rag
    assert settings is not None
    number = len(state.reflection.rounds) + 1 if state.reflection else 1
    with tools.tracer.span("self_rag", phase="answer", segment=number) as span:
        state, new = _searched_on(state, tools)
        # What was just found for it comes first: only so many chunks are written from.
        before = _judged_by_user(state)
        grown = tools.self_rag.extend(state.question, [*new, *state.evidence], before, tools.watch)
        span.set(**judgements.segments(grown))
    _show(grown.sentences, tools)
    state = state.model_copy(update={"reflection": grown, "sentences": grown.sentences})
    if grown.goes_on(settings):
        return state
    notes = (*state.notes, *([grown.note] if grown.note else []))
    # Where nothing may stay, or nothing helps with the question, the plain answer follows: it can say so.
    if not grown.sentences or not any(one.relevant for one in grown.isrel):
        return state.model_copy(update={"notes": notes})
    confidence = min(sentence.probability or 0.0 for sentence in grown.sentences)
    return state.model_copy(
        update={"answered": True, "sentences": grown.sentences, "confidence": confidence, "notes": notes}
    )


def critique(state: RunState, tools: Tools) -> RunState:
    """Hold every sentence against every chunk. Reads `sentences`, `hits`; writes `sentences`, `hits`, `judged`."""
    assert tools.self_rag is not None
    assert state.self_rag is not None
    with tools.tracer.span("self_rag", phase="heal") as span:
        chunks = evidence_of(state.sentences, state.hits, state.self_rag.passages)
        given = tools.self_rag.critique(state.question, state.sentences, chunks, tools.watch, state.reflection)
        span.set(**judgements.matrix(given, state.reflection))
    _show(given.sentences, tools)
    relevant = {one.chunk: one for one in given.isrel}
    hits = tuple(
        hit.model_copy(
            update={
                "relevant": relevant[hit.chunk.id].relevant,
                "scores": hit.scores | {"isrel": relevant[hit.chunk.id].probability},
            }
        )
        if hit.chunk.id in relevant
        else hit
        for hit in state.hits
    )
    return state.model_copy(update={"judged": True, "sentences": given.sentences, "hits": hits})


def self_correct(state: RunState, tools: Tools) -> RunState:
    """Criticise the answer or refine it. Reads `sentences`, `hits`, `revisions`; writes `revisions`, `sentences`."""
    assert tools.self_correct is not None
    with tools.tracer.span("self_correct", phase="answer") as span:
        made = tools.self_correct.iterate(state.question, state.sentences, state.revisions, state.evidence, tools.watch)
        revisions = (*state.revisions, made)
        best = best_revision(revisions)
        span.set(**judgements.revision(made, version=len(revisions), kept=best is made))
    if best.sentences != state.sentences:
        _show(best.sentences, tools)
    return state.model_copy(update={"revisions": revisions, "sentences": best.sentences})


def validate(state: RunState, tools: Tools) -> RunState:
    """Check the answer. Reads `sentences`, `hits`; writes `sentences` with support, `quality`, `issues`, `versions`."""
    checked = _checked(state.question, state.sentences, state.hits, tools)
    draft = Version(sentences=checked.sentences, quality=checked.quality, issues=checked.issues)
    return _with_best(state, (draft,), tools)


def heal(state: RunState, tools: Tools) -> RunState:
    """One attempt. Reads the best of `versions`, `hits`; writes `versions`, `hits`, `queries_tried`, the answer."""
    assert tools.heal is not None
    before = best_version(state.versions)
    attempt = len(state.versions)
    with tools.tracer.span("heal", phase="heal", attempt=attempt, issues=list(before.issues)) as span:
        query = _told(state) or tools.heal.query(state.question, before, state.queries_tried, tools.watch)
        query = query if state.untried([query]) else ""
        found = tools.hybrid.search(query, state.where, at_least=state.contexts) if query else []
        known = {hit.chunk.id for hit in state.evidence}
        new = [hit for hit in found if hit.chunk.id not in known]
        healed = tools.heal.heal(state.question, before, state.evidence, new, tools.watch)
        state = _with_new(state, new)
        checked = _checked(state.question, healed.sentences, state.hits, tools)
        made = Version(
            sentences=checked.sentences,
            quality=checked.quality,
            issues=checked.issues,
            query=query,
            new=tuple(hit.chunk.id for hit in new),
            healed=healed.healed,
        )
        versions = (*state.versions, made)
        span.set(found=len(found), **judgements.attempt(before, made, kept=best_version(versions) is made))
    tried = (*state.queries_tried, query) if query else state.queries_tried
    return _with_best(state.model_copy(update={"queries_tried": tried}), versions, tools)


def _checked(question: str, sentences: Sequence[Sentence], hits: Sequence[Hit], tools: Tools) -> Validated:
    chunks = {hit.chunk.id: hit.chunk for hit in hits}
    with tools.tracer.span("validate", phase="heal") as span:
        checked = tools.validate.check(question, sentences, chunks, tools.watch)
        span.set(quality=checked.quality, issues=len(checked.issues))
    return checked


def _with_best(state: RunState, versions: tuple[Version, ...], tools: Tools) -> RunState:
    """The state with the best answer until now, which the reader sees."""
    best = best_version(versions)
    _show(best.sentences, tools)
    return state.model_copy(
        update={
            "versions": versions,
            "sentences": best.sentences,
            "quality": best.quality,
            "issues": best.issues,
        }
    )


def _with_new(state: RunState, new: Sequence[Hit]) -> RunState:
    """The state with what a later search found behind its evidence; what was set aside stays last."""
    least = min((hit.score for hit in state.evidence), default=1.0)
    added = {hit.chunk.id: hit.model_copy(update={"score": least * hit.score}) for hit in new}
    aside = [hit for hit in state.hits[len(state.evidence) :] if hit.chunk.id not in added]
    hits = (*state.evidence, *added.values(), *aside)
    return state.model_copy(update={"hits": hits, "aside": len(aside)})


def _searched_on(state: RunState, tools: Tools) -> tuple[RunState, list[Hit]]:
    """The state with what the next segment needs beside the evidence, where it needs any, and that alone."""
    query = _told(state) or (state.reflection.query(state.question) if state.reflection else "")
    if not query or not state.untried([query]):
        return state, []
    with tools.tracer.span("sub_query", query=query) as span:
        found = tools.hybrid.search(query, state.where, at_least=state.contexts)
        known = {hit.chunk.id for hit in state.evidence}
        new = [hit for hit in found if hit.chunk.id not in known]
        span.set(found=len(found), new=len(new))
    searched = _with_new(state, new)
    return searched.model_copy(update={"queries_tried": (*state.queries_tried, query)}), new


def _judged_by_user(state: RunState) -> Reflection | None:
    """What was written until now, with what the user said of chunks in the place of what was judged."""
    if not state.told.relevant:
        return state.reflection
    before = state.reflection or Reflection()
    judged = {one.chunk: one for one in before.isrel} | {
        chunk: Isrel(chunk=chunk, probability=float(helps), relevant=helps, by="user")
        for chunk, helps in state.told.relevant.items()
    }
    return before.model_copy(update={"isrel": tuple(judged.values())})


def _told(state: RunState) -> str:
    """What the user wants searched for; empty where that is left to the step."""
    return next(iter(state.told.queries), "")


def _show(sentences: Sequence[Sentence], tools: Tools) -> None:
    tools.tracer.emit("draft", sentences=judgements.as_json(sentences))
