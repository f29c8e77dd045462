"""Everything worth telling about one registered environment, for `gemenv info` and the gallery."""

import inspect
import typing
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from gemenv.bench.reference import ScoreScale, stored_scale
from gemenv.core.action import ActionSet
from gemenv.core.env import Env
from gemenv.core.message import text_of
from gemenv.core.spec import EnvSpec


@dataclass(frozen=True, kw_only=True)
class EnvDescription:
    """One registered environment, described.

    Args:
        env_id: its full id.
        summary: one line.
        keywords: each keyword that it takes, with the value that this id gives it.
        turn_limit: of the episode of seed 0; infinity for none.
        actions: its typed actions.
        first_observation: what the agent sees first, at seed 0.
        scale: its score scale, if it was measured.
    """

    env_id: str
    summary: str
    keywords: dict[str, Any]
    turn_limit: float
    actions: ActionSet
    first_observation: str
    scale: ScoreScale | None


def describe(spec: EnvSpec) -> EnvDescription:
    """Describe an environment; it is made, and reset to seed 0.

    Example:
        >>> import gemenv
        >>> describe(gemenv.spec("game:GuessTheNumber-v0-easy")).keywords["high"]
        10
    """
    env = spec.make()
    observation, _ = env.reset(seed=0)
    description = EnvDescription(
        env_id=str(spec.id),
        summary=spec.summary,
        keywords=_keywords(spec, env),
        turn_limit=env.turn_limit(),
        actions=env.actions,
        first_observation=text_of(observation),
        scale=stored_scale(spec.id),
    )
    env.close()
    return description


def _keywords(spec: EnvSpec, env: Env) -> dict[str, Any]:
    values: dict[str, Any] = {}
    for name, default in _defaults(spec.load()).items():
        value = spec.kwargs.get(name, default)
        values[name] = getattr(env, name, None) if value is inspect.Parameter.empty else value
    return values


def _defaults(factory: Callable[..., Env]) -> dict[str, Any]:
    """Return the default of each keyword; `Parameter.empty` where the signature has none."""
    defaults: dict[str, Any] = {}
    for parameter in inspect.signature(factory).parameters.values():
        if parameter.kind is not parameter.VAR_KEYWORD:
            defaults[parameter.name] = parameter.default
            continue
        for unpacked in typing.get_args(parameter.annotation):  # **rules: Unpack[Rules]
            defaults |= dict.fromkeys(typing.get_type_hints(unpacked), parameter.empty)
    return defaults
