"""Configurations in files: TOML, or a Python file with a function `config() -> TrainConfig`."""

import dataclasses
import difflib
import json
import math
import runpy
import tomllib
import typing
from collections.abc import Mapping
from pathlib import Path
from types import UnionType
from typing import Any, TypeVar

import msgspec

from gemenv.errors import ConfigError
from gemenv.train.config import TrainConfig

SectionT = TypeVar("SectionT")


def load_config(path: str | Path) -> TrainConfig:
    """Read the configuration of a run.

    A Python file runs as it is, so load only files that you trust.

    Args:
        path: `*.toml` with a table for each section of `TrainConfig`, or `*.py` with a function
            `config` without arguments.

    Returns:
        The checked configuration.

    Raises:
        ConfigError: if there is no such file, it cannot be read, a key is unknown (the message
            names the nearest), or a value is out of its domain.
    """
    path = Path(path)
    if not path.is_file():
        raise _unreadable(path, "there is no such file")
    if path.suffix == ".toml":
        try:
            return config_from_dict(tomllib.loads(path.read_text(encoding="utf-8")))
        except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
            raise _unreadable(path, str(error)) from error
    if path.suffix == ".py":
        make = runpy.run_path(str(path)).get("config")
        config = make() if callable(make) else None
        if isinstance(config, TrainConfig):
            return config
        raise _unreadable(path, "it has no function config() that returns a TrainConfig")
    raise _unreadable(path, f"its name ends in {path.suffix!r}")


def config_from_dict(values: Mapping[str, Any]) -> TrainConfig:
    """Build a configuration from nested dictionaries, as TOML gives them.

    Args:
        values: by section, then by setting; what is left out keeps its default.

    Raises:
        ConfigError: for an unknown key, a value of the wrong type or out of its domain.

    Example:
        >>> config_from_dict({"rl": {"algorithm": "grpo"}}).rl.algorithm
        'grpo'
    """
    return _section(TrainConfig, values, "")


def config_to_dict(config: TrainConfig) -> dict[str, Any]:
    """Flatten a configuration: one entry a setting, by its dotted name.

    Policies appear by name, and composed algorithms as their `repr`.

    Example:
        >>> config_to_dict(TrainConfig())["model.width"]
        64
    """
    return dict(_settings(config, ""))


def config_to_toml(config: TrainConfig) -> str:
    """Write a configuration as TOML; settings that are None are left out.

    What was given by name can be loaded again by `load_config`.
    """
    lines: list[str] = []
    table = None
    for name, value in _settings(config, ""):
        section, _, key = name.rpartition(".")
        if section != table:
            lines += ["", f"[{section}]"]
            table = section
        if value is not None:
            lines.append(f"{key} = {_toml(value)}")
    return "\n".join(lines[1:]) + "\n"


def _section(kind: type[SectionT], values: Any, prefix: str) -> SectionT:
    """Build one dataclass, section by section."""
    if not isinstance(values, Mapping):
        raise _wrong_type(prefix, "a table of settings", values)
    types = typing.get_type_hints(kind)
    settings: dict[str, Any] = {}
    for key, value in typing.cast("Mapping[str, Any]", values).items():
        name = f"{prefix}.{key}" if prefix else key
        if key not in types:
            raise _unknown_key(name, key, list(types))
        if dataclasses.is_dataclass(types[key]):
            settings[key] = _section(typing.cast("type[Any]", types[key]), value, name)
        else:
            settings[key] = _value(types[key], value, name)
    return kind(**settings)


def _value(kind: Any, value: Any, name: str) -> Any:
    if isinstance(kind, UnionType) and str in typing.get_args(kind):
        # a file can only name what a Python configuration may pass
        kind = str | None if type(None) in typing.get_args(kind) else str
    try:
        return msgspec.convert(value, kind)
    except msgspec.ValidationError as error:
        raise _wrong_type(name, str(error), value) from error


def _settings(config: Any, prefix: str) -> list[tuple[str, Any]]:
    settings: list[tuple[str, Any]] = []
    nested: list[tuple[str, Any]] = []
    for field in dataclasses.fields(config):
        name, value = prefix + field.name, getattr(config, field.name)
        if dataclasses.is_dataclass(value) and name != "rl.algorithm":
            nested += _settings(value, name + ".")
        else:
            settings.append((name, _plain(value)))
    return settings + nested  # a TOML table's own keys come before its subtables


def _plain(value: Any) -> Any:
    if isinstance(value, tuple):
        return list(typing.cast("tuple[Any, ...]", value))
    if isinstance(value, str | int | float | dict | None):
        return typing.cast("Any", value)
    return getattr(value, "name", repr(value))


def _toml(value: Any) -> str:
    if isinstance(value, dict):
        items = typing.cast("dict[str, Any]", value).items()
        return "{" + ", ".join(f"{json.dumps(k)} = {_toml(v)}" for k, v in items) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(map(_toml, typing.cast("list[Any]", value))) + "]"
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)  # TOML's inf and nan are Python's
    return json.dumps(value, ensure_ascii=False)  # for the rest, JSON is TOML


def _unreadable(path: Path, reason: str) -> ConfigError:
    return ConfigError(
        problem=f"The configuration {path} cannot be read: {reason}.",
        expected="a .toml file, or a .py file with a function config() -> TrainConfig",
        got=str(path),
        fix="see examples/guess_the_number.py",
    )


def _unknown_key(name: str, key: str, known: list[str]) -> ConfigError:
    near = difflib.get_close_matches(key, known, n=1, cutoff=0.5)
    return ConfigError(
        problem=f"There is no setting {name!r}.",
        expected=f"one of {', '.join(known)}",
        got=key,
        fix=f"did you mean {near[0]!r}?" if near else "remove it",
    )


def _wrong_type(name: str, expected: str, got: Any) -> ConfigError:
    return ConfigError(
        problem=f"The setting {name!r} has a value of the wrong type.",
        expected=expected,
        got=got,
        fix=f"give {name} a value of that type",
    )
