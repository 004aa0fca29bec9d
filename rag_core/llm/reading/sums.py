"""Sums, worked out by code: exactly, and within bounds of size."""

from __future__ import annotations

import ast
import math
import operator
import re
from collections.abc import Callable
from fractions import Fraction

from rag_core.types import Sentence

_LONGEST_SUM = 120
_MOST_BITS = 512
_MOST_DECIMALS = 10
_SPOKEN = (
    (r"\b(?:divided by|over)\b|÷", "/"),
    (r"\b(?:multiplied by|times)\b|×|·|(?<=[\d)])\s*[x]\s*(?=[\d(])", "*"),
    (r"\bplus\b", "+"),
    (r"\bminus\b|−|–", "-"),
    (r"\bmod(?:ulo)?\b", "%"),
    (r"\b(?:to the (?:power (?:of )?)?|raised to (?:the power of )?)(?=-?\d)|\^", "**"),
    (r"\bsquared\b", "**2"),
    (r"\bcubed\b", "**3"),
    (r"\b(?:the )?square root of\s*(\d+(?:\.\d+)?|\([^()]*\))|√\s*(\d+(?:\.\d+)?)", r"sqrt(\1\2)"),
    (r"(\d+(?:\.\d+)?)\s*(?:%|percent|per cent)\s+of\b", r"(\1/100)*"),
)
_TOLD_TO = re.compile(
    r"^(?:(?:hi|hello|hey|please|so|and|ok|then)[\s,]+)*(?:(?:can|could|would) you (?:please )?)?"
    r"(?:what(?:'s| is| are| does)|how much (?:is|are|does)|calculate|compute|work out|evaluate|solve|tell me)\s+"
    r"(?:what (?:is )?|the (?:result|value) of )?",
    re.IGNORECASE,
)
_ASKS_ON = re.compile(r"(?:\s*(?:[=?!.,]|\b(?:equals?|make|please|thanks)\b))+\s*$", re.IGNORECASE)
# '24/7', '2023-24', '555-1234', '10/15/2023': names and dates unless it is said that they are to be worked out.
_UNSPACED = re.compile(r"\d+[-/]\d+")
_DATE = re.compile(r"\d{1,4}([-/.])\d{1,2}\1\d{1,4}|(?:19|20)\d\d[-/](?:\d\d|(?:19|20)\d\d)")
_SUM = re.compile(r"(?:[\d\s.+*/%()-]|sqrt)+")
_SIGNS = {"**": "^", "*": " × ", "/": " ÷ ", "+": " + ", "-": " − ", "%": " mod "}


def sum_of(question: str) -> Sentence | None:
    """The sum that a message is, worked out; None where it is none.

    Never raises: a sum without a result, or one too large to write out, is answered by saying so.
    """
    sum_ = _as_sum(question)
    if sum_ is None:
        return None
    shown = re.sub(r"\*\*|[*/+%]|(?<=[\d)])-", lambda sign: _SIGNS[sign.group()], sum_).replace("-", "−")
    try:
        result = _shown(worked_out(sum_))
    except ZeroDivisionError:
        return Sentence(text=f"{shown} has no result: it divides by zero.", computed=shown)
    except OverflowError:
        return Sentence(text=f"{shown} is too large to be written out.", computed=shown)
    except ArithmeticError:
        return Sentence(text=f"{shown} has no real result.", computed=shown)
    except ValueError:
        return None
    return Sentence(text=f"{shown} {result}.", computed=f"{shown} {result}")


def worked_out(sum_: str) -> Fraction:
    """The exact value of a sum of numbers, signs, brackets and `sqrt`.

    Raises:
        ValueError: It is not one.
        ArithmeticError: It has no result; OverflowError where that is too large.
    """
    if len(sum_) > _LONGEST_SUM:
        raise ValueError("it is too long")
    try:
        tree = ast.parse(sum_.strip(), mode="eval")
    except (SyntaxError, RecursionError, MemoryError) as error:
        raise ValueError("it is no sum") from error
    return _value(tree.body)


def _as_sum(question: str) -> str | None:
    """The message as a sum in signs, where it is one and nothing else."""
    text = question.strip().replace("’", "'")
    if len(text) > 2 * _LONGEST_SUM:
        return None
    bare = _ASKS_ON.sub("", _TOLD_TO.sub("", text))
    told = bool(_TOLD_TO.match(text)) or "=" in text
    if _DATE.fullmatch(bare) or (not told and _UNSPACED.fullmatch(bare)):
        return None
    bare = re.sub(r"(?<![\d.])(\d{1,3}(?:,\d{3})+)(?![\d,])", lambda match: match.group().replace(",", ""), bare)
    for spoken, sign in _SPOKEN:
        bare = re.sub(spoken, sign, bare, flags=re.IGNORECASE)
    bare = "".join(bare.split()) if not re.search(r"[\d.)]\s+[\d.(]", bare) else ""
    works = re.search(r"[\d)](?:[+*/%-]+)[\d(.s-]|sqrt\(", bare)
    return bare if works and _SUM.fullmatch(bare) else None


_BINARY: dict[type[ast.operator], Callable[[Fraction, Fraction], Fraction]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.Mod: operator.mod,
}


def _value(node: ast.AST) -> Fraction:
    match node:
        case ast.Constant(value=int() | float() as number) if not isinstance(number, bool):
            return _bounded(Fraction(repr(number)))
        case ast.UnaryOp(op=ast.USub(), operand=operand):
            return -_value(operand)
        case ast.UnaryOp(op=ast.UAdd(), operand=operand):
            return _value(operand)
        case ast.BinOp(op=ast.Pow(), left=left, right=right):
            return _power(_value(left), _value(right))
        case ast.BinOp(op=sign, left=left, right=right) if type(sign) in _BINARY:
            return _bounded(_BINARY[type(sign)](_value(left), _value(right)))
        case ast.Call(func=ast.Name(id="sqrt"), args=[inside], keywords=[]):
            return _power(_value(inside), Fraction(1, 2))
    raise ValueError("it is no sum")


def _power(base: Fraction, exponent: Fraction) -> Fraction:
    if exponent.denominator == 1:
        bits = max(base.numerator.bit_length(), base.denominator.bit_length())
        if bits * abs(exponent) > 2 * _MOST_BITS:
            raise OverflowError
        return _bounded(base**exponent.numerator)
    if base < 0:
        raise ArithmeticError("a root of a negative number")
    if exponent == Fraction(1, 2):
        roots = math.isqrt(base.numerator), math.isqrt(base.denominator)
        if (roots[0] ** 2, roots[1] ** 2) == (base.numerator, base.denominator):
            return Fraction(*roots)
    return _bounded(Fraction(math.pow(base, exponent)))


def _bounded(number: Fraction) -> Fraction:
    if max(number.numerator.bit_length(), number.denominator.bit_length()) > _MOST_BITS:
        raise OverflowError
    return number


def _shown(number: Fraction) -> str:
    """'= 1,234.5', or '≈ 0.333333' where it has no end."""
    scaled = number * 10**_MOST_DECIMALS
    if scaled.denominator == 1:
        whole, part = divmod(abs(scaled.numerator), 10**_MOST_DECIMALS)
        decimals = f"{part:0{_MOST_DECIMALS}d}".rstrip("0")
        return f"= {'−' if number < 0 else ''}{whole:,}{'.' if decimals else ''}{decimals}"
    return f"≈ {float(number):,.6g}".replace("-", "−")
