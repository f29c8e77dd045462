"""One field of a typed action: how its value reads, writes, and is drawn at random."""

import json
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import msgspec.inspect as types
from numpy.random import Generator

from gemenv.errors import ArgumentError

_INTEGER = r"-?(?:0|[1-9][0-9]*)"
_FLOAT_BOUND = 1e308  # exclusive: what the next pattern matches is below it, and never infinite
_EXPONENT = r"e(?:-[0-9]{2,3}|\+(?:[0-9]{2}|[12][0-9]{2}|30[0-7]))"
_FLOAT = rf"-?(?:(?:0|[1-9][0-9]{{0,15}})(?:\.[0-9]+)?|[1-9](?:\.[0-9]+)?{_EXPONENT})"
_ESCAPE = r'\\(?:["\\bfnrt]|u(?:[0-9a-cef][0-9a-f]{3}|d[0-7][0-9a-f]{2}))'  # but no surrogate
_JSON_STRING = rf'"(?:[^"\\\x00-\x1f<]|{_ESCAPE})*"'
_MAX_ALTERNATIVES = 256  # a larger domain is written by its type's pattern
_UNBOUNDED = (-100, 100)  # what an integer without bounds is sampled from

Domain = Sequence[Any]
"""The values worth trying, such as `range(1, 11)`; it must be hashable. Not a limit on parsing."""


@dataclass(frozen=True, slots=True)
class Field:
    """How one field reads, writes and samples.

    Args:
        name: the field's name.
        accepted: regular expression of what is read from text; None where free text is.
        canonical: regular expression of what is written; None where free text is.
        json: regular expression of the value in JSON.
        read: text to value; None for types that only JSON can write.
        sample: draws a value; None if nothing is known to draw from.
    """

    name: str
    accepted: str | None
    canonical: str | None
    json: str
    read: Callable[[str], Any] | None
    sample: Callable[[Generator], Any] | None


def describe_field(info: types.Field, domain: Domain | None) -> Field:
    """Describe a dataclass field from its type and, where one is given, its domain."""
    kind = _unwrapped(info.type)
    field = _by_type(info.name, kind)
    if domain is None and isinstance(kind, types.IntType):
        low, high = _bounds(kind)
        domain = range(low, high + 1) if low is not None and high is not None else None
    if domain is None:
        return field
    canonical, as_json = field.canonical, field.json
    if len(domain) <= _MAX_ALTERNATIVES:
        canonical = _alternatives(write_value(value) for value in domain) if field.read else None
        as_json = _alternatives(write_json(value) for value in domain)
    return Field(
        field.name,
        field.accepted,
        canonical,
        as_json,
        field.read,
        lambda rng: domain[int(rng.integers(len(domain)))],
    )


def write_value(value: Any) -> str:
    """Write a value as text: `true`, `7`, `0.5`, `up`."""
    return str(value).lower() if isinstance(value, bool) else str(value)


def write_json(value: Any) -> str:
    """Write a value as JSON; `<` is escaped, so that no tag can be closed from inside."""
    return json.dumps(value, ensure_ascii=False).replace("<", "\\u003c").replace("\x7f", "\\u007f")


def _unwrapped(kind: types.Type) -> types.Type:
    while isinstance(kind, types.Metadata):
        kind = kind.type
    return kind


def _alternatives(texts: Any) -> str:
    return "(?:" + "|".join(re.escape(text) for text in texts) + ")"


def _by_type(name: str, kind: types.Type) -> Field:
    match kind:
        case types.IntType():
            return Field(name, "[+-]?[0-9]+", _INTEGER, _INTEGER, int, _int_sampler(kind))
        case types.FloatType():
            accepted = r"[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?"
            return Field(
                name, accepted, _FLOAT, _FLOAT, _read_float, lambda rng: float(rng.normal())
            )
        case types.BoolType():
            pattern = "(?:true|false)"
            return Field(
                name,
                f"(?ai:{pattern})",
                pattern,
                pattern,
                lambda text: text.lower() == "true",
                lambda rng: bool(rng.integers(2)),
            )
        case types.LiteralType():
            return _choice(name, kind.values)
        case types.StrType():
            return _string(name, kind)
        case _:
            return Field(name, None, None, json_pattern(kind), None, None)


def _read_float(text: str) -> float:
    value = float(text)
    if abs(value) >= _FLOAT_BOUND:
        raise ValueError(f"{text} is too large")
    return value


def _int_sampler(kind: types.IntType) -> Callable[[Generator], int]:
    low, high = _bounds(kind)
    span = _UNBOUNDED[1] - _UNBOUNDED[0]
    if low is None:
        low = _UNBOUNDED[0] if high is None else min(high, _UNBOUNDED[1]) - span
    top = low + span if high is None else high
    return lambda rng: int(rng.integers(low, top + 1))


def _bounds(kind: types.IntType) -> tuple[int | None, int | None]:
    """Return the least and the greatest allowed value, None where there is no bound."""
    low = kind.ge if kind.gt is None else kind.gt + 1
    high = kind.le if kind.lt is None else kind.lt - 1
    return low, high


def _choice(name: str, values: tuple[Any, ...]) -> Field:
    ordered = sorted(values, key=str)
    by_text = {write_value(value).lower(): value for value in ordered}
    pattern = _alternatives(map(write_value, ordered))
    if len(by_text) < len(ordered):
        raise ArgumentError(
            problem=f"The choices of {name} differ in case only.",
            expected="choices that are told apart in lower case",
            got=values,
            fix="rename one of them",
        )
    return Field(
        name,
        f"(?ai:{pattern})",  # in ASCII only: other letters fold to more than one
        pattern,
        _alternatives(map(write_json, ordered)),
        lambda text: by_text[text.lower()],
        lambda rng: ordered[int(rng.integers(len(ordered)))],
    )


def _string(name: str, kind: types.StrType) -> Field:
    if kind.pattern is None:
        return Field(name, None, None, _JSON_STRING, str, _letters(kind))
    pattern = "(?:" + kind.pattern.removeprefix("^").removesuffix("$") + ")"
    return Field(name, pattern, pattern, f'"{pattern}"', str, None)


def _letters(kind: types.StrType) -> Callable[[Generator], str]:
    low = kind.min_length or 1
    high = kind.max_length or low + 7

    def sample(rng: Generator) -> str:
        return "".join(
            chr(97 + int(i)) for i in rng.integers(26, size=int(rng.integers(low, high + 1)))
        )

    return sample


def json_pattern(kind: types.Type) -> str:
    """Return the regular expression of a type's canonical JSON."""
    kind = _unwrapped(kind)
    match kind:
        case types.NoneType():
            return "null"
        case types.UnionType():
            return "(?:" + "|".join(json_pattern(option) for option in kind.types) + ")"
        case types.ListType() | types.VarTupleType():
            item = json_pattern(kind.item_type)
            return rf"\[(?:{item}(?:, {item})*)?\]"
        case types.TupleType():
            return r"\[" + ", ".join(json_pattern(item) for item in kind.item_types) + r"\]"
        case types.IntType() | types.FloatType() | types.BoolType() | types.LiteralType():
            return _by_type("", kind).json
        case types.StrType():
            return _by_type("", kind).json
        case _:
            raise ArgumentError(
                problem="This type cannot be a field of an action.",
                expected="int, float, bool, str, Literal, lists and tuples of them, or None",
                got=kind,
                fix="use one of these, or several fields",
            )
