"""Expressions are computed exactly, and nothing else is: no names, no powers, no code."""

import contextlib
import time
from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gemenv.envs.game.arithmetic import evaluate
from gemenv.errors import ActionError

_exact = st.recursive(
    st.integers(0, 999).map(lambda number: (str(number), Fraction(number))),
    lambda inner: st.tuples(inner, st.sampled_from("+-*"), inner).map(
        lambda parts: (
            f"({parts[0][0]} {parts[1]} {parts[2][0]})",
            {
                "+": parts[0][1] + parts[2][1],
                "-": parts[0][1] - parts[2][1],
                "*": parts[0][1] * parts[2][1],
            }[parts[1]],
        )
    ),
    max_leaves=8,
)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("7", 7),
        ("2+3*4", 14),
        ("(2+3)*4", 20),
        ("10-4-3", 3),
        ("24/4/2", 3),
        ("2-3*(4-5)/6", Fraction(5, 2)),
        ("1/3+1/6", Fraction(1, 2)),
        ("8/(3-8/3)", 24),
        ("((((5))))", 5),
        ("3 \u00d7 4 \u2212 2 \u00f7 1 \u00b7 5", 2),
        (r"3 \times 4 \div 2 \cdot 5", 30),
        ("007", 7),
    ],
)
def test_the_usual_rules_of_arithmetic_hold(text: str, value: Fraction) -> None:
    assert evaluate(text).value == value


def test_the_numbers_are_reported_from_left_to_right_and_as_often_as_used() -> None:
    assert evaluate("(3 + 7) * 3").numbers == [3, 7, 3]


@settings(deadline=None)
@given(_exact)
def test_values_are_exact(written: tuple[str, Fraction]) -> None:
    text, value = written
    assert evaluate(text).value == value


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("", "A number is missing at the end."),
        ("1 +", "A number is missing at the end."),
        ("-1", "A number is missing before -."),
        ("1 + * 2", "A number is missing before *."),
        ("()", "A number is missing before )."),
        ("1 2", "A sign of + - * / is missing before 2."),
        ("2(3)", "A sign of + - * / is missing before (."),
        ("1)", "A ) has no ( before it."),
        ("(1", "A ( is never closed."),
        ("1 / (2 - 2)", "The expression divides by zero."),
        ("1 = 1", "= cannot stand in an expression."),
        ("1.5", ". cannot stand in an expression."),
        ("2**3", "A number is missing before *."),
        ("__import__('os')", "_ cannot stand in an expression."),
        ("٣", "٣ cannot stand in an expression."),
        ("\ud800", "\ud800 cannot stand in an expression."),
    ],
)
def test_anything_else_is_refused_with_the_reason(text: str, problem: str) -> None:
    with pytest.raises(ActionError) as caught:
        evaluate(text)
    assert caught.value.problem == problem


@pytest.mark.parametrize(
    "text", ["(" * 1_000_000, "9" * 1_000_000, "1+" * 500_000 + "1", "-" * 1_000_000]
)
def test_a_megabyte_is_refused_at_once(text: str) -> None:
    start = time.process_time()
    with pytest.raises(ActionError, match="more than 200 characters"):
        evaluate(text)
    assert time.process_time() - start < 0.05


def test_two_hundred_characters_of_anything_are_computed() -> None:
    assert evaluate("(" * 99 + "12" + ")" * 99).value == 12
    assert evaluate("*".join(["9" * 66] * 3)).value == int("9" * 66) ** 3


@settings(deadline=None)
@given(st.text(alphabet="0123456789+-*/() =x\\\n", max_size=60))
def test_any_text_is_computed_or_refused(text: str) -> None:
    with contextlib.suppress(ActionError):
        assert evaluate(text).numbers
