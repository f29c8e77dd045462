"""A check: a function of a factory and a seed, silent if the environment keeps its promise."""

import functools
from collections.abc import Callable
from typing import Any, Concatenate, ParamSpec, TypeAlias, TypeVar
from unittest import SkipTest

from gemenv.core.env import Env
from gemenv.errors import ConformanceError

Factory: TypeAlias = Callable[[], Env]
"""Makes a new environment at each call."""

P = ParamSpec("P")
T = TypeVar("T")


def check(
    function: Callable[Concatenate[Factory, int, P], None],
) -> Callable[Concatenate[Factory, int, P], None]:
    """Make a function a check.

    Whatever goes wrong in it becomes a ConformanceError that names the check, the environment and
    the seed, and every environment that it made is closed. A check that does not apply raises
    `unittest.SkipTest` with the reason, which pytest understands too.
    """

    @functools.wraps(function)
    def run(make: Factory, seed: int, *args: P.args, **kwargs: P.kwargs) -> None:
        made: list[Env] = []

        def make_and_remember() -> Env:
            made.append(make())
            return made[-1]

        def run_and_close() -> None:
            try:
                function(make_and_remember, seed, *args, **kwargs)
            finally:
                for env in made:
                    env.close()

        fix = "mend the environment; the traceback above shows where"
        try:
            attempt(run_and_close, "The environment failed", expected="no error", fix=fix)
        except ConformanceError as error:
            subject = repr(made[0]) if made else repr(make)
            problem = f"{function.__name__} failed for {subject} with seed {seed}. {error.problem}"
            raise ConformanceError(
                problem=problem, expected=error.expected, got=error.got, fix=error.fix
            ) from error.__cause__

    return run


def attempt(call: Callable[[], T], problem: str, *, expected: str, fix: str) -> T:
    """Return what `call` returns; an error of any kind is a broken promise.

    Raises:
        ConformanceError: `problem`, with the error that the call raised as its cause.
    """
    try:
        return call()
    except (ConformanceError, SkipTest):
        raise
    except Exception as error:  # an environment under test can fail in any way: name it, chain it
        raise ConformanceError(
            problem=f"{problem}: {type(error).__name__}: {_first_line(error)}.",
            expected=expected,
            got=error,
            fix=fix,
        ) from error


def require(is_kept: bool, problem: str, *, expected: str, got: Any, fix: str) -> None:
    """Raise ConformanceError unless a promise is kept."""
    if not is_kept:
        raise ConformanceError(problem=problem, expected=expected, got=got, fix=fix)


def _first_line(error: Exception) -> str:
    return (str(error).splitlines() or [""])[0][:200].rstrip(".")
