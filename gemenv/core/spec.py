"""What the registry knows about one environment, before any of its code is loaded."""

import difflib
import functools
import importlib
import inspect
import typing
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from gemenv.core.env import Env
from gemenv.core.env_id import EnvId
from gemenv.errors import (
    ArgumentError,
    MissingExtraError,
    RegistrationError,
    UnknownKeywordError,
)

EntryPoint = str | Callable[..., Env]
"""`"package.module:Class"`, imported on first use, or the class itself."""


@dataclass(frozen=True, kw_only=True, eq=False)
class EnvSpec:
    """One registered environment.

    Args:
        id: its full id.
        entry_point: where its class is.
        kwargs: the keywords that this id stands for; a caller's keywords override them.
        summary: one line for lists.
        is_default: whether an id without a variant means this one.
    """

    id: EnvId
    entry_point: EntryPoint
    kwargs: Mapping[str, Any] = field(default_factory=dict[str, Any])
    summary: str = ""
    is_default: bool = True

    def load(self) -> Callable[..., Env]:
        """Import the environment's class.

        Raises:
            RegistrationError: if there is no such module or class.
        """
        if callable(self.entry_point):
            return self.entry_point
        module, _, name = self.entry_point.partition(":")
        try:
            return getattr(importlib.import_module(module), name)
        except (ImportError, AttributeError) as error:
            if isinstance(error, MissingExtraError):
                raise
            raise RegistrationError(
                problem=f"The class of {self.id} cannot be imported: {error}.",
                expected=f"an importable {self.entry_point!r}",
                got=type(error).__name__,
                fix="mend the entry point that was registered, or the module it names",
            ) from error

    def make(self, **kwargs: Any) -> Env:
        """Make an instance.

        Raises:
            UnknownKeywordError: for a keyword that the environment does not take.
            ArgumentError: for a value that it does not accept.
            RegistrationError: if its class cannot be imported.
        """
        factory = self.load()
        _check_keywords(str(self.id), factory, kwargs)
        try:
            env = factory(**{**self.kwargs, **kwargs})
        except TypeError as error:
            raise ArgumentError(
                problem=f"{self.id} cannot be made with these values: {error}.",
                expected="values of the types that its class documents",
                got=kwargs,
                fix="mend the value; `gemenv info` shows what each keyword is",
            ) from error
        env.env_id, env.env_kwargs = str(self.id), kwargs
        return env


@functools.lru_cache(maxsize=1024)
def _keywords(factory: Callable[..., Env]) -> tuple[str, ...] | None:
    """Return the names that a factory takes; None if it takes any."""
    names: list[str] = []
    for parameter in inspect.signature(factory).parameters.values():
        if parameter.kind is parameter.VAR_KEYWORD:  # **rules: Unpack[Rules]
            unpacked = typing.get_args(parameter.annotation)
            if not unpacked:
                return None
            names += typing.get_type_hints(unpacked[0])
        else:
            names.append(parameter.name)
    return tuple(names)


def _check_keywords(env_id: str, factory: Callable[..., Env], kwargs: Mapping[str, Any]) -> None:
    accepted = _keywords(factory)
    if accepted is None:
        return
    for name in kwargs:
        if name not in accepted:
            near = difflib.get_close_matches(name, accepted, n=1)
            raise UnknownKeywordError(
                problem=f"{env_id} does not take the keyword {name!r}.",
                expected=f"any of {', '.join(accepted) or '(no keywords)'}",
                got=name,
                fix=f"did you mean {near[0]!r}?" if near else f"leave {name!r} out",
            )
