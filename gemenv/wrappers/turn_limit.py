"""A tighter turn limit."""

from typing import Any

from gemenv.core.env import Env, Info, Step
from gemenv.core.message import Observation
from gemenv.errors import ArgumentError, EpisodeOver
from gemenv.wrappers.wrapper import Wrapper


class TurnLimit(Wrapper):
    r"""Truncate each episode after `max_turns` actions, or at the environment's own, lower limit.

    What the environment tells of its own limit (in its rules, say) stays as it is.

    Args:
        env: the environment inside.
        max_turns: 1 or more.

    Raises:
        ArgumentError: if `max_turns` is less than 1.

    Example:
        >>> from gemenv import make
        >>> env = TurnLimit(make("game:GuessTheNumber", high=1000), 1)
        >>> observation, info = env.reset(seed=0)
        >>> step = env.step(r"\boxed{500}")
        >>> step.truncated, step.info["stop_reason"]
        (True, 'turn_limit')
    """

    state: int
    """Actions taken so far."""

    def __init__(self, env: Env, max_turns: int) -> None:
        if max_turns < 1:
            raise ArgumentError(
                problem="An episode needs at least one turn.",
                expected="max_turns >= 1",
                got=max_turns,
                fix="raise max_turns, or leave the wrapper out",
            )
        super().__init__(env)
        self._limit = max_turns
        self.state = 0

    @property
    def max_turns(self) -> int:  # pyright: ignore[reportIncompatibleVariableOverride]
        """The lower of the two limits."""
        return self._limit if self.env.max_turns is None else min(self._limit, self.env.max_turns)

    def turn_limit(self) -> float:
        """Return the lower of the two limits in this episode."""
        return min(self._limit, self.env.turn_limit())

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Observation, Info]:
        """Start a new episode, and count from 0."""
        self.state = 0
        return super().reset(seed=seed, options=options)

    def step(self, action: str) -> Step:
        """Take one turn; the last one truncates.

        Raises:
            EpisodeOver: after the end.
        """
        if self.state == self._limit:  # the inner environment may still be running
            raise EpisodeOver(
                problem=f"The environment was stepped after its last turn ({self._limit}).",
                expected="reset() after terminated or truncated",
                got="step()",
                fix="call env.reset() to start the next episode",
            )
        step = super().step(action)
        self.state += 1
        if step.terminated or step.truncated or self.state < self._limit:
            return step
        step.info["success"] = step.info.get("success", False)
        step.info["stop_reason"] = "turn_limit"
        return step._replace(truncated=True)
