"""The colours: said once, the same to Streamlit, and readable."""

from __future__ import annotations

import re
import tomllib

import pytest

from pages._look.files import HERE, LOOK_STAMP, look_file
from rag_core.settings import ROOT

PAIR = re.compile(r"--([\w-]+): light-dark\((#\w{6}), (#\w{6})\)")
TOKENS = {name: (light, dark) for name, light, dark in PAIR.findall((HERE / "tokens.css").read_text())}
THEME = tomllib.loads((ROOT / ".streamlit" / "config.toml").read_text())["theme"]
SAME = {
    "primaryColor": "accent",
    "backgroundColor": "paper",
    "secondaryBackgroundColor": "panel",
    "textColor": "ink",
    "linkColor": "accent",
    "borderColor": "line",
    "greenColor": "full",
    "orangeColor": "part",
    "redColor": "none",
}
READ = [
    *(("ink", ground) for ground in ("paper", "panel", "sunk", "accent-wash")),
    *(("soft", ground) for ground in ("paper", "panel", "sunk")),
    *((colour, f"{colour}-wash") for colour in ("accent", "full", "part", "none")),
    *((f"p{phase}", "panel") for phase in range(5)),
    ("accent", "paper"),
    ("on-accent", "accent"),
]


@pytest.mark.parametrize(("at", "scheme"), enumerate(("light", "dark")))
def test_streamlit_is_told_the_same_colours(at: int, scheme: str) -> None:
    assert {key: THEME[scheme][key] for key in SAME} == {key: TOKENS[token][at] for key, token in SAME.items()}
    assert THEME[scheme]["sidebar"]["backgroundColor"] == TOKENS["sunk"][at]


@pytest.mark.parametrize(("ink", "ground"), READ)
@pytest.mark.parametrize("at", [0, 1], ids=["light", "dark"])
def test_text_can_be_read_on_its_ground(ink: str, ground: str, at: int) -> None:
    assert contrast(TOKENS[ink][at], TOKENS[ground][at]) >= 4.5


def contrast(one: str, other: str) -> float:
    """The contrast ratio of WCAG 2.2, 1 to 21."""
    bright, dim = sorted((luminance(one), luminance(other)), reverse=True)
    return (bright + 0.05) / (dim + 0.05)


def luminance(colour: str) -> float:
    parts = [int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)]
    linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
    return sum(weight * part for weight, part in zip((0.2126, 0.7152, 0.0722), linear, strict=True))


def test_no_module_reads_markup() -> None:
    """Text of documents and models becomes elements in dom.js alone, through textContent."""
    forbidden = re.compile(r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|\beval\(")
    assert [path.name for path in HERE.glob("*.js") if forbidden.search(path.read_text())] == []


def test_the_address_of_the_modules_changes_with_them() -> None:
    assert re.fullmatch(r"[0-9a-f]{12}", LOOK_STAMP)
    assert look_file("dom.js") is not None
    assert look_file("files.py") is None
    assert look_file("../ask.py") is None
