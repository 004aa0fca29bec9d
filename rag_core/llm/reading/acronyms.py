"""Acronyms with their long forms, where a text introduces them."""

from __future__ import annotations

import re

_IN_BRACKETS = re.compile(r"\(([A-Z][A-Za-z0-9&./-]{1,9})\)")


def acronyms_of(text: str) -> dict[str, str]:
    """Long forms by acronym: 'earnings per share (EPS)' gives {'EPS': 'earnings per share'}.

    Source: Schwartz and Hearst 2003, "A Simple Algorithm for Identifying Abbreviation Definitions in Biomedical Text",
    https://doi.org/10.1142/9789812776303_0042
    """
    found: dict[str, str] = {}
    for match in _IN_BRACKETS.finditer(text):
        short = match.group(1)
        before = text[: match.start()].split()[-min(len(short) + 5, 2 * len(short)) :]
        if sum(mark.isupper() for mark in short) >= 2 and (long := _long_form(short, " ".join(before))):
            found.setdefault(short, long)
    return found


def _long_form(short: str, before: str) -> str | None:
    """The shortest end of `before` with the letters of `short` in order, the first of them at the start of a word."""
    letters = [mark.lower() for mark in short if mark.isalnum()]
    at = len(before)
    for number, letter in reversed(list(enumerate(letters))):
        at -= 1
        while at >= 0 and (before[at].lower() != letter or (number == 0 and at > 0 and before[at - 1].isalnum())):
            at -= 1
        if at < 0:
            return None
    long = before[at:].strip()
    return long if len(long) > len(short) and short not in long.split() else None
