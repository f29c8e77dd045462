"""Every error says four things, is a standard exception too, and survives pickling."""

import inspect
import pickle
import re
from typing import Any

import pytest

from gemenv import errors
from gemenv.errors import ContextOverflow, GemenvError, PolicyError

_ALL = [
    kind
    for _, kind in inspect.getmembers(errors, inspect.isclass)
    if kind is not Any and issubclass(kind, GemenvError)
]
_TREE = dict(re.findall(r"[├└]── (\w+)(?: \((\w+)\))?", errors.__doc__))


def _error(kind: type[GemenvError], got: object = "a fig") -> GemenvError:
    return kind(problem="It went wrong.", expected="a date", got=got, fix="bring a date")


@pytest.fixture(params=_ALL, ids=lambda kind: kind.__name__)
def kind(request) -> type[GemenvError]:
    return request.param


def test_the_message_has_four_lines(kind) -> None:
    assert str(_error(kind)).splitlines() == [
        "It went wrong.",
        "  expected: a date",
        "  got:      'a fig'",
        "  fix:      bring a date",
    ]


def test_it_is_the_standard_exception_that_the_tree_shows(kind) -> None:
    assert issubclass(kind, GemenvError)
    if kind not in (GemenvError, ContextOverflow):
        assert kind.__bases__[1].__name__ == _TREE[kind.__name__]
    assert kind.__doc__


def test_it_survives_pickling_twice(kind) -> None:
    error = _error(kind)
    again = pickle.loads(pickle.dumps(pickle.loads(pickle.dumps(error))))
    assert type(again) is kind
    assert str(again) == str(error)
    assert (again.problem, again.expected, again.fix) == (
        "It went wrong.",
        "a date",
        "bring a date",
    )


def test_the_tree_in_the_docstring_is_complete() -> None:
    assert set(_TREE) == {kind.__name__ for kind in _ALL} - {"GemenvError"}
    assert issubclass(ContextOverflow, PolicyError)


@pytest.mark.parametrize("got", ["a" * 1_000_000, b"a" * 1_000_000, list(range(100_000))])
def test_what_came_is_shortened(got) -> None:
    shown = str(_error(GemenvError, got)).splitlines()[2].removeprefix("  got:      ")
    assert len(shown) == 200
    assert shown.endswith("...")
    assert shown[:20] == repr(got[:100])[:20]


def test_short_values_are_shown_whole() -> None:
    for got in (None, "x" * 190, {"seed": -1}, "line\nend"):
        assert _error(GemenvError, got).got == repr(got)


def test_an_error_of_an_error_s_value_does_not_quote_it_twice() -> None:
    error = _error(GemenvError)
    assert _error(GemenvError, error.got).got == "'a fig'"


def test_arguments_are_named() -> None:
    with pytest.raises(TypeError):
        GemenvError("It went wrong.", "a date", "a fig", "bring a date")


def test_what_came_may_be_too_large_to_show() -> None:
    error = errors.ArgumentError(problem="P.", expected="e", got=[10**5000], fix="f")
    assert "<list, too large to show>" in str(error)
