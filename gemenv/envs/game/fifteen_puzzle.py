"""Slide numbered tiles in a frame with one gap until they are in order."""

from dataclasses import dataclass
from typing import Unpack

from numpy.random import Generator

from gemenv.core.action import ActionForm
from gemenv.core.notation import boxed
from gemenv.envs.game.fifteen_puzzle_solver import Direction, first_slide, slide, slides
from gemenv.envs.game.turn_game import Outcome, Rules, TurnGame, hidden
from gemenv.errors import ArgumentError

_OPPOSITE: dict[Direction, Direction] = {
    "up": "down",
    "down": "up",
    "left": "right",
    "right": "left",
}
_LABELS = ("_", *map(str, range(1, 36)))
_WIDE_LABELS = tuple(label.rjust(2) for label in _LABELS)
_LEAST_SIZE, _LEAST_SCRAMBLE = 3, 12


@dataclass(frozen=True)
class Slide:
    """Slide the tile beside the gap into it, in this direction."""

    direction: Direction


@dataclass(slots=True)
class State:
    """The tiles row by row, 0 for the gap; the turn limit; and slides that put them in order."""

    board: bytes
    size: int
    max_turns: int
    solution: tuple[Direction, ...] = hidden()


class FifteenPuzzle(TurnGame[State]):
    """Put the tiles of a square frame in order by sliding one at a time into the gap.

    The board is scrambled by a random walk of the gap that never steps straight back, from half of
    `num_scrambles` to all of it, so the way back is a solution within the limit. Frames start at
    3x3: one of 2x2 has 12 boards, one of 3x3 has 1,800 within 12 slides of the solved one.

    Args:
        size: rows and columns, from 3 to 6.
        num_scrambles: the longest scramble, from 12 to `max_turns`.
        max_turns: the turn limit.
        is_random: draw the size, from 3 to `size`, and the longest scramble, from 12 to
            `num_scrambles`, for each episode; as many turns are left to spare as with the longest.
        **rules: see `Rules`.
    """

    def __init__(
        self,
        *,
        size: int = 3,
        num_scrambles: int = 12,
        max_turns: int = 20,
        is_random: bool = False,
        **rules: Unpack[Rules],
    ) -> None:
        if not (_LEAST_SIZE <= size <= 6 and _LEAST_SCRAMBLE <= num_scrambles <= max_turns):
            raise ArgumentError(
                problem="There is no such puzzle.",
                expected="size from 3 to 6, and 12 <= num_scrambles <= max_turns",
                got={"size": size, "num_scrambles": num_scrambles, "max_turns": max_turns},
                fix="change the size, or scramble within the turn limit",
            )
        super().__init__(ActionForm(Slide, boxed("{direction}")), max_turns=max_turns, **rules)
        self.size, self.num_scrambles, self.is_random = size, num_scrambles, is_random
        self.spare_turns = max_turns - num_scrambles

    def deal(self, rng: Generator) -> State:
        """Scramble the solved board, and keep the way back."""
        size, most = self.size, self.num_scrambles
        if self.is_random:
            size = int(rng.integers(_LEAST_SIZE, size + 1))
            most = int(rng.integers(_LEAST_SCRAMBLE, most + 1))
        solved = _in_order(size)
        board, solution = solved, ()
        while board == solved:  # as a walk in circles leaves it
            board, solution = _scrambled(solved, size, int(rng.integers(most // 2, most + 1)), rng)
        return State(board, size, most + self.spare_turns, solution)

    def turn_limit(self) -> int:
        """Return the limit of this board."""
        return self.state.max_turns

    def rules(self) -> str:
        """Tell the goal, how tiles slide, the limit and how to answer."""
        size, count = self.state.size, self.state.size**2 - 1
        return (
            f"Sliding puzzle: tiles 1 to {count} lie in a {size}x{size} frame with one gap, shown "
            "as _. Put them in order in at most "
            f"{self.turn_limit()} moves: 1 to {size} from left to right in the first row, and so "
            "on, with the gap at the end of the last row. A move slides one tile beside the gap "
            "into it. Answer with the direction in which the tile slides, which is up, down, left "
            "or right: \\boxed{up} slides the tile below the gap up."
        )

    def view(self) -> str:
        """Show the tiles row by row."""
        board, size = self.state.board, self.state.size
        labels = _LABELS if size == _LEAST_SIZE else _WIDE_LABELS
        tiles = [labels[tile] for tile in board]
        return "\n".join([" ".join(tiles[at : at + size]) for at in range(0, len(tiles), size)])

    def play(self, move: Slide) -> Outcome:
        """Slide a tile, if there is one to slide."""
        state = self.state
        gap = state.board.index(0)
        source = slides(state.size)[gap].get(move.direction)
        if source is None:
            return Outcome.invalid(f"No tile can slide {move.direction}.")
        tile = state.board[source]
        state.board = slide(state.board, gap, source)
        if state.solution[0] == move.direction:
            state.solution = state.solution[1:]
        else:  # first take the slide back
            state.solution = (_OPPOSITE[move.direction], *state.solution)
        if state.board == _in_order(state.size):
            return Outcome.won("Solved: the tiles are in order.")
        return Outcome.go(f"Tile {tile} moved {move.direction}.")

    def legal(self) -> list[Slide]:
        """Return the two to four slides that are possible."""
        return [
            Slide(direction) for direction in slides(self.state.size)[self.state.board.index(0)]
        ]

    def oracle(self) -> Slide:
        """Take the scramble back, and before it what was played since."""
        return Slide(self.state.solution[0])

    def expert(self) -> Slide:
        """Search for a shortest solution."""
        return Slide(first_slide(self.state.board, self.state.size))


def _in_order(size: int) -> bytes:
    return bytes(range(1, size * size)) + b"\0"


def _scrambled(
    board: bytes, size: int, num_slides: int, rng: Generator
) -> tuple[bytes, tuple[Direction, ...]]:
    """Slide tiles at random, never one straight back; return the board and the way back."""
    gap = board.index(0)
    way_back: list[Direction] = []
    for _ in range(num_slides):
        options: list[tuple[Direction, int]] = [
            (direction, source)
            for direction, source in slides(size)[gap].items()
            if not way_back or direction != way_back[-1]
        ]
        direction, source = options[int(rng.integers(len(options)))]
        board, gap = slide(board, gap, source), source
        way_back.append(_OPPOSITE[direction])
    return board, tuple(reversed(way_back))
