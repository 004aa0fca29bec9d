"""Cutting text into sentences, without a model and without a download."""

from __future__ import annotations

import re

# A full stop after these ends no sentence.
_ABBREVIATIONS = frozenset(
    """mr mrs ms dr prof st sr jr inc ltd co corp llc plc vs etc al fig figs eq eqs no nos vol pp p ed eds e.g i.e cf
    approx dept est jan feb mar apr jun jul aug sep sept oct nov dec u.s u.k u.n a.m p.m ph.d sec ref refs""".split()
)
_END = re.compile(r"([.!?…]+[\"'”’)\]]*|[。！？]+)(\s+|(?<=[。！？])|$)")
_BULLET = re.compile(r"\n\s*(?:[•▪◦‣*\-–]|\d{1,2}[.)])\s+")


def sentences(text: str) -> list[str]:
    """The sentences of a text in order; bullets and blank lines end a sentence too.

    Joined, they hold every word of the text.
    """
    parts: list[str] = []
    for block in re.split(r"\n\s*\n", text):
        for line in _BULLET.split(f"\n{block}"):
            parts.extend(_cut(" ".join(line.split())))
    return parts


def _cut(line: str) -> list[str]:
    found, start = [], 0
    for match in _END.finditer(line):
        if _goes_on(line, start, match):
            continue
        found.append(line[start : match.end()].strip())
        start = match.end()
    found.append(line[start:].strip())
    return [sentence for sentence in found if sentence]


def _goes_on(line: str, start: int, match: re.Match[str]) -> bool:
    if match.group(1) != "." or match.end() == len(line):
        return False
    before = line[start : match.start()].rsplit(maxsplit=1)
    last = before[-1].lstrip("(\"'“") if before else ""
    after = line[match.end()]
    initial = len(last) == 1 and last.isupper() and len(before) > 1
    return last.lower() in _ABBREVIATIONS or initial or after.islower()
