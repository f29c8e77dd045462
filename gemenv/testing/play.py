"""Playing for the checks: the players, and episodes as text that can be compared."""

from collections.abc import Callable, Iterator, Sequence
from typing import TypeAlias, cast
from unittest import SkipTest

from numpy.random import Generator

from gemenv.core.env import Env, Step
from gemenv.core.seeding import Stream, make_generator
from gemenv.core.snapshot import Snapshot
from gemenv.errors import NoReferenceError
from gemenv.testing.check import Factory, require

Player: TypeAlias = Callable[[Env, Generator], str]
"""Answers from the environment and a generator of its own."""

_MAX_TURNS = 1000  # of an episode without a turn limit, or with a long one


def sample(env: Env, rng: Generator) -> str:
    """Draw a well-formed action."""
    return env.actions.format(env.actions.sample(rng))


def sample_legal(env: Env, rng: Generator) -> str:
    """Draw a legal action; where they are not listed, a well-formed one."""
    try:
        legal = env.legal_actions()
    except NoReferenceError:
        return sample(env, rng)
    return legal[int(rng.integers(len(legal)))]


def answer_nonsense(env: Env, rng: Generator) -> str:
    """Answer without an action."""
    return "I do not know."


def ask_oracle(env: Env, rng: Generator) -> str:
    """Ask the oracle."""
    return env.oracle_action()


def oracle_answer(env: Env) -> str | None:
    """Return the oracle's action in a running episode; None if no oracle is declared."""
    try:
        return env.oracle_action()
    except NoReferenceError:
        return None


def is_over(step: Step) -> bool:
    """Tell whether a step was the episode's last."""
    return step.terminated or step.truncated


def affordable(env: Env, num: int) -> int:
    """Return `num`; where steps wait on something, a tenth of it, but 2 at least."""
    return max(2, num // 10) if env.metadata.get("blocking") else num


def freeze(env: Env) -> Snapshot:
    """Take a snapshot.

    Raises:
        SkipTest: if the environment declares that it cannot be frozen.
    """
    try:
        return env.snapshot()
    except NotImplementedError:
        raise SkipTest("no snapshot declared") from None


def fork(env: Env) -> Env:
    """Return a copy of a running environment; raises like `freeze`."""
    freeze(env)
    return env.fork()[0]


def play(env: Env, seed: int, player: Player, max_turns: int = _MAX_TURNS) -> list[Step]:
    """Play one episode to its end, or for `max_turns` turns."""
    rng, max_turns = make_generator(seed, Stream.CHECK), affordable(env, max_turns)
    env.reset(seed=seed)
    steps: list[Step] = []
    while len(steps) < max_turns and not (steps and is_over(steps[-1])):
        steps.append(env.step(player(env, rng)))
    return steps


def explore(env: Env, seed: int, max_turns: int = 12) -> list[str]:
    """Find actions that lead through an episode: samples, and now and then the oracle's."""
    actions: list[str] = []

    def wander(env: Env, rng: Generator) -> str:
        answer = oracle_answer(env) if rng.random() < 0.25 else None
        actions.append(sample(env, rng) if answer is None else answer)
        return actions[-1]

    play(env, seed, wander, max_turns)
    return actions


def positions(make: Factory, seed: int) -> Iterator[Env]:
    """Yield an environment in several positions of three episodes: every other turn of eight."""
    env = make()
    for each in range(seed, seed + 3):
        actions = explore(env, each, max_turns=8)
        env.reset(seed=each)
        for turn, action in enumerate(actions):
            if turn % 2 == 0:
                yield env
            env.step(action)


def replay(env: Env, seed: int, actions: Sequence[str]) -> list[str]:
    """Reset, take the actions, and return all that was seen as text, event by event."""
    return [repr(env.reset(seed=seed)), *follow(env, actions)]


def follow(env: Env, actions: Sequence[str]) -> list[str]:
    """Take the actions until the episode ends; return each step as text."""
    seen: list[str] = []
    for action in actions:
        step = env.step(action)
        seen.append(repr(tuple(step)))
        if is_over(step):
            break
    return seen


def require_same(expected: list[str], got: list[str], problem: str, *, fix: str) -> None:
    """Raise ConformanceError at the first event in which two episodes differ."""
    for turn, (one, other) in enumerate(zip([*expected, "end"], [*got, "end"], strict=False)):
        require(one == other, f"{problem} (at turn {turn})", expected=one[:200], got=other, fix=fix)


def innermost(env: Env) -> Env:
    """Return the environment inside all wrappers."""
    return cast(Env, env.unwrapped)
