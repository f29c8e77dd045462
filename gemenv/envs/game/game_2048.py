"""Merge equal tiles until one of them reaches the target."""

from dataclasses import dataclass
from typing import Unpack

from numpy.random import Generator

from gemenv.core.action import ActionForm
from gemenv.core.notation import boxed
from gemenv.envs.game.game_2048_board import DIRECTIONS, Direction, can_slide, slide, spawn
from gemenv.envs.game.game_2048_search import foreseen_best, likely_best
from gemenv.envs.game.turn_game import Outcome, Rules, TurnGame, hidden
from gemenv.errors import ArgumentError

_LEAST_TARGET, _MOST_TARGET = 64, 8192
_OPENING_TURNS = 8
_LABELS = tuple(label.rjust(4) for label in (".", *(str(2**n) for n in range(1, 18))))


@dataclass(frozen=True)
class Push:
    """Push all tiles in this direction."""

    direction: Direction


@dataclass(slots=True)
class State:
    """The board (see `game_2048_board`), the exponent to reach, and the state of the chance."""

    board: bytes
    target: int
    luck: int = hidden()


class Game2048(TurnGame[State]):
    """Push tiles together on a 4x4 board until one shows the target.

    Rewards are sparse: pushing at random merges tiles too, and should not be paid for it. Even so
    it reaches 64 within 50 turns four times in ten, but 512 never.

    Args:
        target: the tile to reach, a power of 2 from 64 to 8192.
        max_turns: the turn limit, at least half the target. A new tile adds 2.2 on average: a good
            player needs 45 turns to 64, 270 to 512 and 1,000 to 2048, one who knows the tiles to
            come 32, 230 and 880.
        is_random: draw the target, a power of 2 from 64 to `target`, for each episode; beyond the
            first 8 turns the limit keeps its ratio to the target.
        **rules: see `Rules`.

    Source: 2048 (G. Cirulli, 2014).
    """

    def __init__(
        self,
        *,
        target: int = 64,
        max_turns: int = 50,
        is_random: bool = False,
        **rules: Unpack[Rules],
    ) -> None:
        is_power = target & (target - 1) == 0
        if not (_LEAST_TARGET <= target <= _MOST_TARGET and is_power and max_turns * 2 >= target):
            raise ArgumentError(
                problem="This target cannot be reached.",
                expected="target a power of 2 from 64 to 8192, and max_turns >= target / 2",
                got={"target": target, "max_turns": max_turns},
                fix="change the target, or raise max_turns",
            )
        super().__init__(ActionForm(Push, boxed("{direction}")), max_turns=max_turns, **rules)
        self.target, self.num_turns, self.is_random = target, max_turns, is_random

    def deal(self, rng: Generator) -> State:
        """Put two tiles on the board."""
        least, most = _LEAST_TARGET.bit_length() - 1, self.target.bit_length() - 1
        target = int(rng.integers(least, most + 1)) if self.is_random else most
        luck = int(rng.integers(2**64, dtype="uint64"))
        board, luck = spawn(bytes(16), luck)
        board, luck = spawn(board, luck)
        return State(board, target, luck)

    def turn_limit(self) -> int:
        """Return the limit for this target."""
        share = (self.num_turns - _OPENING_TURNS) * 2**self.state.target // self.target
        return _OPENING_TURNS + share

    def rules(self) -> str:
        """Tell the goal, how tiles merge, the limit and how to answer."""
        return (
            f"2048: reach a tile of {2**self.state.target} in at most {self.turn_limit()} moves. A "
            "move pushes all tiles one way as far as they go; two equal tiles that meet merge into "
            "their sum, each tile once a move. Then a new tile, 2 or sometimes 4, appears in a "
            "random empty cell, shown as a dot. You lose when no tile can move. Answer with up, "
            "down, left or right, such as \\boxed{up}."
        )

    def view(self) -> str:
        """Show the board row by row."""
        tiles = [_LABELS[exponent] for exponent in self.state.board]
        return "\n".join([" ".join(tiles[at : at + 4]) for at in (0, 4, 8, 12)])

    def play(self, move: Push) -> Outcome:
        """Push the tiles, and add one."""
        state = self.state
        slid = slide(state.board, move.direction)
        if slid == state.board:
            return Outcome.invalid(f"No tile can move {move.direction}.")
        if state.target in slid:
            state.board = slid
            return Outcome.won(f"You reached {2**state.target}.")
        state.board, state.luck = spawn(slid, state.luck)
        if not can_slide(state.board):
            return Outcome.lost("No tile can move any more.")
        return Outcome.go(f"Pushed {move.direction}.")

    def legal(self) -> list[Push]:
        """Return the directions in which a tile can move."""
        board = self.state.board
        return [Push(direction) for direction in DIRECTIONS if slide(board, direction) != board]

    def oracle(self) -> Push:
        """Search along the tiles that chance will bring."""
        return Push(foreseen_best(self.state.board, self.state.luck, self.state.target))

    def expert(self) -> Push:
        """Weigh all tiles that chance may bring."""
        return Push(likely_best(self.state.board, self.state.target))
