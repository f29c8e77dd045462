"""The base of turn games: a game writes its rules, its view and its moves; the rest is here.

A subclass is the game and nothing else. It returns a fresh state from `deal`, tells the rules and
the present view, and applies one typed move in `play`. Parsing, rewards, format errors, the turn
limit, snapshots and seeding come from here and from `Env`.
"""

import dataclasses
import math
from abc import abstractmethod
from collections.abc import Iterable, Sequence
from typing import Any, ClassVar, Generic, Literal, NamedTuple, Self, TypedDict, TypeVar, overload

from numpy.random import Generator

from gemenv.core.action import ActionForm, ActionSet, action_set
from gemenv.core.env import Env, Info, Step
from gemenv.core.message import Observation
from gemenv.errors import ActionError, ArgumentError, ResetNeeded

StateT = TypeVar("StateT")


def hidden() -> Any:
    """Mark a field of a state dataclass as unknown to the player.

    The conformance suite blanks these fields and checks that the expert plays the same.
    """
    return dataclasses.field(metadata={"hidden": True})


class Rules(TypedDict, total=False):
    r"""Keywords that every turn game takes.

    Attributes:
        format_error_reward: reward of an answer without a readable action; default -0.1.
        format_error_ends: whether such an answer ends the episode; default True.
    """

    format_error_reward: float
    format_error_ends: bool


class Outcome(NamedTuple):
    """What a move came to: make one with `Outcome.go`, `.invalid`, `.won` or `.lost`.

    Attributes:
        text: what the player is told.
        kind: whether play goes on, the move was not allowed, or the game is over.
    """

    text: str
    kind: Literal["go", "invalid", "won", "lost"] = "go"

    @classmethod
    def go(cls, text: str = "") -> Self:
        """The move was made, and play goes on."""
        return cls(text)

    @classmethod
    def invalid(cls, text: str) -> Self:
        """The move is not allowed: say why; the state must be unchanged. It costs the turn."""
        return cls(text, "invalid")

    @classmethod
    def won(cls, text: str) -> Self:
        """The task is solved."""
        return cls(text, "won")

    @classmethod
    def lost(cls, text: str) -> Self:
        """The task can no longer be solved."""
        return cls(text, "lost")


class TurnGame(Env, Generic[StateT]):
    """A single-player game in turns.

    Rewards: what was paid for progress and the win itself sum to exactly 1. Until the win, a game
    with `progress` pays `progress_share` of it, each bit once (only a new best pays), so that going
    back and forth earns nothing. An invalid move pays 0 and costs the turn.

    Args:
        forms: the typed actions.
        max_turns: the turn limit, 1 or more.
        format_error_reward: see `Rules`.
        format_error_ends: see `Rules`.
    """

    state: StateT
    progress_share: ClassVar[float] = 0.5
    _EPISODE = (*Env._EPISODE, "_paid")

    def __init__(
        self,
        *forms: ActionForm,
        max_turns: int,
        format_error_reward: float = -0.1,
        format_error_ends: bool = True,
    ) -> None:
        _require(_is_count(max_turns), "max_turns", "an int >= 1", max_turns)
        is_finite = math.isfinite(format_error_reward)
        _require(is_finite, "format_error_reward", "a finite number", format_error_reward)
        super().__init__(actions=action_set(*forms), max_turns=max_turns)
        self.format_error_reward = format_error_reward
        self.format_error_ends = format_error_ends
        self.reward_range = (min(format_error_reward, 0.0), max(format_error_reward, 1.0))
        self._paid = 0.0

    # What a game writes.

    @abstractmethod
    def deal(self, rng: Generator) -> StateT:
        """Return a fresh state; every random choice comes from `rng`."""

    @abstractmethod
    def rules(self) -> str:
        """Tell everything the player needs: the goal, the moves, how to write them, the limit."""

    def view(self) -> str:
        """Show the state as the player sees it; `""` if the outcome's text is enough."""
        return ""

    @abstractmethod
    def play(self, move: Any) -> Outcome:
        """Apply one typed move to `self.state`. Use `self.np_random` for chance."""

    def progress(self) -> float:
        """Return how far the task is solved, from 0 (as dealt) to 1; 0 for sparse games."""
        return 0.0

    def legal(self) -> Iterable[Any]:
        """Return the moves that are allowed now, where there are not too many."""
        return super().legal_actions()  # raises: there is no such list

    def oracle(self) -> Any:
        """Return a winning move, knowing the hidden state."""
        return super().oracle_action()

    def expert(self) -> Any:
        """Return the best known move from what the player has seen: no `hidden` field is read."""
        return super().expert_action()

    # What follows from it.

    def begin(self, options: dict[str, Any]) -> tuple[Observation, Info]:
        """Deal, and show rules and view.

        Raises:
            ArgumentError: if there are options; a turn game has none.
        """
        _require(not options, "options", "empty: this game has none", options)
        self._paid = 0.0
        self.state = self.deal(self.np_random)
        return _joined(self.rules(), self.view()), Info()

    def advance(self, action: str) -> Step:
        """Read the move, play it, and pay for it."""
        try:
            move = self.actions.parse(action)
        except ActionError as error:
            return self._format_error(error)
        text, kind = self.play(move)
        if kind == "won":
            info = Info(action_error=None, success=True, stop_reason="success")
            return Step(text, 1.0 - self._paid, True, False, info)
        due = self.progress_share * self.progress()
        reward = due - self._paid if due > self._paid else 0.0
        self._paid += reward
        if kind == "lost":
            info = Info(action_error=None, success=False, stop_reason="failure")
            return Step(text, reward, True, False, info)
        info = Info(action_error="invalid" if kind == "invalid" else None)
        return Step(_joined(text, self.view()), reward, False, False, info)

    def oracle_action(self) -> str:
        """Write the oracle's move."""
        self._require_started()
        return self.actions.format(self.oracle())

    def expert_action(self) -> str:
        """Write the expert's move."""
        self._require_started()
        return self.actions.format(self.expert())

    def legal_actions(self) -> Sequence[str]:
        """Write every legal move, each when it is looked at: there may be thousands."""
        self._require_started()
        return _Written(self.actions, list(self.legal()))

    def _require_started(self) -> None:
        if self._phase == "new":
            raise ResetNeeded(
                problem="An episode that has not begun has no next move.",
                expected="reset() first",
                got="a call before it",
                fix="call env.reset(seed=...)",
            )

    def _format_error(self, error: ActionError) -> Step:
        info = Info(action_error="format")
        if not self.format_error_ends:
            text = _joined(error.problem, self.view())
            return Step(text, self.format_error_reward, False, False, info)
        info["success"] = False
        info["stop_reason"] = "format_error"
        return Step(error.problem, self.format_error_reward, True, False, info)


class _Written(Sequence[str]):
    """Moves that are formatted one by one, on demand."""

    def __init__(self, actions: ActionSet, moves: list[Any]) -> None:
        self.actions, self.moves = actions, moves

    def __len__(self) -> int:
        return len(self.moves)

    @overload
    def __getitem__(self, index: int) -> str: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[str]: ...
    def __getitem__(self, index: int | slice) -> str | Sequence[str]:
        if isinstance(index, slice):
            return _Written(self.actions, self.moves[index])
        return self.actions.format(self.moves[index])


def _is_count(value: object) -> bool:
    return isinstance(value, int) and value >= 1


def _require(is_valid: bool, name: str, expected: str, got: Any) -> None:
    if not is_valid:
        raise ArgumentError(
            problem=f"The value of {name!r} is outside its domain.",
            expected=f"{name}: {expected}",
            got=got,
            fix=f"leave {name} out for the default, or mend it",
        )


def _joined(text: str, view: str) -> str:
    return f"{text}\n{view}" if text and view else text or view
