"""Auto: the kind of the question chooses which techniques answer it.

A lookup needs one search, a comparison one for each side, a question that goes through an unnamed thing one after the
other. The kind, why, and the plan that comes of it are shown and can be overridden. Costs one short model call;
without a model the wording decides, in a millisecond.

Source: Jeong et al. 2024, "Adaptive-RAG", https://arxiv.org/abs/2403.14403
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any, Literal, get_args

from pydantic import BaseModel, Field

from rag_core.llm.engine import Engine, Watch
from rag_core.llm.reading.names import names_of, periods_of
from rag_core.llm.reading.reading import Reading
from rag_core.llm.reading.small_talk import is_small_talk
from rag_core.llm.reading.words import words
from rag_core.llm.signature import Signature
from rag_core.techniques.base import Technique, TechniqueSettings
from rag_core.types import Value

Kind = Literal["lookup", "comparison", "multi_hop", "summary", "table", "relation", "chit_chat"]
KINDS: tuple[Kind, ...] = get_args(Kind)

PLANS: Mapping[Kind, Mapping[str, Mapping[str, Any]]] = {
    "lookup": {"hybrid": {"limit": 10}, "rerank": {}},
    "comparison": {"hybrid": {"limit": 15}, "multimodal": {}, "rerank": {}, "sub_queries": {}},
    "multi_hop": {"hybrid": {"limit": 15}, "rerank": {}, "multi_hop": {}},
    "summary": {"hybrid": {"limit": 20}, "expand": {}},
    "table": {"hybrid": {"limit": 15}, "multimodal": {}, "rerank": {}},
    "relation": {"hybrid": {"limit": 15}, "rerank": {}, "multi_hop": {"max_hops": 2}},
    "chit_chat": {"gate": {}},
}
"""The techniques that each kind switches on, with their settings, besides those of the plan that it starts from."""


class AutoSettings(TechniqueSettings):
    """How the kind is found."""

    kind: Literal["auto", "lookup", "comparison", "multi_hop", "summary", "table", "relation", "chit_chat"] = Field(
        default="auto", description="The kind to take a question for; 'auto' looks at its wording."
    )


class KindInput(BaseModel):
    question: str


class KindOutput(BaseModel):
    kind: Kind = Field(
        description="lookup (one fact) | comparison (two or more things or times held against each other) | multi_hop "
        "(goes through a thing that it does not name) | summary (an overview) | table (a number as tables have) | "
        "relation (how people, parts or organisations hang together) | chit_chat (no question for documents)"
    )
    reason: str = Field(default="", description="Why, in a few words.")


_COMPARES = re.compile(
    r"\bcompar\w+|\bdiffer(?:s|ed|ences?)?\b|\bdifferent(?:ly)? (?:from|than|to)\b|\bversus\b|\bvs\b|\bin common\b"
    r"|\b(?:dis)?agree\b|\bboth\b"
    r"|\b(?:more|less|fewer|\w{2,}er) (?:\w+ ){0,4}?than\b|\bhow (?:much|many) (?:\w+ ){0,3}?(?:more|less|fewer)\b"
    r"|\b(?:sum|total|ratio|average|gap) of .+ and\b|\bthe same \w+\b|\brelative to\b",
    re.IGNORECASE,
)
_RANKS = re.compile(
    r"^(?:which|what|who)(?: (?!is\b|was\b|are\b|were\b|did\b|does\b|do\b|in\b|of\b)[\w'’-]+){1,3}?"
    r" (?:\w+ )?(?:(?:the )?(?:most|least|first|last|earlier|later)|(?!west|interest)\w{3,}est)\b",
    re.IGNORECASE,
)
_EITHER = re.compile(r",? or (?:the )?[^\s,]", re.IGNORECASE)
_CHANGED = re.compile(r"\b(?:grow|grew|change|rise|rose|fall|fell|increase|decrease|drop|decline)\w*\b", re.IGNORECASE)
_THING = r"(?:the|an?|this|that|these|those)(?: [\w'’.&-]+,?){1,6}?"
_THROUGH = re.compile(
    rf"\b{_THING},? (?:that|which|who|whose|whom|where|(?:in|to|for|with|on|of|at|from|after) (?:which|whom))\b"
    r"|\bwhose\b"
    r"|\b(?!and\b)[\w'’-]+ (?:that|who) (?:was|were|is|are|had|has|won|led|made|wrote|directed|tried|competed)\b",
    re.IGNORECASE,
)
_KIN = (
    r"(?:father|mother|husband|wife|spouse|son|daughter|brother|sister|sibling|parent|child|stepmother|stepfather|"
    r"director|composer|author|writer|producer|performer|singer|creator|publisher|owner)"
)
_GENERATIONS = re.compile(r"\b(?:\w+-in-law|grand(?:father|mother|son|daughter|child))\b", re.IGNORECASE)
_OF_KIN = re.compile(rf"\bthe {_KIN}s? of\b|['’]s? {_KIN}\b", re.IGNORECASE)
_ASKS_FOR_KIN = re.compile(
    rf"^who (?:is|was|are|were) (?:the )?(?:[\w .'’()-]+['’]s? )?{_KIN}\b(?! of (?:the )?{_KIN})", re.IGNORECASE
)
_LATE_WH = re.compile(r"(?<!^)\b(?:what|which|whom?|whose)\b(?! (?:is|was|are|were)\b)", re.IGNORECASE)
_EARLY_WH = re.compile(r"^(?:[a-z]+ )?(?:what|which|who|whom|whose|when|where|why|how)\b", re.IGNORECASE)
_SET_BEFORE = re.compile(
    r"^(?:in|on|at|for|from|during|after|before|as|by|with|according to)\b[^,?]+,\s*", re.IGNORECASE
)
_ASKS_SUMMARY = re.compile(r"(?:please )?(?:give (?:me )?an? )?summar", re.IGNORECASE)
_SUMS_UP = re.compile(
    r"\bsummary\b|\boverview\b|\boutline\b|\bin (?:brief|short|a nutshell)\b|^(?:describe|explain|tell me about)\b"
    r"|\b(?:main|key|major|central|principal|overall) (?:\w+ )?(?:risks?|points?|findings?|ideas?|topics?|themes?|"
    r"results?|messages?|takeaways?|arguments?|conclusions?|contributions?|reasons?|challenges?|goals?|rules?)\b"
    r"|\bwhat (?:is|are) .+ (?:all )?about\b|^what (?:happens|could|might|should)\b"
    r"|^how (?:is|are|does|do|can|should)\b|^why\b"
    r"|\bwhat (?:does|do|did) .+ (?:expect|recommend|propose|suggest|conclude|argue|say|think)\b",
    re.IGNORECASE,
)
_RELATES = re.compile(
    r"\brelat(?:ed|es?|ion|ions|ionship|ionships)\b|\bconnect(?:ed|s|ion|ions)?\b"
    r"|\bdepend(?:s|ed|ent|encies|ency)?\b|\breports? to\b|\bto whom\b|\bbuilt (?:up)?on\b|\bsubsidiar(?:y|ies)\b"
    r"|\bon (?:what|which) .+ (?:built|based|depend)\b|\b(?:linked|tied) (?:to|with)\b|\bmembers? of\b"
    r"|\bwork(?:s|ed)? (?:with|together)\b"
    r"|\b(?:who|which \w+|what \w+) (?:leads?|led|owns?|owned|sponsors?|sponsored|manages?|managed|supplies|supplied|"
    r"bought|acquired|invested|funds?|funded|finances?|financed|runs?|chairs?|chaired|heads?|headed|partnered)\b",
    re.IGNORECASE,
)
_MEASURES = re.compile(
    r"\b(?:revenues?|sales|profits?|income|earnings|margins?|costs?|expenses?|expenditures?|capex|assets|liabilities|"
    r"debt|cash|receivables|payables|inventor(?:y|ies)|dividends?|shares?|prices?|rates?|percent(?:age)?|headcount|"
    r"salar(?:y|ies)|limits?|fees?|budget|spend(?:ing)?|spent|accuracy|score|f1|number of)\b|%|[$€£]",
    re.IGNORECASE,
)
_QUANTITY = re.compile(
    r"^(?:[a-z]+ )?how (?:much|many)\b|\b(?:what|which) (?:percentage|share|number|amount|fraction|proportion)\b",
    re.IGNORECASE,
)
_ALTERNATIVES_NOT = re.compile(r"(?:how|when|where|why)\b", re.IGNORECASE)
_DRAWN = re.compile(r"\b(?:table|chart|figure|graph|plot|diagram|row|column|axis)s?\b", re.IGNORECASE)


def kind_by_rules(inputs: KindInput, _reading: Reading) -> KindOutput:
    return kind_of(inputs.question)


def kind_of(question: str) -> KindOutput:
    """The kind by the wording of the question, by the first rule that fits; a lookup where none does."""
    question = " ".join(question.split())
    for kind, rule in _RULES:
        if why := rule(question):
            return KindOutput(kind=kind, reason=why)
    return KindOutput(kind="lookup", reason="It asks for one fact.")


def _compared(question: str) -> str:
    if said := _found(_COMPARES, question, "It compares: {}."):
        return said
    if len(set(periods_of(question))) > 1 and _CHANGED.search(question):
        return "It asks for the change between two periods."
    if _EITHER.search(question) and len(names_of(question)) > 1 and not _ALTERNATIVES_NOT.match(question):
        return "It asks for one or the other."
    return _found(_RANKS, question, "It asks which is first among several: {}.")


def _gone_through(question: str) -> str:
    """Why a question goes through something that it does not name; empty where it does not."""
    if said := _found(_THROUGH, question, "It goes through something that it does not name: {}."):
        return said
    if _OF_KIN.search(question) and not _ASKS_FOR_KIN.match(question):
        return "It asks about somebody who is only told by whose they are."
    if _GENERATIONS.search(question):
        return "It goes over two generations or families."
    if not _EARLY_WH.match(_SET_BEFORE.sub("", question)) and _LATE_WH.search(question) and len(words(question)) > 8:
        return "It describes one thing to ask for another."
    return ""


def _tabled(question: str) -> str:
    if said := _found(_DRAWN, question, "It speaks of a {}."):
        return said
    asks = _QUANTITY.search(question) or question.lower().startswith("what ")
    if asks and _MEASURES.search(question) and (periods_of(question) or _QUANTITY.search(question)):
        return "It asks for a figure as tables have them."
    return ""


def _found(pattern: re.Pattern[str], question: str, why: str) -> str:
    match = pattern.search(question)
    return why.format(repr(match.group().strip(" ,"))) if match else ""


_RULES: tuple[tuple[Kind, Callable[[str], str]], ...] = (
    ("chit_chat", lambda question: "It asks nothing." if is_small_talk(question) else ""),
    ("comparison", _compared),
    ("summary", lambda question: "It asks for a summary." if _ASKS_SUMMARY.match(question) else ""),
    ("multi_hop", _gone_through),
    ("relation", lambda question: _found(_RELATES, question, "It asks how things hang together: {}.")),
    ("table", _tabled),
    ("summary", lambda question: _found(_SUMS_UP, question, "It asks for more than a fact: {}.")),
)


KIND = Signature(
    name="auto.kind",
    inputs=KindInput,
    outputs=KindOutput,
    prompt="""\
Of what kind is this question to a collection of documents? Where two fit, choose the one that needs more to answer.

Question: {question}
""",
    keyless=kind_by_rules,
    max_tokens=200,
)


class Chosen(Value):
    """The kind of a question and the techniques that it calls for."""

    kind: Kind
    why: str
    techniques: dict[str, dict[str, Any]] = Field(description="Settings by technique.")


class Auto:
    """Chooses the plan for a question."""

    def __init__(self, settings: AutoSettings, engine: Engine, reading: Reading) -> None:
        self._settings = settings
        self._engine = engine
        self._reading = reading

    def choose(self, question: str, watch: Watch) -> Chosen:
        """Find the question's kind and what answers it."""
        if self._settings.kind != "auto":
            kind, why = self._settings.kind, "You chose the kind."
        else:
            told = self._engine.complete(KIND, KindInput(question=question), self._reading, watch)
            kind, why = told.kind, told.reason
        return Chosen(kind=kind, why=why, techniques={name: dict(given) for name, given in PLANS[kind].items()})


AUTO_TECHNIQUE = Technique(
    name="auto",
    label="choose by question",
    group="question",
    summary="Finds out of what kind the question is and switches on what such questions need.",
    settings=AutoSettings,
    verb=Auto.choose,
    signatures=(KIND,),
)
