from typing import Any

import pytest

from rag_core.techniques.base import Technique, TechniqueSettings
from rag_core.techniques.replacements import ReplacementError, Replacements


class Shout:
    def __init__(self, settings: TechniqueSettings, mark: str) -> None:
        self.mark = mark

    def say(self, text: str, *, twice: bool = False) -> str:
        return text.upper() + self.mark

    def other(self) -> str:
        return self.say("other")


class Whisper(Shout):
    def say(self, text: str, *, twice: bool = False) -> str:
        return text.lower() + self.mark


TECHNIQUES = {
    "shout": Technique("shout", "shout", "answer", "Shouts.", TechniqueSettings, verb=Shout.say),
    "fixed": Technique("fixed", "fixed", "answer", "Cannot be replaced.", TechniqueSettings),
}


def made(**given: Any) -> Shout:
    return Replacements(given, TECHNIQUES).made("shout", Shout, TechniqueSettings(), "!")


def test_without_a_replacement_it_is_our_own() -> None:
    assert type(made()) is Shout


def test_a_class_gets_the_same_collaborators() -> None:
    assert made(shout=Whisper).say("Hm") == "hm!"


def test_a_function_takes_the_place_of_the_verb_and_of_nothing_else() -> None:
    technique = made(shout=lambda text, twice=False: text * 2)
    assert technique.say("ab", twice=True) == "abab"
    assert technique.other() == "otherother"
    assert technique.mark == "!"


@pytest.mark.parametrize(
    ("name", "given", "said"),
    [
        ("gone", str, "'gone' cannot be replaced so: these can be: shout"),
        ("fixed", str, "these can be: shout"),
        ("shout", "no function", r"give a function say\(text, twice\)"),
        ("shout", lambda: "", r"it is called as say\(text, twice\)"),
        ("shout", lambda text, volume, twice=False: "", r"it is called as say\(text, twice\)"),
        ("shout", type("Mute", (), {}), r"the class Mute needs a method say\(text, twice\)"),
        ("shout", type("Odd", (), {"say": lambda self: ""}), r"it is called as say\(text, twice\)"),
    ],
)
def test_what_cannot_take_its_place_is_refused_with_what_can(name: str, given: Any, said: str) -> None:
    with pytest.raises(ReplacementError, match=said):
        Replacements({name: given}, TECHNIQUES)


def test_a_class_that_has_the_verb_alone_lends_it() -> None:
    class Mumble:
        def __init__(self, settings: TechniqueSettings, mark: str) -> None:
            self.mark = mark

        def say(self, text: str, *, twice: bool = False) -> str:
            return f"mm {text}"

    mumbling = made(shout=Mumble)
    assert mumbling.say("hm") == "mm hm"
    assert mumbling.other() == "mm other"
