"""The base of wrappers: an environment around an environment."""

# What an environment has as attributes, a wrapper asks of the one inside: properties instead.
# pyright: reportIncompatibleVariableOverride=false, reportIncompatibleMethodOverride=false

import copy
from collections.abc import Sequence
from typing import Any, Self

import gymnasium

from gemenv.core.action import ActionSet
from gemenv.core.env import Env, Info, Step
from gemenv.core.message import Observation
from gemenv.core.snapshot import Snapshot, state_of, take
from gemenv.errors import ArgumentError


class Wrapper(gymnasium.Wrapper[Observation, str, Observation, str], Env):
    """An environment that changes another one: a `gymnasium.Wrapper` and a `gemenv.Env` at once.

    A subclass overrides `reset`, `step` or both, and calls `super()` for the inner environment's
    part. What it remembers of an episode it keeps in `self.state`; that goes into snapshots and
    forks, together with everything inside. All else is asked of the inner environment, never
    copied. `unwrapped` is the innermost environment, and `unwrapped.state` the state of the game.

    Args:
        env: the environment inside.

    Raises:
        ArgumentError: if it is not a `gemenv.Env`.

    Example:
        >>> class Polite(Wrapper):
        ...     def step(self, action):
        ...         step = super().step(action)
        ...         return step._replace(observation=f"Please note: {step.observation}")
        >>> from gemenv import make
        >>> env = Polite(make("game:GuessTheNumber"))
        >>> observation, info = env.reset(seed=0)
        >>> env.step("I pass.").observation[:28]
        'Please note: No action found'
    """

    env: Env

    def __init__(self, env: Env) -> None:
        if not isinstance(env, Env):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise ArgumentError(
                problem="A gemenv wrapper wraps a gemenv environment.",
                expected="a gemenv.Env",
                got=env,
                fix="put Gymnasium's own wrappers outside of gemenv's",
            )
        super().__init__(env)
        self.state = None

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Observation, Info]:
        """Start a new episode; see `Env.reset`."""
        return self.env.reset(seed=seed, options=options)

    def step(self, action: str) -> Step:
        """Take one turn; see `Env.step`."""
        return self.env.step(action)

    def turn_limit(self) -> float:
        """Return after how many actions this episode is truncated; infinity for never."""
        return self.env.turn_limit()

    def oracle_action(self) -> str:
        """Return the best action, knowing the hidden state; see `Env.oracle_action`."""
        return self.env.oracle_action()

    def expert_action(self) -> str:
        """Return the best known action; see `Env.expert_action`."""
        return self.env.expert_action()

    def legal_actions(self) -> Sequence[str]:
        """Return every action that is allowed now; see `Env.legal_actions`."""
        return self.env.legal_actions()

    def snapshot(self) -> Snapshot:
        """Freeze the episode as it stands: this wrapper's state, and everything inside."""
        return take(self, (self.state, self.env.snapshot()))

    def restore(self, snapshot: Snapshot) -> None:
        """Go back to a snapshot of the same environment in the same wrappers.

        Raises:
            SnapshotError: if another class took it, here or inside.
        """
        state, inner = state_of(self, snapshot)
        self.env.restore(inner)
        self.state = state

    def fork(self, n: int = 1) -> list[Self]:
        """Return `n` independent copies of this environment in this very state."""
        twins: list[Self] = []
        for env in self.env.fork(n):
            twin = copy.copy(self)
            twin.env = env
            twin.state = copy.deepcopy(self.state)
            twins.append(twin)
        return twins

    @property
    def actions(self) -> ActionSet:
        """The typed actions that the inner environment understands."""
        return self.env.actions

    @property
    def max_turns(self) -> int | None:
        """The turn limit; None for no limit."""
        return self.env.max_turns

    @property
    def turn(self) -> int:
        """Actions taken so far in this episode."""
        return self.env.turn

    @property
    def reward_range(self) -> tuple[float, float]:
        """The least and the greatest reward of one step."""
        return self.env.reward_range

    @property
    def env_id(self) -> str:
        """The full id that the innermost environment was made from."""
        return self.env.env_id

    @env_id.setter
    def env_id(self, value: str) -> None:
        self.env.env_id = value

    @property
    def env_kwargs(self) -> dict[str, Any]:
        """The keywords that `make` was given."""
        return self.env.env_kwargs

    @env_kwargs.setter
    def env_kwargs(self, value: dict[str, Any]) -> None:
        self.env.env_kwargs = value

    def set_wrapper_attr(self, name: str, value: Any, *, force: bool = True) -> bool:
        """Set an attribute where it is: here, or in the environment inside."""
        if name in vars(self) or hasattr(type(self), name):
            setattr(self, name, value)
            return True
        return self.env.set_wrapper_attr(name, value, force=force)

    def __getattr__(self, name: str) -> Any:
        """Ask the inner environment for what the wrapper does not have."""
        if name.startswith("_") or name == "env":  # `env` is missing only while unpickling
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")
        return getattr(self.env, name)
