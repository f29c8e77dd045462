"""The exact value of a written expression; nothing of it is ever executed."""

import re
from collections.abc import Iterator
from fractions import Fraction
from typing import NamedTuple

from gemenv.errors import ActionError

_MAX_CHARS = 200  # bounds the time, and the size of every number
_TOKEN = re.compile(r"[0-9]+|\\[a-z]+|\S")
_RANK = {"(": 0, "+": 1, "-": 1, "*": 2, "/": 2}
_SAME_AS = {
    "×": "*",  # noqa: RUF001  people write it
    "−": "-",  # noqa: RUF001
    "·": "*",
    "÷": "/",
    r"\times": "*",
    r"\cdot": "*",
    r"\div": "/",
}


class Expression(NamedTuple):
    """What an expression comes to, and the numbers in it from left to right."""

    value: int | Fraction
    numbers: list[int]


def evaluate(text: str) -> Expression:
    r"""Compute an expression of whole numbers without signs, `+ - * /` and parentheses.

    `×`, `·`, `÷`, `\times`, `\cdot`, `\div` and the minus sign of print are understood too.

    Args:
        text: at most 200 characters; time is linear in their number.

    Raises:
        ActionError: if it is no such expression; its `problem` says why in one sentence.

    Example:
        >>> evaluate("(7 - 2) / 3 + 1")
        Expression(value=Fraction(8, 3), numbers=[7, 2, 3, 1])

    Source: E. W. Dijkstra's shunting-yard algorithm (1961), computing as it goes.
    """
    if len(text) > _MAX_CHARS:
        raise _unreadable(f"The expression has more than {_MAX_CHARS} characters.", text)
    numbers: list[int] = []
    values: list[int | Fraction] = []
    waiting: list[str] = []  # operators and opening parentheses
    for token in _tokens(text):
        if token == "(":
            waiting.append(token)
        elif token == ")":
            _apply(waiting, values, text, down_to=1)
            if not waiting:
                raise _unreadable("A ) has no ( before it.", text)
            waiting.pop()
        elif token in _RANK:
            _apply(waiting, values, text, down_to=_RANK[token])
            waiting.append(token)
        else:
            numbers.append(int(token))
            values.append(numbers[-1])
    _apply(waiting, values, text, down_to=1)
    if waiting:
        raise _unreadable("A ( is never closed.", text)
    return Expression(values[0], numbers)


def _tokens(text: str) -> Iterator[str]:
    """Yield numbers, operators and parentheses, each where one of its kind may stand."""
    needs_number = True  # or an opening parenthesis
    for match in _TOKEN.finditer(text):
        token = _SAME_AS.get(match[0], match[0])
        if token.isascii() and token.isdigit():
            opens = ends = True
        elif token in _RANK or token == ")":
            opens, ends = token == "(", token == ")"
        else:
            raise _unreadable(f"{token} cannot stand in an expression.", text)
        if opens != needs_number:
            missing = "number" if needs_number else "sign of + - * /"
            raise _unreadable(f"A {missing} is missing before {token}.", text)
        needs_number = not ends
        yield token
    if needs_number:
        raise _unreadable("A number is missing at the end.", text)


def _apply(waiting: list[str], values: list[int | Fraction], text: str, *, down_to: int) -> None:
    """Apply the last operators, as long as they bind at least so strongly."""
    while waiting and _RANK[waiting[-1]] >= down_to:
        operator, right, left = waiting.pop(), values.pop(), values.pop()
        if operator == "+":
            values.append(left + right)
        elif operator == "-":
            values.append(left - right)
        elif operator == "*":
            values.append(left * right)
        elif right:
            values.append(Fraction(left, right) if left % right else left // right)
        else:
            raise _unreadable("The expression divides by zero.", text)


def _unreadable(problem: str, text: str) -> ActionError:
    return ActionError(
        problem=problem,
        expected="an expression such as (1 + 2) * 3",
        got=text,
        fix="write only whole numbers, + - * / and parentheses",
    )
