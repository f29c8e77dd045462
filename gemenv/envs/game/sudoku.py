"""Fill a grid so that every row, column and box holds each digit once."""

import functools
import math
from dataclasses import dataclass
from typing import Unpack

from numpy.random import Generator

from gemenv.core.action import ActionForm
from gemenv.core.notation import boxed
from gemenv.envs.game.sudoku_grid import BOX_SHAPES, free_digits, make_puzzle, rivals, solve
from gemenv.envs.game.turn_game import Outcome, Rules, TurnGame
from gemenv.errors import ArgumentError

_AS_TEXT = bytes.maketrans(bytes(range(10)), b".123456789")


@dataclass(frozen=True)
class Place:
    """Write a digit into a cell that is not a clue, or empty it with 0."""

    row: int
    col: int
    digit: int


@dataclass(slots=True)
class State:
    """The clues, and the clues with the player's digits; a byte a cell, 0 where it is empty.

    Nothing is hidden: the clues determine the solution.
    """

    size: int
    clues: bytes
    grid: bytearray


class Sudoku(TurnGame[State]):
    """Complete a grid from its clues; there is exactly one solution.

    A digit may go wherever its row, column and box do not hold it, right or wrong. The player's
    own digits can be overwritten and taken back. Only the win pays: with so few cells empty, legal
    moves at random get many of them right (and win 1 in 10 games of the easy variant).

    Args:
        size: 4 (boxes of 2x2), 6 (2 rows by 3 columns) or 9 (3x3).
        num_clues: how many cells are given: a third to nine tenths of all.
        max_turns: how many moves there are; at least the number of empty cells.
        is_random: for each episode, draw the size from those up to `size`; clues (rounded up) and
            moves shrink in proportion to the cells.
        **rules: see `Rules`.

    Source: variants of GEM (arXiv:2510.01051).
    """

    def __init__(
        self,
        *,
        size: int = 4,
        num_clues: int = 10,
        max_turns: int = 15,
        is_random: bool = False,
        **rules: Unpack[Rules],
    ) -> None:
        num_cells = size * size
        if size not in BOX_SHAPES or not num_cells / 3 <= num_clues <= num_cells * 0.9:
            raise ArgumentError(
                problem="There is no such Sudoku.",
                expected="a size of 4, 6 or 9, and clues for a third to nine tenths of the cells",
                got={"size": size, "num_clues": num_clues},
                fix="choose e.g. size=9, num_clues=50",
            )
        if max_turns < num_cells - num_clues:
            raise ArgumentError(
                problem="There are fewer moves than empty cells.",
                expected=f"max_turns >= {num_cells - num_clues}",
                got=max_turns,
                fix="raise max_turns, or num_clues",
            )
        domain = range(1, size + 1)
        form = ActionForm(
            Place, boxed("{row} {col} {digit}"), row=domain, col=domain, digit=range(size + 1)
        )
        super().__init__(form, max_turns=max_turns, **rules)
        self.size, self.num_clues, self.is_random = size, num_clues, is_random

    def deal(self, rng: Generator) -> State:
        """Make a puzzle."""
        size, num_clues = self.size, self.num_clues
        if self.is_random:
            sizes = [smaller for smaller in BOX_SHAPES if smaller <= size]
            size = sizes[int(rng.integers(len(sizes)))]
            num_clues = math.ceil(num_clues * size**2 / self.size**2)
        clues = make_puzzle(size, num_clues, rng)
        return State(size, clues, bytearray(clues))

    def turn_limit(self) -> int:
        """Return the limit of this episode: a grid with fewer empty cells has fewer moves."""
        num_empty = self.size**2 - self.num_clues
        return math.ceil(super().turn_limit() * self.state.clues.count(0) / num_empty)

    def rules(self) -> str:
        """Tell the goal, how cells and boxes are counted, the limit and the notation."""
        size = self.state.size
        return (
            f"Sudoku: fill the {size}x{size} grid so that every row, every column and every "
            f"{_unit_names(size)[2]} holds each digit from 1 to {size} once. You have "
            f"{self.turn_limit()} moves of one digit each. Rows count from 1 at the top, columns "
            f"from 1 at the left, . is an empty cell. Answer with {self.actions.usage}, for "
            f"example {self.actions.format(Place(1, 2, 3))} for a 3 in row 1, column 2. You may "
            "overwrite your own digits, or take one back with digit 0."
        )

    def view(self) -> str:
        """Draw the grid, with the numbers of its rows and columns."""
        state = self.state
        return _drawing(state.size) % tuple(state.grid.translate(_AS_TEXT).decode())

    def play(self, move: Place) -> Outcome:
        """Write or take back a digit."""
        state = self.state
        size = state.size
        if not (0 < move.row <= size and 0 < move.col <= size and 0 <= move.digit <= size):
            return Outcome.invalid(
                f"Row and column are 1 to {size}, and the digit is 1 to {size}, or 0 to take back."
            )
        cell = (move.row - 1) * size + move.col - 1
        if state.clues[cell]:
            return Outcome.invalid("That cell is a clue: it cannot be changed.")
        if move.digit == state.grid[cell]:
            return Outcome.invalid("That would change nothing.")
        for unit, held in zip(_unit_names(size), rivals(state.grid, cell), strict=True):
            if move.digit and move.digit in held:
                return Outcome.invalid(f"Its {unit} holds a {move.digit} already.")
        state.grid[cell] = move.digit
        num_empty = state.grid.count(0)
        if not num_empty:
            return Outcome.won("Solved: every row, column and box is complete.")
        return Outcome.go(f"Empty cells: {num_empty}.")

    def legal(self) -> list[Place]:
        """Return every digit that its row, column and box allow, and every one to take back."""
        state = self.state
        moves: list[Place] = []
        for cell, digit in enumerate(state.grid):
            if not state.clues[cell]:
                digits = [0] if digit else []
                moves += [self._place(cell, d) for d in digits + free_digits(state.grid, cell)]
        return moves

    def oracle(self) -> Place:
        """Do as the expert: the clues determine the solution."""
        return self.expert()

    def expert(self) -> Place:
        """Mend a wrong digit, or else fill the cell where the fewest digits are possible."""
        grid, solution = self.state.grid, solve(self.state.clues)
        assert solution is not None, "a puzzle has a solution"
        for cell, digit in enumerate(grid):
            if digit and digit != solution[cell]:
                is_free = solution[cell] in free_digits(grid, cell)
                return self._place(cell, solution[cell] if is_free else 0)
        empty = [cell for cell, digit in enumerate(grid) if not digit]
        cell = min(empty, key=lambda cell: len(free_digits(grid, cell)))
        return self._place(cell, solution[cell])

    def _place(self, cell: int, digit: int) -> Place:
        row, col = divmod(cell, self.state.size)
        return Place(row + 1, col + 1, digit)


def _unit_names(size: int) -> tuple[str, str, str]:
    box_rows, box_cols = BOX_SHAPES[size]
    return "row", "column", f"{box_rows}x{box_cols} box"


@functools.lru_cache(maxsize=len(BOX_SHAPES))
def _drawing(size: int) -> str:
    """Return the grid's drawing with `%s` for each cell."""
    box_rows, box_cols = BOX_SHAPES[size]

    def line(label: object, cells: list[str]) -> str:
        boxes = [" ".join(cells[at : at + box_cols]) for at in range(0, size, box_cols)]
        return f"{label} {' | '.join(boxes)}"

    lines = [line(" ", [str(col) for col in range(1, size + 1)])]
    rule = "  " + "-+-".join(["-" * (2 * box_cols - 1)] * (size // box_cols))
    for row in range(size):
        if row % box_rows == 0:
            lines.append(rule)
        lines.append(line(row + 1, ["%s"] * size))
    return "\n".join(lines)
