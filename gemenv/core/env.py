"""The environment: a `gymnasium.Env` whose observations and actions are text."""

import copy
import math
from collections.abc import Sequence
from typing import Any, ClassVar, Literal, NamedTuple, Self, TypedDict

import gymnasium

from gemenv.core.action import ActionSet
from gemenv.core.message import Observation
from gemenv.core.seeding import Stream, checked_seed, fresh_seed, make_generator
from gemenv.core.snapshot import Snapshot, state_of, take
from gemenv.core.space import ActionSpace, ObservationSpace
from gemenv.errors import (
    ActionTypeError,
    ArgumentError,
    EpisodeOver,
    NoReferenceError,
    ResetNeeded,
)


class Info(TypedDict, total=False):
    """What `reset` and `step` tell beside the observation; JSON-safe, and free of the answer.

    Attributes:
        turn: actions taken so far in this episode.
        action_error: "format" if no action could be read, "invalid" if it was not allowed.
        success: at the end only: whether the task was solved.
        stop_reason: at the end only: why the episode ended.
        role: the chat role under which the observation is shown; "user" where absent.
    """

    turn: int
    action_error: Literal["format", "invalid"] | None
    success: bool
    stop_reason: str
    role: Literal["user", "tool"]


class Step(NamedTuple):
    """Gymnasium's five values, with names.

    Attributes:
        observation: what the agent sees next.
        reward: finite, inside the environment's `reward_range`.
        terminated: the task itself ended (solved, lost, malformed answer).
        truncated: it was cut short (turn limit); never true together with `terminated`.
        info: see `Info`.
    """

    observation: Observation
    reward: float
    terminated: bool
    truncated: bool
    info: Info


class Env(gymnasium.Env[Observation, str]):
    """An environment for language-model agents.

    A subclass implements `begin` and `advance`, and keeps everything that changes during an
    episode in `self.state` (a dataclass, or anything that pickles). Seeding, the turn limit, the
    order of calls, snapshots and forks are done here. `envs/game/turn_game.py` is a base for turn
    games, `envs/game/guess_the_number.py` a complete example.

    Args:
        actions: the typed actions it understands.
        max_turns: truncate after so many actions; None for no limit.
    """

    metadata: dict[str, Any] = {"render_modes": [], "blocking": False}  # noqa: RUF012  Gymnasium's
    """`blocking` says that `step` waits on something (a process, a network)."""

    reward_range: tuple[float, float] = (-1.0, 1.0)
    """The least and the greatest reward of one step."""

    env_id: str = ""
    """The full id it was made from; `""` if it was not made through the registry."""

    env_kwargs: dict[str, Any] = {}  # noqa: RUF012  replaced, never changed
    """The keywords that `make` was given, beyond those of the id."""

    _EPISODE: ClassVar[tuple[str, ...]] = (
        "state",
        "turn",
        "_phase",
        "_index",
        "_np_random_seed",
        "_np_random",
    )

    def __init__(self, *, actions: ActionSet, max_turns: int | None = None) -> None:
        self.actions = actions
        self.max_turns = max_turns
        self.state: Any = None
        self.turn = 0
        self._phase: Literal["new", "running", "over"] = "new"
        self._index = 0

    # What an author writes.

    def begin(self, options: dict[str, Any]) -> tuple[Observation, Info]:
        """Start an episode: set `self.state` from `self.np_random` and return the first view.

        Args:
            options: what `reset(options=...)` was given; `{}` by default.
        """
        raise NotImplementedError

    def advance(self, action: str) -> Step:
        """Apply one action to `self.state`; `self.turn` already counts it."""
        raise NotImplementedError

    def turn_limit(self) -> float:
        """Return after how many actions this episode is truncated; infinity for never."""
        return math.inf if self.max_turns is None else self.max_turns

    def oracle_action(self) -> str:
        """Return the best action, knowing the hidden state: the proof that the task can be won.

        Raises:
            NoReferenceError: if the environment has no oracle.
        """
        raise _no_reference(self, "oracle")

    def expert_action(self) -> str:
        """Return the best known action from what the player has seen: a fair reference.

        Raises:
            NoReferenceError: if the environment has no expert.
        """
        raise _no_reference(self, "expert")

    def legal_actions(self) -> Sequence[str]:
        """Return every action that is allowed now, where that set is finite and small.

        Raises:
            NoReferenceError: if it is not.
        """
        raise _no_reference(self, "list of legal actions")

    # What everybody calls.

    def reset(  # pyright: ignore[reportIncompatibleMethodOverride]  Info is a dict with names
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Observation, Info]:
        """Start a new episode.

        Args:
            seed: any integer of 0 or more; the same seed gives the same episode, whatever happened
                before. None goes on to the next episode of the present seed, or draws a fresh one.
            options: whatever the environment documents.

        Returns:
            The first observation, and its info.

        Raises:
            ArgumentError: if the seed is negative or not an integer.
        """
        if not isinstance(options, dict | None):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise _not_options(options)
        if seed is not None:
            self._np_random_seed, self._index = checked_seed(seed), 0
        elif self._np_random_seed is None:
            self._np_random_seed, self._index = fresh_seed(), 0
        elif self._np_random_seed < 0:  # somebody set `np_random`: their generator leads on
            self._np_random_seed, self._index = int(self.np_random.integers(2**63)), 0
        else:
            self._index += 1
        self._np_random = make_generator(self._np_random_seed, Stream.EPISODE, self._index)
        self.turn = 0
        self._phase = "new"  # stays so if `begin` fails
        observation, info = self.begin(options or {})
        self._phase = "running"
        info["turn"] = 0
        return observation, info

    def step(self, action: str) -> Step:  # pyright: ignore[reportIncompatibleMethodOverride]
        """Take one turn.

        Args:
            action: what the agent answered: free text in which a typed action stands.

        Returns:
            Gymnasium's five values as a `Step`.

        Raises:
            ActionTypeError: if the action is not a string.
            ResetNeeded: before the first `reset`.
            EpisodeOver: after the end.
        """
        if self._phase != "running":
            raise _not_running(self._phase)
        if not isinstance(action, str):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise _not_text(self, action)
        self.turn += 1
        step = self.advance(action)
        info = step.info
        info["turn"] = self.turn
        if step.terminated:
            self._phase = "over"
        elif not step.truncated and self.turn >= self.turn_limit():
            info["success"] = info.get("success", False)
            info["stop_reason"] = "turn_limit"
            step = step._replace(truncated=True)
        if step.truncated:
            self._phase = "over"
        return step

    def snapshot(self) -> Snapshot:
        """Freeze the episode as it stands, generator included; cheap to keep, and picklable."""
        return take(self, {name: getattr(self, name) for name in self._EPISODE})

    def restore(self, snapshot: Snapshot) -> None:
        """Go back to a snapshot of an environment of the same class and keywords.

        Raises:
            SnapshotError: if another class took it.
        """
        vars(self).update(state_of(self, snapshot))

    def fork(self, n: int = 1) -> list[Self]:
        """Return `n` independent copies of this environment in this very state."""
        frozen = self.snapshot()
        return [self._copied(frozen) for _ in range(n)]

    def _copied(self, frozen: Snapshot) -> Self:
        twin = copy.copy(self)
        for space in ("_action_space", "_observation_space"):  # they have generators of their own
            vars(twin).pop(space, None)
        twin.restore(frozen)
        return twin

    @property
    def action_space(self) -> ActionSpace:  # pyright: ignore[reportIncompatibleVariableOverride]
        """Every text; samples are well-formed typed actions. One object per environment."""
        space = vars(self).get("_action_space")
        if space is None:
            space = vars(self)["_action_space"] = ActionSpace(self.actions)
        return space

    @property
    def observation_space(self) -> ObservationSpace:  # pyright: ignore[reportIncompatibleVariableOverride]
        """Every text, and every list of content parts. One object per environment."""
        space = vars(self).get("_observation_space")
        if space is None:
            space = vars(self)["_observation_space"] = ObservationSpace()
        return space

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.env_id or '(unregistered)'}>"

    __str__ = __repr__


def _no_reference(env: Env, what: str) -> NoReferenceError:
    return NoReferenceError(
        problem=f"{env!r} has no {what}.",
        expected=f"an environment that declares its {what}",
        got=type(env).__name__,
        fix="choose another policy, or implement it in the environment",
    )


def _not_running(phase: str) -> ResetNeeded | EpisodeOver:
    if phase == "new":
        return ResetNeeded(
            problem="The environment was stepped before it was reset.",
            expected="reset() first",
            got="step()",
            fix="call observation, info = env.reset(seed=...)",
        )
    return EpisodeOver(
        problem="The environment was stepped after its episode ended.",
        expected="reset() after terminated or truncated",
        got="step()",
        fix="call env.reset() to start the next episode",
    )


def _not_options(options: Any) -> ArgumentError:
    return ArgumentError(
        problem="The options of a reset must be a dict.",
        expected="a dict that the environment understands, or None",
        got=options,
        fix="call env.reset(seed=..., options={...})",
    )


def _not_text(env: Env, action: Any) -> ActionTypeError:
    return ActionTypeError(
        problem="An action must be a string.",
        expected=f"text such as {env.actions.usage}",
        got=action,
        fix="pass the model's answer as it is; env.actions.format(...) writes a typed action",
    )
