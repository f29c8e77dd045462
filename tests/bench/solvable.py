"""An environment whose oracle fails on request, for the tests of score scales."""

from typing import Any

import pytest
from gymnasium.envs import registration

import gemenv
from gemenv import Step
from gemenv.core import registry
from tests.rollout.toys import Counter


class Solvable(Counter):
    """Has an oracle, which raises on `broken` seeds, and does not win on `unsolved` ones."""

    def __init__(
        self,
        *,
        unsolved: tuple[int, ...] = (),
        broken: tuple[int, ...] = (),
        error: Exception | None = None,
    ) -> None:
        super().__init__(num_turns=2)
        self.unsolved, self.broken = unsolved, broken
        self.error = error or ValueError("no way out")

    def oracle_action(self) -> str:
        if self.np_random_seed in self.broken:
            raise self.error
        return "oracle"

    def advance(self, action: str) -> Step:
        step = super().advance(action)
        if step.terminated:
            is_won = action == "oracle" and self.np_random_seed not in self.unsolved
            step.info["success"] = is_won
            return step._replace(reward=1.0 if is_won else 0.0)
        return step


def registered(monkeypatch: pytest.MonkeyPatch, **kwargs: Any) -> str:
    """Register it for one test only; return its id."""
    monkeypatch.setattr(registry, "_specs", dict(registry._specs))
    monkeypatch.setattr(registry, "_by_alias", dict(registry._by_alias))
    monkeypatch.setattr(registration, "registry", dict(registration.registry))
    gemenv.register("toy:Solvable-v0", Solvable, kwargs=kwargs)
    return "toy:Solvable-v0"
