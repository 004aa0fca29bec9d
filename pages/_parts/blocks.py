"""Read-only lists as one block of HTML each: every text goes through `escape` here and nowhere else."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable
from html import escape

from pages._parts.library import size
from rag_core.workbench import PartHealth, StoragePart


def health_list(parts: Iterable[PartHealth]) -> str:
    """Each part with its state as symbol and word, what to do where it is not well, and its details."""
    return f'<ul class="list">{"".join(map(_part, parts))}</ul>'


def _part(part: PartHealth) -> str:
    chip = '<span class="chip full">● well</span>' if part.ok else '<span class="chip none">○ not well</span>'
    advice = f"<p>{escape(part.advice)}</p>" if part.advice else ""
    rows = "".join(f"<dt>{escape(name)}</dt><dd>{escape(text)}</dd>" for name, text in part.details.items())
    details = f"<details><summary>Details</summary><dl>{rows}</dl></details>" if rows else ""
    return f"<li><div><b>{escape(part.part)}</b><small>{escape(part.summary)}</small>{advice}{details}</div>{chip}</li>"


def limit_list(limits: Iterable[tuple[str, str, str, str]]) -> str:
    """Each limit as (what, value, what happens beyond it, environment variable)."""
    rows = (
        f"<li><div><b>{escape(what)}</b><small>{escape(beyond)}</small><code>{escape(variable)}</code></div>"
        f'<span class="num">{escape(value)}</span></li>'
        for what, value, beyond, variable in limits
    )
    return f'<ul class="list">{"".join(rows)}</ul>'


def storage_list(parts: Iterable[StoragePart]) -> str:
    """What each part takes on the disk."""
    rows = (
        f"<li><div><b>{escape(one.part)}</b><small>{escape(one.what)}</small></div>"
        f'<span class="num">{size(one.bytes) if one.bytes else "–"}</span></li>'
        for one in parts
    )
    return f'<ul class="list">{"".join(rows)}</ul>'


def upload_report(summary: str, sentences: Iterable[tuple[str, str]]) -> str:
    """What became of a batch of files: in short, and a sentence on each (name, sentence) that is not as usual."""
    rows = "".join(
        f"<li><div><b>{escape(name)}</b><small>{escape(sentence)}</small></div></li>" for name, sentence in sentences
    )
    return (
        f'<div class="report" role="status"><p>{escape(summary)}</p>' + (f"<ul>{rows}</ul>" if rows else "") + "</div>"
    )


def placeholder_list(allowed: Iterable[str], default: str) -> str:
    """The placeholders that a prompt may have, those of the default prompt first and marked."""
    used = [name for name in allowed if f"{{{name}}}" in default]
    chips = [f'<code class="chip on">{{{escape(name)}}}</code>' for name in used]
    chips += [f'<code class="chip">{{{escape(name)}}}</code>' for name in allowed if name not in used]
    return f'<div class="placeholders"><small>It can fill</small> {" ".join(chips)}</div>'


def word_diff(before: str, after: str) -> str:
    """The later text with what went struck and what came marked, word by word."""
    old, new = re.findall(r"\s+|\S+", before), re.findall(r"\s+|\S+", after)
    parts = []
    for what, at, to, at_new, to_new in difflib.SequenceMatcher(None, old, new, autojunk=False).get_opcodes():
        gone, come = escape("".join(old[at:to])), escape("".join(new[at_new:to_new]))
        if what == "equal":
            parts.append(gone)
        else:
            parts.append((f"<del>{gone}</del>" if gone else "") + (f"<ins>{come}</ins>" if come else ""))
    return f'<div class="diff">{"".join(parts)}</div>'


def escaped(text: str) -> str:
    """A name as it stands, in a label that is read as markdown."""
    return "".join(f"\\{sign}" if sign in r"\`*_{}[]()#+-.!|<>~:$&" else sign for sign in text)
