"""A user's own classes and functions in place of techniques.

A class derived from the technique's own takes the place of the whole. Another class, made with the same arguments,
lends its verb; a plain function is the verb: all else stays the technique's own.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from typing import Any, TypeVar

from rag_core.errors import RagError
from rag_core.techniques.base import Technique

T = TypeVar("T")


class ReplacementError(RagError):
    """What was given for a technique cannot take its place."""

    def __init__(self, name: str, reason: str) -> None:
        super().__init__(f"The technique {name!r} cannot be replaced so: {reason}.")
        self.name, self.reason = name, reason


class Replacements:
    """What is used instead of techniques, by name.

    Raises:
        ReplacementError: A technique does not exist or has no verb of its own, or what is given has another verb, or
            takes other arguments.
    """

    def __init__(self, given: Mapping[str, Callable[..., Any]], techniques: Mapping[str, Technique]) -> None:
        self._given = dict(given)
        self._verbs: dict[str, str] = {}
        for name, replacement in self._given.items():
            verb = techniques[name].verb if name in techniques else None
            if verb is None:
                replaceable = ", ".join(key for key, technique in techniques.items() if technique.verb)
                raise ReplacementError(name, f"these can be: {replaceable}")
            self._verbs[name] = verb.__name__
            _check(name, replacement, verb)

    def made(self, name: str, own: type[T], *collaborators: Any) -> T:
        """The technique to work with: the user's where there is one, else our own."""
        replacement = self._given.get(name)
        if replacement is None:
            return own(*collaborators)
        if isinstance(replacement, type):
            theirs = replacement(*collaborators)
            if isinstance(theirs, own):
                return theirs
            replacement = getattr(theirs, self._verbs[name])
        technique = own(*collaborators)
        setattr(technique, self._verbs[name], replacement)
        return technique


def _check(name: str, replacement: Callable[..., Any], verb: Callable[..., Any]) -> None:
    wanted = list(inspect.signature(verb).parameters.values())[1:]
    form = f"{verb.__name__}({', '.join(parameter.name for parameter in wanted)})"
    if not callable(replacement):
        raise ReplacementError(name, f"give a function {form}, or a class that has it")
    takes = replacement
    if isinstance(replacement, type):
        takes = getattr(replacement, verb.__name__, None)
        if not callable(takes):
            raise ReplacementError(name, f"the class {replacement.__name__} needs a method {form}")
    positional = [parameter.name for parameter in wanted if parameter.kind is not parameter.KEYWORD_ONLY]
    keywords = {parameter.name: None for parameter in wanted if parameter.kind is parameter.KEYWORD_ONLY}
    self_ = [None] if isinstance(replacement, type) else []
    try:
        inspect.signature(takes).bind(*self_, *positional, **keywords)
    except TypeError as error:
        raise ReplacementError(name, f"it is called as {form}") from error
