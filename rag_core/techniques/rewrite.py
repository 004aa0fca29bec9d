"""Rewrite: turn what is said in a chat into what can be searched for.

Greetings, filler and politeness go; 'it', 'that company', 'and in 2022?' become what they stand for in the earlier
questions and answers. Names, numbers and terms stay as they were written: a rewriting by a model that loses one is
not used. What needs no rewriting is left as it is. Costs one model call for a question that has something to rewrite,
or a millisecond; a fragment like 'and Europe?' costs the embedding of a few names.

Source: Elgohary et al. 2019, "Can You Unpack That? Learning to Rewrite Questions-in-Context",
https://aclanthology.org/D19-1605
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from pydantic import BaseModel, Field

from rag_core.llm.engine import Engine, Watch
from rag_core.llm.quoting import quoted
from rag_core.llm.reading.conversation import standing_alone, without_filler
from rag_core.llm.reading.names import names_of
from rag_core.llm.reading.reading import Reading
from rag_core.llm.reading.small_talk import is_small_talk
from rag_core.llm.signature import Signature
from rag_core.techniques.base import Technique, TechniqueSettings, Turn
from rag_core.types import Value

MOST_TURNS = 20
"""As much of a chat as can be looked back to."""


class RewriteSettings(TechniqueSettings):
    """What a question is rewritten from."""

    turns: int = Field(
        default=4, ge=0, le=MOST_TURNS, description="Earlier questions and answers that are looked back to."
    )
    answer_words: int = Field(
        default=80, ge=0, le=400, description="Words of each earlier answer that are looked at; 0 leaves answers out."
    )


class RewriteInput(BaseModel):
    question: str
    chat: str = Field(description="The earlier turns as the model reads them, the oldest first.")
    turns: list[Turn] = Field(description="The same.")


class RewriteOutput(BaseModel):
    query: str = Field(min_length=1, description="The question, complete in itself; unchanged where it already is.")
    changes: list[str] = Field(default_factory=list, description="What was changed, each like: 'it' is DataWeave.")


def rewrite_by_rules(inputs: RewriteInput, reading: Reading) -> RewriteOutput:
    """Drop filler, complete fragments by the question before, put in what 'it' and the like stand for."""
    questions, answers = [turn.question for turn in inputs.turns], [turn.answer for turn in inputs.turns]
    query, changes = standing_alone(inputs.question, questions, answers, reading)
    return RewriteOutput(query=query, changes=changes)


REWRITE = Signature(
    name="rewrite.query",
    inputs=RewriteInput,
    outputs=RewriteOutput,
    prompt="""\
Rewrite the last question of a chat so that it can be understood, and searched for, without the chat.
Replace words like 'it', 'they', 'that company', 'then' by what they stand for; complete fragments like 'and in 2022?'.
Leave out greetings and politeness. Keep names, numbers, units and technical terms exactly as they are written.
Add nothing else, answer nothing; a question that needs no rewriting stays as it is.

The chat so far:
{chat}

The last question: {question}
""",
    keyless=rewrite_by_rules,
    max_tokens=300,
)


class Rewritten(Value):
    """What to search for, and what was done to come to it."""

    query: str
    changes: tuple[str, ...] = Field(description="In words; empty where the question is left as it is.")


class Rewrite:
    """Makes questions of a chat stand alone."""

    def __init__(self, settings: RewriteSettings, engine: Engine, reading: Reading) -> None:
        self._settings = settings
        self._engine = engine
        self._reading = reading

    def rewrite(self, question: str, turns: Sequence[Turn], watch: Watch) -> Rewritten:
        """Give the question as a query that stands alone.

        Args:
            turns: The earlier turns of the chat, the oldest first.
        """
        asked = self._asked(question, turns)
        nothing_to_do = not asked.turns and not without_filler(question)[1]
        if nothing_to_do or is_small_talk(question):
            return Rewritten(query=question, changes=())
        told = self._engine.complete(REWRITE, asked, self._reading, watch)
        lost = _lost(question, told.query)
        if not lost:
            return _as_rewritten(question, told)
        by_rules = _as_rewritten(question, rewrite_by_rules(asked, self._reading))
        refused = f"the model's rewriting was not used: it lost {', '.join(map(repr, lost))}"
        return by_rules.model_copy(update={"changes": (*by_rules.changes, refused)})

    def _asked(self, question: str, turns: Sequence[Turn]) -> RewriteInput:
        looked_at = turns[-self._settings.turns :] if self._settings.turns else []
        kept = [
            Turn(question=turn.question, answer=" ".join(turn.answer.split()[: self._settings.answer_words]))
            for turn in looked_at
        ]
        chat = "\n".join(f"Question: {turn.question}\nAnswer: {quoted(turn.answer)}" for turn in kept)
        return RewriteInput(question=question, chat=chat or "(nothing)", turns=kept)


def _as_rewritten(question: str, told: RewriteOutput) -> Rewritten:
    query = " ".join(told.query.split())
    if query == " ".join(question.split()):
        return Rewritten(query=question, changes=())
    return Rewritten(query=query, changes=tuple(told.changes) or ("reworded",))


def _lost(question: str, query: str) -> list[str]:
    """The names and numbers of the question that the query does not have."""
    said = without_filler(question)[0]
    terms = [*names_of(said), *re.findall(r"\b\d+(?:[.,]\d+)*\b", said)]
    return [term for term in terms if not re.search(rf"(?<!\w){re.escape(term)}(?!\w)", query, re.IGNORECASE)]


REWRITE_TECHNIQUE = Technique(
    name="rewrite",
    label="rewrite for search",
    group="question",
    summary="Drops filler and puts in what 'it' and 'that company' stand for in a chat.",
    settings=RewriteSettings,
    verb=Rewrite.rewrite,
    signatures=(REWRITE,),
)
