"""Gate: does this question need the documents at all?

Sums, greetings and questions about the app are answered at once; with a model also what it surely knows of itself.
All else, and all that is in doubt, retrieves. An answer without retrieval says that it is not from the documents.
Sums are worked out by code, exactly, with a model too. Costs one short model call a question, and one more where the
model answers by itself; without a model nothing.

Source: Jeong et al. 2024, "Adaptive-RAG", https://arxiv.org/abs/2403.14403 (no, one or several retrievals)
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Literal

from pydantic import BaseModel, Field

from rag_core.llm.engine import Engine, Watch
from rag_core.llm.reading.reading import Reading
from rag_core.llm.reading.sentences import sentences
from rag_core.llm.reading.small_talk import bare_words, is_small_talk, reply_to
from rag_core.llm.reading.sums import sum_of
from rag_core.llm.signature import ReplyError, Signature
from rag_core.techniques.base import Catalogue, Technique, TechniqueSettings
from rag_core.types import Sentence, Value

Need = Literal["documents", "greeting", "app", "general"]

FROM = {
    "sum": "Worked out by code, not from your documents.",
    "greeting": "No answer from your documents: nothing was asked of them.",
    "app": "About this app, not from your documents.",
    "general": "From the model's own knowledge, not from your documents.",
}
"""What a reader is told of an answer that has no evidence."""


class GateSettings(TechniqueSettings):
    """Which questions are answered without the documents."""

    sums: bool = Field(default=True, description="Work out sums by code.")
    general: bool = Field(
        default=True, description="Let a model answer by itself what no document is needed for; labelled as such."
    )


class GateInput(BaseModel):
    question: str
    documents: str = Field(description="Names of the documents that can be searched.")


class GateOutput(BaseModel):
    need: Need = Field(
        description="documents (whenever they may hold the answer, or in doubt) | greeting | app (about this app) | "
        "general (common knowledge, a translation, a rewording: nothing that could stand in the documents)"
    )
    reason: str = Field(default="", description="Why, in a few words.")


_THIS = r"(?:you|ragscope|this (?:app|tool|program|software|site|website|assistant|chat ?bot|bot|system|workbench))"
_ABOUT_APP = re.compile(
    rf"(?:what|which) (?:all )?(?:can|could|do) {_THIS} (?:do|know|offer|help (?:me )?with|answer)(?: for me| here)?"
    rf"|(?:who|what) (?:are|is) {_THIS}(?: for| about| good for)?|what(?:'s| is) ragscope"
    rf"|how (?:do|does|can|could|should) (?:i|we|one) (?:use|work with|start with|ask) {_THIS}"
    rf"|how (?:do|does) {_THIS} work|what (?:can|should|could) i ask(?: {_THIS})?(?: here)?"
    r"|how (?:do|can|could) i (?:add|upload|index) (?:documents?|files?|(?:a )?pdfs?|a (?:document|file))(?: here)?"
    r"|(?:what|which) (?:techniques|switches|toggles|methods)"
    r" (?:are there|do you (?:have|offer|know|use)|can i (?:use|switch on))(?: here)?"
    r"|help(?: me)?|are you (?:an? )?(?:ai|bot|robot|human|llm|model)|tell me about yourself|introduce yourself",
    re.IGNORECASE,
)
_SWITCH = re.compile(
    r"what (?:does|is|do) (?:the )?(?P<name>[\w-]+(?: [\w-]+){0,2}?) (?:switch|toggle|technique here)"
    r"(?: do| for| mean)?",
    re.IGNORECASE,
)


def need_by_rules(inputs: GateInput, _reading: Reading) -> GateOutput:
    """Small talk and questions about the app by their wording; all else needs the documents."""
    said = bare_words(inputs.question)
    if is_small_talk(inputs.question):
        return GateOutput(need="greeting", reason="It asks nothing.")
    if _ABOUT_APP.fullmatch(said) or _SWITCH.fullmatch(said):
        return GateOutput(need="app", reason="It asks about this app.")
    return GateOutput(need="documents", reason="It may be answered by the documents.")


GATE = Signature(
    name="gate.need",
    inputs=GateInput,
    outputs=GateOutput,
    prompt="""\
What does this message to a program that answers questions about documents need? Choose 'documents' whenever one of
them may hold the answer, also where you know an answer yourself, and whenever you are in doubt.

Documents: {documents}
Message: {question}
""",
    keyless=need_by_rules,
    max_tokens=200,
)


class OwnInput(BaseModel):
    question: str
    need: Need
    about: list[str] = Field(description="What the app says of itself.")
    about_text: str = Field(description="The same as the model reads it.")


class OwnOutput(BaseModel):
    text: str = Field(description="The answer; empty where there is none without the documents.")


def own_answer(inputs: OwnInput, _reading: Reading) -> OwnOutput:
    """What the app says of itself; a friendly line for a greeting; nothing for all else."""
    if inputs.need == "app":
        return OwnOutput(text=" ".join(inputs.about))
    if inputs.need == "greeting":
        return OwnOutput(text=reply_to(inputs.question))
    return OwnOutput(text="")


def read_own(text: str) -> OwnOutput:
    """Read a model's reply: it is the answer."""
    if not text.strip():
        raise ReplyError("it has no answer")
    return OwnOutput(text=text.strip())


OWN = Signature(
    name="gate.answer",
    inputs=OwnInput,
    outputs=OwnOutput,
    prompt="""\
Answer briefly. No document is shown to you: say nothing about any document, and do not guess.
About the app that you speak for:
{about_text}

Message: {question}
""",
    keyless=own_answer,
    read=read_own,
    max_tokens=500,
)


class Gated(Value):
    """Whether to search and, where not, what is answered instead."""

    retrieve: bool
    why: str
    sentences: tuple[Sentence, ...] = ()
    origin: str = Field(default="", description="What the reader is told of an answer without evidence.")


class Gate:
    """Keeps questions from a search that need none."""

    def __init__(
        self,
        settings: GateSettings,
        engine: Engine,
        reading: Reading,
        catalogue: Catalogue,
        techniques: Sequence[Technique],
    ) -> None:
        """Make a gate.

        Args:
            techniques: What the app can do, for questions about it.
        """
        self._settings = settings
        self._engine = engine
        self._reading = reading
        self._catalogue = catalogue
        self._techniques = techniques

    def decide(self, question: str, watch: Watch) -> Gated:
        """Say whether the documents are needed and, where they are not, answer."""
        if self._settings.sums and (sentence := sum_of(question)):
            return Gated(retrieve=False, why="It is a sum.", sentences=(sentence,), origin=FROM["sum"])
        names = ", ".join(document.name for document in self._catalogue.documents()[:40])
        asked = GateInput(question=question, documents=names)
        told = self._engine.complete(GATE, asked, self._reading, watch)
        if told.need == "documents":
            return Gated(retrieve=True, why=told.reason or "It may be answered by the documents.")
        if told.need == "general" and not self._settings.general:
            return Gated(retrieve=True, why="Answers from the model's own knowledge are switched off.")
        about = about_app(question, self._techniques)
        own = OwnInput(question=question, need=told.need, about=about, about_text="\n".join(about))
        text = self._engine.complete(OWN, own, self._reading, watch, stream=True).text
        if not text:
            return Gated(retrieve=True, why="There is no answer without the documents.")
        said = tuple(Sentence(text=sentence) for sentence in sentences(text))
        return Gated(retrieve=False, why=told.reason, sentences=said, origin=FROM[told.need])


def about_app(question: str, techniques: Sequence[Technique]) -> list[str]:
    """What the app says of itself: of the switch that the question names, else what it does and has."""
    asked = _SWITCH.fullmatch(bare_words(question))
    if asked:
        name = asked["name"].lower().strip()
        named = [one for one in techniques if name in (one.name.replace("_", " "), one.label.lower(), one.name)]
        if named:
            return [f"{one.label.capitalize()}: {one.summary}" for one in named]
    return [
        "Ragscope answers questions about your documents and shows how: what it searched for, what it found, and the "
        "page that holds each sentence.",
        "Add PDFs and other files on the Documents screen, then ask about them here; a citation opens its page.",
        "Its techniques are switches beside the question:",
        *(f"{one.label}: {one.summary[0].lower()}{one.summary[1:]}" for one in techniques),
    ]


GATE_TECHNIQUE = Technique(
    name="gate",
    label="skip needless search",
    group="question",
    summary="Answers sums, greetings and questions about the app without a search.",
    settings=GateSettings,
    verb=Gate.decide,
    signatures=(GATE, OWN),
)
