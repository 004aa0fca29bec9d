"""Reflection tokens: which there are, and what a reply says with them."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import NamedTuple

from rag_core.llm.likelihood import Scored

Shares = dict[str, float]
"""How probable each meaning of a reflection token is; empty where a reply has none of its kind."""

RETRIEVE = {
    "[Retrieval]": "yes",
    "[Retrieve]": "yes",
    "[No Retrieval]": "no",
    "[Continue to Use Evidence]": "continue",
    "[Continue]": "continue",
}
ISREL = {"[Relevant]": "relevant", "[Irrelevant]": "irrelevant"}
ISSUP = {
    "[Fully supported]": "fully",
    "[Partially supported]": "partially",
    "[No support / Contradictory]": "none",
    "[No support]": "none",
    "[Contradictory]": "against",
}
ISUSE = {f"[Utility:{use}]": str(use) for use in range(1, 6)}
_TOKEN = re.compile(
    "|".join(map(re.escape, [*RETRIEVE, *ISREL, *ISSUP, *ISUSE])) + r"|</?(?:s|p|paragraph)>", re.IGNORECASE
)
_SPOILT = str.maketrans("[]<>", "()()")


class Mark(NamedTuple):
    """A reflection token in a reply."""

    start: int
    end: int
    shares: Shares


def mark_of(reply: Scored, tokens: Mapping[str, str], begin: int = 0) -> Mark | None:
    """The first reflection token of a kind, from a place on."""
    said = reply.text.lower()
    found = [(at, -len(token), token) for token in tokens if (at := said.find(token.lower(), begin)) >= 0]
    if not found:
        return None
    start, length, _ = min(found)
    shares = dict.fromkeys(tokens.values(), 0.0)
    for token, share in reply.probabilities(start, list(tokens)).items():
        shares[tokens[token]] += share
    return Mark(start, start - length, shares)


def without_tokens(text: str) -> str:
    """The text without reflection tokens."""
    return " ".join(_TOKEN.sub(" ", text).split())


def spoilt(text: str) -> str:
    """The text with reflection tokens of its own spoilt: a document cannot judge itself."""
    return _TOKEN.sub(lambda token: token[0].translate(_SPOILT), text)
