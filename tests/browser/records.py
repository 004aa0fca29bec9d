"""Runs as they stand in the history when reflection, correction and healing were on: made by hand over a real one."""

from __future__ import annotations

import uuid
from typing import Any

from playwright.sync_api import Page
from pydantic import JsonValue

from rag_core.pipeline.history import History
from rag_core.pipeline.run import Run, TechniqueUse
from rag_core.trace import Phase, TraceEvent
from rag_core.types import Chunk, Hit, Sentence
from tests.browser.steps import Served

HOSTILE = "<img src=x onerror=alert(1)>"
WEB = "https://example.invalid/deals?q=1"
SENTENCES = (
    "InnovateCorp acquired DataWeave Inc. for $1.2 billion.",
    "DataWeave has since launched QuantumLeap Analytics.",
    f"Analysts expect the deal to pay for itself by 2026. {HOSTILE}",
)
QUESTION_BEFORE = "What did DataWeave launch?"
SUB_QUESTIONS = (
    "why did InnovateCorp buy DataWeave",
    "what did DataWeave launch",
    "وما المنتج الجديد الذي أطلقته الشركة",
)


def reflected_run(real: Run, run_id: str, chat: str) -> Run:
    """The run with every check in its spans; its evidence is the real one, and one chunk of the web."""
    first, second, third = [hit.chunk.id for hit in real.evidence[:3]]
    web = Hit(chunk=Chunk(id="web-1", document="", name="A page", text="The deal closed.", url=WEB), score=0.1)
    supports = [("fully_supported", 0.96, first), ("partially_supported", 0.63, second), ("no_support", 0.09, None)]
    sentences = [
        Sentence(text=text, support=support, probability=sure, citations=(chunk,) if chunk else ())
        for text, (support, sure, chunk) in zip(SENTENCES, supports, strict=True)
    ]
    evidence = [*real.evidence, web]
    remembered = evidence[1].model_copy(update={"scores": {**evidence[1].scores, "memory": 0.82, "was": 4.0}})
    evidence[1] = remembered
    return real.model_copy(
        update={
            "id": run_id,
            "chat": chat,
            "sentences": tuple(sentences),
            "final_answer": " ".join(SENTENCES),
            "evidence": tuple(evidence),
            "quality_achieved": 0.93,
            "healing_attempts": 2,
            "spans": tuple(spans([first, second, third])),
            "seconds": 2.0,
            "plan": {"name": "custom", "techniques": {"heal": {"quality_target": 0.85}, "scan": {}, "hyde": {}}},
            "techniques": {"scan": TechniqueUse(ran=False, why="The question does not ask for all of a document.")},
        }
    )


def kept_reflected(page: Page, app: Served, run_id: str) -> Run:
    """The run of that id with every check in it, kept beside it in a chat of its own."""
    real = Run.model_validate_json(page.request.get(f"/v1/runs/{run_id}").text())
    made = reflected_run(real, uuid.uuid4().hex, uuid.uuid4().hex[:12])
    history = History(app.data / "runs.sqlite")
    history.keep(made)
    history.close()
    return made


def spans(chunks: list[str]) -> list[TraceEvent]:
    first, second, third = chunks
    recalled = {
        "run": "r",
        "question": QUESTION_BEFORE,
        "answer": "QuantumLeap.",
        "similarity": 0.82,
        "chunks": [second],
    }
    return [
        span(0, None, "rewrite", "question", 0.0, 0.05, query="What was launched, and why?"),
        span(1, None, "retrieve", "retrieve", 0.05, 0.4, hop=1, query="launched product", chunks=[second, first]),
        span(2, 1, "expand", "retrieve", 0.1, 0.2, terms=["acquisition", HOSTILE]),
        span(3, 1, "hyde", "retrieve", 0.1, 0.3, hypotheticals=["They launched an imagined product.", HOSTILE]),
        span(4, 1, "memory", "retrieve", 0.41, 0.01, recalled=[recalled]),
        span(5, None, "retrieve", "retrieve", 0.45, 0.2, hop=2, query="DataWeave product", chunks=[third]),
        span(6, None, "sub_queries", "sub_queries", 0.65, 0.3, queries=list(SUB_QUESTIONS)),
        *(
            span(7 + at, 6, "sub_query", "sub_queries", 0.67 + 0.01 * at, 0.2, query=query, lane=at, chunks=[third])
            for at, query in enumerate(SUB_QUESTIONS)
        ),
        span(10, None, "crag", "retrieve", 0.95, 0.1, **crag(first, third)),
        span(11, None, "answer", "answer", 1.05, 0.2),
        span(12, None, "self_rag", "answer", 1.25, 0.2, **self_rag(chunks)),
        span(13, None, "self_correct", "heal", 1.45, 0.1, version=1, answer="A.", feedback="No reason.", kept=False),
        span(14, None, "self_correct", "heal", 1.55, 0.1, version=2, answer="A, as B", scores={"sure": 0.9}, kept=True),
        span(15, None, "heal", "heal", 1.65, 0.15, **heal(1, 0.71, 0.82, second)),
        span(16, None, "heal", "heal", 1.8, 0.2, **heal(2, 0.82, 0.93, third)),
    ]  # fmt: skip


def span(
    span_id: int, parent: int | None, name: str, phase: Phase, start: float, lasted: float, **attributes: JsonValue
) -> TraceEvent:
    return TraceEvent(
        span_id=span_id, parent_id=parent, name=name, phase=phase, start_s=start, duration_s=lasted,
        attributes=attributes,
    )  # fmt: skip


def self_rag(chunks: list[str]) -> dict[str, Any]:
    first, second, third = chunks
    return {
        "relevance": [
            {"chunk": first, "probability": 0.94, "label": "relevant"},
            {"chunk": second, "probability": 0.91, "label": "relevant"},
            {"chunk": third, "probability": 0.22, "label": "irrelevant"},
        ],
        "matrix": [
            {"sentence": 0, "chunk": first, "support": "fully_supported", "probability": 0.96},
            {"sentence": 0, "chunk": second, "support": "partially_supported", "probability": 0.51},
            {"sentence": SENTENCES[1], "chunk": second, "support": "partially_supported", "probability": 0.63},
            {"sentence": 2, "chunk": third, "support": "contradicted", "probability": 0.71},
            {"sentence": 2, "chunk": first, "support": "no_support", "probability": 0.05},
        ],
        "isuse": {"value": 4, "probabilities": [0.01, 0.04, 0.15, 0.6, 0.2]},
        "candidates": [
            {"text": SENTENCES[0], "chunk": first, "score": 1.94, "kept": True, "why": ""},
            {"text": SENTENCES[2], "chunk": third, "score": 0.31, "kept": False, "why": "no support"},
        ],
    }


def crag(first: str, third: str) -> dict[str, Any]:
    return {
        "verdict": "ambiguous",
        "share": 0.5,
        "chunks": [
            {"chunk": first, "score": 0.88, "relevant": True},
            {"chunk": third, "score": 0.31, "relevant": False},
        ],
        "strips": [
            {"chunk": first, "text": "Data analytics grew by 20 % in the third quarter.", "score": 0.88, "kept": True},
            {"chunk": first, "text": "A product is planned for 2025.", "score": 0.57, "kept": True},
            {"chunk": third, "text": f"Cloud storage rose by 6 %. {HOSTILE}", "score": 0.31, "kept": False},
        ],
        "web": [{"url": WEB, "title": HOSTILE}, {"url": "javascript:alert(2)", "title": "No address"}],
        "note": "web search took too long for one page",
    }


def heal(attempt: int, before: float, after: float, chunk: str) -> dict[str, Any]:
    return {
        "attempt": attempt,
        "issues": ["“pay for itself by 2026”: no chunk says so", "the question asks why; no reason is given"],
        "query": "reason for the acquisition of DataWeave",
        "quality_before": before,
        "quality_after": after,
        "kept": True,
        "answer": "InnovateCorp acquired DataWeave Inc.",
        "diff": [["equal", "InnovateCorp acquired DataWeave "], ["insert", "Inc. "], ["delete", f"soon {HOSTILE}"]],
        "healed": [{"issue": "“pay for itself by 2026”: no chunk says so", "chunk": chunk}],
    }
