import ast
from contextlib import suppress
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rag_core.llm.reading.sums import sum_of, worked_out

SUMS = st.recursive(
    st.integers(0, 999).map(str) | st.decimals(0, 99, places=2).map(str),
    lambda inner: (
        st.tuples(inner, st.sampled_from(["+", "-", "*", "/", "**", "%"]), inner).map(lambda t: f"({t[0]}{t[1]}{t[2]})")
        | inner.map(lambda t: f"-{t}")
    ),
    max_leaves=8,
)


@given(SUMS)
def test_sums_have_the_value_that_python_gives_them_or_none(sum_: str) -> None:
    try:
        value = worked_out(sum_)
    except (ValueError, ArithmeticError):
        return
    assert isinstance(value, Fraction)
    if "**" not in sum_:
        exact = ast.unparse(_Exact().visit(ast.parse(sum_, mode="eval")))
        assert value == eval(exact, {"Fraction": Fraction})


class _Exact(ast.NodeTransformer):
    def visit_Constant(self, node: ast.Constant) -> ast.AST:
        return ast.Call(ast.Name("Fraction"), [ast.Constant(repr(node.value))], [])


@given(st.text(alphabet="0123456789+-*/%^().,= xsqrt√×", max_size=60))
def test_no_message_breaks_the_gate_or_takes_it_long(message: str) -> None:
    sum_of(message)


@pytest.mark.parametrize("bomb", ["9**9**9**9", "(" * 60 + "1" + ")" * 60, "2**-99999", "(2**500)**500", "9" * 119])
def test_a_sum_that_would_take_long_ends_at_once(bomb: str) -> None:
    with suppress(ValueError, ArithmeticError):
        worked_out(bomb)
