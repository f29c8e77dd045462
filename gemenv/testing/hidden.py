"""What is hidden stays hidden: the expert does not read it, and no info tells it."""

import dataclasses
import json
from collections.abc import Iterator
from typing import Any, cast
from unittest import SkipTest

import msgspec

from gemenv.core.env import Env, Info
from gemenv.core.seeding import Stream, make_generator
from gemenv.errors import NoReferenceError
from gemenv.testing.check import Factory, attempt, check, require
from gemenv.testing.play import (
    affordable,
    answer_nonsense,
    ask_oracle,
    fork,
    innermost,
    is_over,
    oracle_answer,
    positions,
    sample,
)

_NUM_EPISODES = 20
_NUM_TURNS = 4  # of random play in each episode
_MIN_CONTAINED_CHARS = 3  # a shorter secret stands in many texts by chance


@check
def check_expert(make: Factory, seed: int) -> None:
    """The expert answers the same when the hidden fields, and the coming chance, are blanked."""
    num_blanked = 0
    for env in positions(make, seed):
        try:
            answer = env.expert_action()
        except NoReferenceError:
            raise SkipTest("no expert declared") from None
        twin = fork(env)
        for owner, name in _hidden(innermost(twin).state):
            object.__setattr__(owner, name, None)  # frozen or not
            num_blanked += 1
        innermost(twin).np_random = make_generator(seed, Stream.CHECK, 1)
        problem = "The expert reads a hidden field, or chance to come"
        fix = "let expert_action() use only what the player has been shown"
        blind = attempt(twin.expert_action, problem, expected=answer, fix=fix)
        require(blind == answer, f"{problem}.", expected=answer, got=blind, fix=fix)
    if not num_blanked:
        raise SkipTest("no hidden fields declared")


@check
def check_secrets(make: Factory, seed: int) -> None:
    """No info tells the oracle's answer, or a hidden field.

    A value that equals a secret once may do so by chance; one that follows it through all
    episodes, and through three different secrets at least, gives it away.
    """
    told: dict[str, list[str]] = {}  # by place in the info: the secret that stood there, or ""
    for info, secrets in _infos_and_secrets(make, seed):
        for place, value in _own_values(info):
            found = next((secret for secret in secrets if _tells(value, secret)), "")
            told.setdefault(place, []).append(found)
    for place, found in told.items():
        require(
            "" in found or len(set(found)) < 3,
            f"The info gives the answer away, in {place!r}.",
            expected="infos from which the player learns nothing new",
            got=sorted(set(found))[:3],
            fix=f"leave {place!r} out of the info",
        )


def _infos_and_secrets(make: Factory, seed: int) -> Iterator[tuple[Info, list[str]]]:
    """Yield the infos of random play, each with the secrets before and after its step."""
    env = make()
    for each in range(seed, seed + affordable(env, _NUM_EPISODES)):
        _, info = env.reset(seed=each)
        secrets = _secrets(env)
        yield info, secrets
        rng = make_generator(each, Stream.CHECK)
        wins = each % 2 == 1 and oracle_answer(env) is not None
        for player in [sample] * _NUM_TURNS + [ask_oracle if wins else answer_nonsense]:
            step = env.step(player(env, rng))
            later = [] if is_over(step) else _secrets(env)
            yield step.info, secrets + later
            secrets = later
            if is_over(step):
                break


def _secrets(env: Env) -> list[str]:
    found = [getattr(owner, name) for owner, name in _hidden(innermost(env).state)]
    answer = oracle_answer(env)
    if answer is not None:
        values = msgspec.to_builtins(env.actions.parse(answer))
        found += [answer, values, list(values.values()), *values.values()]
    return [_text(secret) for secret in found]


def _own_values(info: Any, place: str = "") -> Iterator[tuple[str, Any]]:
    """Yield every value that the environment itself added to an info, containers included."""
    for key, value in _items(info):
        if place or key not in Info.__annotations__:
            here = f"{place}.{key}" if place else str(key)
            yield here, value
            yield from _own_values(value, here)


def _tells(value: Any, secret: str) -> bool:
    text = _text(value)
    return text == secret or (len(secret) >= _MIN_CONTAINED_CHARS and secret in text)


def _text(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, default=str, skipkeys=True)


def _hidden(state: Any) -> Iterator[tuple[Any, str]]:
    """Yield each hidden field of a state, and of what it holds, as an object and a name."""
    for _, item in _items(state):
        yield from _hidden(item)
    if dataclasses.is_dataclass(state):
        for field in dataclasses.fields(state):
            if field.metadata.get("hidden"):
                yield state, field.name
            else:
                yield from _hidden(getattr(state, field.name))


def _items(value: Any) -> list[tuple[Any, Any]]:
    """Return what stands in a container, by key or index; nothing for any other value."""
    if isinstance(value, dict):
        return list(cast(dict[Any, Any], value).items())
    return list(enumerate(cast(list[Any], value))) if isinstance(value, list | tuple) else []
