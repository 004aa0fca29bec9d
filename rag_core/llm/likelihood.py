"""How likely the words of a reply were, for replies whose labels are judgements.

An endpoint that gives log-probabilities tells for every token what else could have stood there. Where a reply has one
label of a set, these give the probability of each label, also where a label is made of several tokens.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

ALTERNATIVES = 5
"""Asked for at each token: the most that every endpoint gives."""


@dataclass(frozen=True)
class Token:
    """A piece of a reply, and the log-probability of each text that could have stood there, its own among them."""

    text: str
    logprobs: Mapping[str, float]


@dataclass(frozen=True)
class Scored:
    """A reply's text, and the tokens of all that was written; none where the endpoint gives none.

    Args:
        offset: Where the text begins in what the tokens spell: thoughts come before it.
    """

    text: str
    tokens: tuple[Token, ...] = ()
    offset: int = 0

    def probabilities(self, start: int, labels: Sequence[str]) -> dict[str, float]:
        """The probability of each label at a place where one of them stands; without tokens all of it is that one's.

        Args:
            start: Where in the text the label begins; its capitals do not count.

        Returns:
            By label, in the order given, summing to 1; all 0 where none of them stands there.
        """
        shares = dict.fromkeys(labels, 0.0)
        left, reached, begun = list(labels), 1.0, ""
        for token, lead in self._from(start):
            if len(left) < 2:
                break
            for text, logprob in token.logprobs.items():
                fitting = _fitting(left, begun, lead, text)
                # What fits all of them ('[', say) tells them not apart.
                if text != token.text and len(fitting) < len(left):
                    for label in fitting:
                        shares[label] += reached * math.exp(logprob) / len(fitting)
            reached *= math.exp(token.logprobs.get(token.text, 0.0))
            left = _fitting(left, begun, lead, token.text)
            begun += token.text[len(lead) :]
        if stands := [label for label in left if self.text[start:].lower().startswith(label.lower())]:
            shares[max(stands, key=len)] += reached
        total = sum(shares.values())
        return {label: share / total for label, share in shares.items()} if total else shares

    def _from(self, start: int) -> Iterator[tuple[Token, str]]:
        """The tokens from that place on, each with what it says before it."""
        at = -self.offset
        for token in self.tokens:
            if at + len(token.text) > start:
                yield token, token.text[: max(0, start - at)]
            at += len(token.text)


def scored(text: str, tokens: Sequence[Token]) -> Scored:
    """A reply's text, cut out of all that was written, with the tokens of the whole.

    Without tokens where they do not spell it: some endpoints cut characters in two.
    """
    offset = "".join(token.text for token in tokens).rfind(text)
    return Scored(text, tuple(tokens), offset) if offset >= 0 else Scored(text)


def _fitting(labels: Sequence[str], begun: str, lead: str, text: str) -> list[str]:
    """The labels that may stand there, `begun` being written, when a token says `lead` and then goes on with them."""
    if not text.startswith(lead) or not (said := begun + text[len(lead) :]):
        return []
    pairs = [(label, label.lower(), said.lower()) for label in labels]
    return [label for label, whole, part in pairs if whole.startswith(part) or part.startswith(whole)]
