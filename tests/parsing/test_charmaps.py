from __future__ import annotations

import pytest

from rag_core.parsing.charmaps import is_garbled
from tests.parsing import pdfs

PROSE = pdfs.BODY * 2


def shifted(text: str) -> str:
    """What a font without a character map gives: glyph numbers, 29 below the letters."""
    return "".join(chr(ord(letter) - 29) if letter.isalpha() else letter for letter in text)


@pytest.mark.parametrize(
    "text",
    [
        shifted(PROSE),
        "".join(chr(0xF000 + ord(letter)) if letter.isalpha() else letter for letter in PROSE),
        PROSE.replace("e", "\ufffd").replace("t", "\ufffd"),
        PROSE.replace("e", "ε").replace("a", "д"),
    ],
    ids=["glyph numbers", "private use", "replacement", "alphabets mixed in words"],
)
def test_wrong_characters_are_recognised(text: str) -> None:
    assert is_garbled([text])


@pytest.mark.parametrize(
    "text",
    [
        PROSE,
        "Die Behörde maß zweimal täglich den Wasserstand und schrieb ihn in ein gebundenes Buch. " * 4,
        "Управление порта измеряло прилив дважды в день и записывало его в книгу. " * 4,
        "港湾局は一日に二回潮位を測り、台帳に書き込んだ。" * 12,
        "where α and β denote the step sizes, x∈R and ∇f(x) is the gradient of the loss f at x. " * 4,
        "NYSE DJTC SGPS HDFC BMW LVMH GPRS HTTP",
        "12,341 4.5 % (88) 1,020 " * 40,
        "",
    ],
    ids=["English", "German", "Russian", "Japanese", "mathematics", "few letters", "numbers", "nothing"],
)
def test_right_characters_are_left_alone(text: str) -> None:
    assert not is_garbled([text])
