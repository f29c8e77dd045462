"""Play an environment in the terminal, or watch a policy play it.

Without --policy you play: type an action as the rules say, or only what stands inside its frame.
Ctrl-D or Ctrl-C leaves.

Examples:
    gemenv play game:GuessTheNumber
    gemenv play game:GuessTheNumber --seed 7 --kwargs high=100 max_turns=7
    gemenv play game:GuessTheNumber --policy expert
"""

import asyncio
import sys
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Annotated

import tyro

from gemenv.cli.arguments import Keywords, parse
from gemenv.cli.policy_option import PolicyOptions, open_policy
from gemenv.core.env import Env
from gemenv.core.message import text_of
from gemenv.core.registry import make
from gemenv.core.seeding import checked_seed, fresh_seed
from gemenv.errors import ActionError
from gemenv.rollout.episode import Start, run_episode
from gemenv.rollout.trajectory import Trajectory

_HUMAN = "human"


@dataclass(frozen=True)
class Options:
    """What to play, and who plays."""

    id: tyro.conf.Positional[str]
    """`family:Name[-vN][-variant]`."""
    player: Annotated[PolicyOptions, tyro.conf.arg(name="")] = field(
        default_factory=partial(PolicyOptions, policy=_HUMAN)
    )
    """Who plays: `human` is you."""
    seed: int | None = None
    """Of the episode, 0 or more; a fresh one if left out."""
    kwargs: Keywords = field(default_factory=dict[str, object])
    """Keywords of the environment."""


def run(argv: Sequence[str]) -> int:
    """Play one episode."""
    options = parse(Options, argv, command="gemenv play", about=__doc__)
    seed = fresh_seed() if options.seed is None else checked_seed(options.seed)
    env = make(options.id, **options.kwargs)
    try:
        if options.player.policy == _HUMAN:
            _play(env, seed)
            return 0
        return _show(asyncio.run(_watch(env, options.player, seed)))
    finally:
        env.close()


def _play(env: Env, seed: int) -> None:
    _print_start(env.env_id, seed)
    observation, info = env.reset(seed=seed)
    total, is_over = 0.0, False
    while not is_over:
        print(text_of(observation))
        try:
            action = _ask(env)
        except (EOFError, KeyboardInterrupt):
            print("\nYou left.")
            return
        observation, reward, terminated, truncated, info = env.step(action)
        total, is_over = total + reward, terminated or truncated
    print(text_of(observation))
    _print_end(total, info.get("stop_reason"))


def _ask(env: Env) -> str:
    """Read an action; a slip of the keyboard is asked again, not played."""
    while True:
        typed, problem = input("> "), ""
        frames = [form.notation.frame for form in env.actions.forms]
        for candidate in (typed, *(frame.around(typed) for frame in frames)):
            try:
                env.actions.parse(candidate)
            except ActionError as error:
                problem = error.problem
            else:
                return candidate
        print(problem)


async def _watch(env: Env, options: PolicyOptions, seed: int) -> Trajectory:
    async with open_policy(options) as policy:
        return await run_episode(env, policy, Start(seed=seed, policy_seed=seed))


def _show(episode: Trajectory) -> int:
    _print_start(episode.env_id, episode.seed)
    for turn in episode.turns:
        for message in turn.messages:
            print(text_of(message["content"]))
        print(f"> {turn.action}")
    for message in episode.final_messages:
        print(text_of(message["content"]))
    if not episode.has_return:
        print(f"The episode ended in {episode.outcome}: {episode.error}", file=sys.stderr)
        return 1
    reason = episode.truncation_reason or episode.turns[-1].info.get("stop_reason")
    _print_end(episode.episode_return, reason)
    return 0


def _print_start(env_id: str, seed: int) -> None:
    print(f"{env_id}, seed {seed}\n")


def _print_end(total: float, reason: str | None) -> None:
    print(f"\n{reason}, return {total:g}")
