"""Finished episodes, on record."""

import copy
import json
from os import PathLike
from pathlib import Path
from typing import Any

from gemenv.core.env import Env, Info, Step
from gemenv.core.message import Observation
from gemenv.wrappers.wrapper import Wrapper


class Record(Wrapper):
    r"""Keep each finished episode, in memory or as one line of JSON at the end of a file.

    An episode is a dict: `env_id`, `env_kwargs`, `seed` and `options` (as `reset` was given them),
    `observation` (the first), `turns` (each with `action`, `observation`, `reward`, `info`),
    `terminated`, `truncated`, and `return` (the undiscounted sum of rewards). An episode that was
    left before its end is not kept.

    Args:
        env: the environment inside.
        path: a file to append to, made where it does not exist; None to keep in `episodes`.

    Attributes:
        episodes: what was finished so far, by this environment and its forks, where there is no
            `path`.

    Example:
        >>> from gemenv import make
        >>> env = Record(make("game:GuessTheNumber"))
        >>> observation, info = env.reset(seed=0)
        >>> step = env.step(env.oracle_action())
        >>> [(episode["seed"], episode["return"]) for episode in env.episodes]
        [(0, 1.0)]
    """

    state: dict[str, Any]
    """The episode under way."""

    def __init__(self, env: Env, path: str | PathLike[str] | None = None) -> None:
        super().__init__(env)
        self.path = None if path is None else Path(path)
        self.episodes: list[dict[str, Any]] = []
        self.state = {}

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Observation, Info]:
        """Start a new episode, and its record."""
        observation, info = super().reset(seed=seed, options=options)
        self.state = {
            "env_id": self.env_id,
            "env_kwargs": self.env_kwargs,
            "seed": seed,
            "options": options,
            "observation": copy.deepcopy(observation),
            "turns": [],
        }
        return observation, info

    def step(self, action: str) -> Step:
        """Take one turn; the last one puts the episode on record."""
        step = super().step(action)
        observation, info = copy.deepcopy((step.observation, step.info))  # they are the caller's
        turn = {"action": action, "observation": observation, "reward": step.reward, "info": info}
        self.state["turns"].append(turn)
        if step.terminated or step.truncated:
            self._keep(step)
        return step

    def _keep(self, step: Step) -> None:
        rewards = [turn["reward"] for turn in self.state["turns"]]
        ends = {"terminated": step.terminated, "truncated": step.truncated}
        episode = {**self.state, **ends, "return": sum(rewards)}
        if self.path is None:
            self.episodes.append(episode)
            return
        with self.path.open("a", encoding="utf-8") as file:
            file.write(json.dumps(episode) + "\n")
