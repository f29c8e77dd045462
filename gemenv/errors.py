"""Every error that gemenv raises, in one tree.

    GemenvError
    ├── UnknownEnvError (LookupError)        no such id is registered
    ├── UnknownKeywordError (TypeError)      a keyword that the environment does not take
    ├── ArgumentError (ValueError)           a value outside its domain
    ├── ActionTypeError (TypeError)          an action that is not text
    ├── ActionError (ValueError)             text in which no action could be read
    ├── ResetNeeded (RuntimeError)           step before reset
    ├── EpisodeOver (RuntimeError)           step after the end
    ├── NoReferenceError (NotImplementedError)  no oracle, expert or list of legal actions
    ├── SnapshotError (ValueError)           a snapshot of another environment
    ├── RegistrationError (ValueError)       an id that is malformed or taken
    ├── MissingExtraError (ImportError)      an optional dependency that is not installed
    ├── ContractError (ValueError)           arrays or records that do not fit together
    ├── ConfigError (ValueError)             an unknown key, or a value out of range
    ├── CorruptFileError (ValueError)        a file that cannot be what it claims to be
    ├── PolicyError (RuntimeError)           a policy that failed to answer
    │   └── ContextOverflow                  the prompt leaves no room for an answer
    ├── GraderError (RuntimeError)           a grader that failed to judge
    ├── TrainingError (RuntimeError)         a run that cannot go on (non-finite loss, no data)
    └── ConformanceError (AssertionError)    an environment that breaks the contract

Each message has four lines: what happened, what was expected, what came, and what to do.
"""

from typing import Any

_MAX_SHOWN_CHARS = 200


class GemenvError(Exception):
    """The root: four lines, keyword-only, picklable.

    Args:
        problem: what happened, one sentence.
        expected: what would have been right.
        got: what came instead; shown as its `repr`, shortened to 200 characters.
        fix: what the reader can do now.

    Example:
        >>> print(ArgumentError(problem="A seed is negative.", expected="an int >= 0",
        ...                     got=-1, fix="pass a seed of 0 or more"))
        A seed is negative.
          expected: an int >= 0
          got:      -1
          fix:      pass a seed of 0 or more
    """

    def __init__(self, *, problem: str, expected: str, got: Any, fix: str) -> None:
        super().__init__(problem)
        self.problem = problem
        self.expected = expected
        self.got = got if isinstance(got, _Shown) else _Shown(_shortened(got))
        self.fix = fix

    def __str__(self) -> str:
        return (
            f"{self.problem}\n"
            f"  expected: {self.expected}\n"
            f"  got:      {self.got}\n"
            f"  fix:      {self.fix}"
        )

    def __reduce__(self) -> tuple[Any, ...]:
        fields = {"problem": self.problem, "expected": self.expected, "got": self.got}
        return _rebuilt, (type(self), {**fields, "fix": self.fix})


class _Shown(str):
    """Text that already is the `repr` of what came, so that pickling does not quote it twice."""

    __slots__ = ()


def _shortened(value: Any) -> str:
    if isinstance(value, str | bytes):  # cut first: the repr of a megabyte is slow
        value = value[: _MAX_SHOWN_CHARS + 1]
    try:
        text = repr(value)
    except ValueError:  # an integer of more than 4300 digits inside
        text = f"<{type(value).__name__}, too large to show>"
    return text if len(text) <= _MAX_SHOWN_CHARS else text[: _MAX_SHOWN_CHARS - 3] + "..."


def _rebuilt(kind: type[GemenvError], fields: dict[str, Any]) -> GemenvError:
    return kind(**fields)


class UnknownEnvError(GemenvError, LookupError):
    """No environment is registered under this id."""


class UnknownKeywordError(GemenvError, TypeError):
    """A keyword that the environment does not take."""


class ArgumentError(GemenvError, ValueError):
    """A value outside its domain."""


class ActionTypeError(GemenvError, TypeError):
    """An action that is not a string."""


class ActionError(GemenvError, ValueError):
    """Text in which no action could be read; `problem` is what the agent is told."""


class ResetNeeded(GemenvError, RuntimeError):
    """`step` was called before the first `reset`."""


class EpisodeOver(GemenvError, RuntimeError):
    """`step` was called after the episode's end."""


class NoReferenceError(GemenvError, NotImplementedError):
    """The environment declares no oracle, no expert or no list of legal actions."""


class SnapshotError(GemenvError, ValueError):
    """A snapshot that was taken from another environment."""


class RegistrationError(GemenvError, ValueError):
    """An id that is malformed or already taken."""


class MissingExtraError(GemenvError, ImportError):
    """An optional dependency that is not installed."""


class ContractError(GemenvError, ValueError):
    """Arrays or records that do not fit together."""


class ConfigError(GemenvError, ValueError):
    """An unknown key in a configuration, or a value out of its range."""


class CorruptFileError(GemenvError, ValueError):
    """A file whose content is not what it claims to be."""


class PolicyError(GemenvError, RuntimeError):
    """A policy that failed to answer."""


class ContextOverflow(PolicyError):
    """The prompt leaves no room for an answer."""


class GraderError(GemenvError, RuntimeError):
    """A grader that failed to judge: never a wrong answer."""


class TrainingError(GemenvError, RuntimeError):
    """A training run that cannot go on."""


class ConformanceError(GemenvError, AssertionError):
    """An environment that breaks the contract of `gemenv.testing`."""
