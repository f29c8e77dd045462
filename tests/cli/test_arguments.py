from dataclasses import dataclass, field

import pytest
import tyro

from gemenv.cli.arguments import Keywords, keyword, parse
from gemenv.errors import ArgumentError, ConfigError
from gemenv.rollout.policies.named import named_policy
from gemenv.rollout.policy import Policy

REFUSAL = ConfigError(problem="Odd.", expected="an even number", got=3, fix="add one")


@dataclass(frozen=True)
class Nested:
    rate: float = 0.5
    """A rate."""


@dataclass(frozen=True)
class Options:
    name: tyro.conf.Positional[str]
    """A name."""
    number: int = 2
    """An even number."""
    nested: Nested = field(default_factory=Nested)
    """More."""
    policy: str | Policy = "random"
    """A name or a policy."""
    kwargs: Keywords = field(default_factory=dict[str, object])
    """Keywords."""

    def __post_init__(self) -> None:
        if self.number % 2:
            raise REFUSAL


def read(*argv: str, default: Options | None = None) -> Options:
    return parse(Options, argv, command="gemenv test", about="Test.", default=default)


def test_words_become_options():
    assert read("a", "--number", "4", "--nested.rate", "0.1") == Options("a", 4, Nested(0.1))


def test_what_is_left_out_keeps_its_default():
    default = Options("a", 8, Nested(0.1), "expert", {"high": 3})
    assert read("b", default=default) == Options("b", 8, Nested(0.1), "expert", {"high": 3})


def test_keywords_are_json_where_they_can_be():
    words = ["a", "--kwargs", "n=3", "x=0.5", "flag=true", "list=[1, 2]", "text=a=b", "empty="]
    assert read(*words).kwargs == {
        "n": 3,
        "x": 0.5,
        "flag": True,
        "list": [1, 2],
        "text": "a=b",
        "empty": "",
    }


@pytest.mark.parametrize("word", ["", "high", "=3"])
def test_a_keyword_needs_a_name_and_a_value(word: str):
    with pytest.raises(ArgumentError, match="a name and a value"):
        keyword(word)


def test_the_same_keyword_or_option_twice_is_refused():
    with pytest.raises(ArgumentError, match="'high' is given twice"):
        read("a", "--kwargs", "high=5", "high=6")
    for second in ("--nested.rate", "--nested.rate=0.2"):
        with pytest.raises(ArgumentError, match=r"--nested\.rate is given twice"):
            read("a", "--nested.rate", "0.1", second, "0.2")


def test_an_object_stays_itself_unless_a_name_replaces_it():
    policy = named_policy("oracle")
    default = Options("a", policy=policy)
    assert read("a", default=default).policy is policy
    assert read("a", "--policy", "expert", default=default).policy == "expert"


def test_what_the_options_refuse_is_raised_as_it_is():
    with pytest.raises(ConfigError) as caught:
        read("a", "--number", "3")
    assert caught.value is REFUSAL


@pytest.mark.parametrize("columns", ["20", "40", "200"])
@pytest.mark.parametrize(
    ("argv", "problem", "expected", "fix"),
    [
        (
            ["a", "--numbre", "4"],
            "Unrecognized options: --numbre, 4",
            "arguments of `gemenv test`",
            "did you mean --number? see `gemenv test --help`",
        ),
        (["a", "b"], "Unrecognized options: b", "arguments of", "see `gemenv test --help`"),
        (["a", "--number", "x"], "Error parsing --number:", "--number INT", "see `gemenv"),
        (["a", "--number"], "Missing value for argument '--number'", "", "see `gemenv"),
        ([], "Missing from gemenv test: NAME", "all required arguments", "see `gemenv"),
    ],
)
def test_what_cannot_be_read_is_told_in_four_lines_however_wide_the_terminal(
    monkeypatch: pytest.MonkeyPatch,
    columns: str,
    argv: list[str],
    problem: str,
    expected: str,
    fix: str,
):
    monkeypatch.setenv("COLUMNS", columns)
    with pytest.raises(ArgumentError) as caught:
        read(*argv)
    assert len(str(caught.value).splitlines()) == 4
    assert caught.value.problem.startswith(problem)
    assert caught.value.expected.startswith(expected)
    assert caught.value.fix.startswith(fix)
