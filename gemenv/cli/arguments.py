"""Command-line arguments: a dataclass of options, read by tyro, with errors in our four lines."""
# tyro's constructors are typed in part only:
# pyright: reportUnknownMemberType=false, reportUnknownArgumentType=false

import contextlib
import io
import itertools
import json
import sys
from collections.abc import Iterator, Sequence
from types import NoneType, UnionType
from typing import Any, TypeVar, get_args, get_origin

import tyro
from tyro.constructors import ConstructorRegistry, PrimitiveConstructorSpec, PrimitiveTypeInfo

from gemenv.errors import ArgumentError, GemenvError

OptionsT = TypeVar("OptionsT")
Keywords = dict[str, Any]
"""An option that takes `NAME=VALUE ...`; values are JSON where they can be read as JSON."""

_PLAIN = {str, int, float, bool, NoneType}
_UNKNOWN = "Unrecognized options"  # tyro's title of that message


def parse(
    kind: type[OptionsT],
    argv: Sequence[str],
    *,
    command: str,
    about: str | None,
    default: OptionsT | None = None,
) -> OptionsT:
    """Read a command's arguments.

    Args:
        kind: a dataclass; the docstring under each field is its help.
        argv: the words after the command.
        command: such as `gemenv list`.
        about: the help's first part: the command's module docstring.
        default: the options where `argv` says nothing.

    Raises:
        ArgumentError: if they cannot be read.
        GemenvError: what the options themselves raise for a value outside its domain.
        SystemExit: after `--help`, with status 0.
    """
    _check_given_once(argv, command)
    help_, complaint = _PlainText(), _PlainText()
    try:
        with contextlib.redirect_stdout(help_), contextlib.redirect_stderr(complaint):
            options = tyro.cli(
                kind,
                args=argv,
                prog=command,
                description=about,
                default=tyro.MISSING_NONPROP if default is None else default,
                config=(tyro.conf.FlagCreatePairsOff, tyro.conf.PositionalMetavarFromFieldName),
                registry=_registry,
            )
    except SystemExit as stop:
        if not stop.code:
            print(help_.getvalue(), end="")
            raise
        for cause in _causes(stop):
            if isinstance(cause, GemenvError):
                raise cause from None
        raise _unreadable(complaint.getvalue(), command, argv) from None
    print(complaint.getvalue(), end="", file=sys.stderr)  # a warning, perhaps
    return options


def keyword(text: str) -> tuple[str, Any]:
    """Read `NAME=VALUE`.

    Raises:
        ArgumentError: if it has no name or no `=`.

    Example:
        >>> keyword("high=20"), keyword("mode=fast")
        (('high', 20), ('mode', 'fast'))
    """
    name, equals, value = text.partition("=")
    if not name or not equals:
        raise ArgumentError(
            problem="A keyword needs a name and a value.",
            expected="NAME=VALUE, such as max_turns=10",
            got=text,
            fix="write an = between them, without spaces",
        )
    try:
        return name, json.loads(value)
    except ValueError:
        return name, value  # plain text needs no quotes


def _distinct(words: Sequence[str]) -> Keywords:
    """Read keywords, each of them once."""
    keywords: Keywords = {}
    for name, value in map(keyword, words):
        if name in keywords:
            raise ArgumentError(
                problem=f"The keyword {name!r} is given twice.",
                expected="each keyword once",
                got=list(words),
                fix="leave all but one out",
            )
        keywords[name] = value
    return keywords


class _PlainText(io.StringIO):
    """A stream on which tyro writes the same everywhere: frames of one kind, and no colours."""

    encoding = "utf-8"  # pyright: ignore[reportAssignmentType, reportIncompatibleVariableOverride]


_registry = ConstructorRegistry()


@_registry.primitive_rule
def _keywords(info: PrimitiveTypeInfo) -> PrimitiveConstructorSpec[Keywords] | None:
    if info.type != Keywords:
        return None
    return PrimitiveConstructorSpec(
        nargs="*",
        metavar="[NAME=VALUE ...]",
        instance_from_str=_distinct,
        is_instance=lambda value: isinstance(value, dict),
        str_from_instance=lambda known: [f"{k}={json.dumps(v)}" for k, v in known.items()],
    )


@_registry.primitive_rule
def _named(info: PrimitiveTypeInfo) -> PrimitiveConstructorSpec[Any] | None:
    """Read what is a name or an object (`str | Policy`): a command line can only name it."""
    is_union = get_origin(info.type) is UnionType
    if not is_union or str not in get_args(info.type) or set(get_args(info.type)) <= _PLAIN:
        return None
    return PrimitiveConstructorSpec(
        nargs=1,
        metavar="NAME",
        instance_from_str=lambda words: words[0],
        is_instance=lambda _: True,
        str_from_instance=lambda known: [str(getattr(known, "name", known))],
    )


def _check_given_once(argv: Sequence[str], command: str) -> None:
    """Refuse `--kwargs a=1 --kwargs b=2`: the last would replace the others without a word."""
    flags = [word.partition("=")[0].replace("_", "-") for word in argv if word.startswith("--")]
    for flag in flags:
        if flags.count(flag) > 1:
            raise ArgumentError(
                problem=f"The option {flag} is given twice.",
                expected=f"each option of `{command}` once",
                got=" ".join(argv),
                fix="give it once, followed by all of its values",
            )


def _causes(error: BaseException) -> Iterator[BaseException]:
    following = error.__cause__ or error.__context__
    if following is not None:
        yield following
        yield from _causes(following)


def _unreadable(box: str, command: str, argv: Sequence[str]) -> ArgumentError:
    """Put tyro's framed message into four lines: paragraphs between rules, the first says what."""
    lines = [line.strip("╭╮╰╯│─ ") for line in box.splitlines()[1:]]
    paragraphs = [list(group) for has_text, group in itertools.groupby(lines, bool) if has_text]
    options = [line for text in paragraphs[1:-1] for line in text if line.startswith("--")]
    expected, fix = options[0] if options else "all required arguments", f"see `{command} --help`"
    if box.splitlines()[0].strip("╭╮─ ") == _UNKNOWN:
        expected = f"arguments of `{command}`"
        near = " or ".join(option.split()[0] for option in options)
        fix = f"did you mean {near}? {fix}" if near else fix
    return ArgumentError(
        problem=" ".join(paragraphs[0]), expected=expected, got=" ".join(argv), fix=fix
    )
