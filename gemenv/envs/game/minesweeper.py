"""Open every cell without a mine; a number tells how many mines touch its cell."""

import functools
import math
from dataclasses import dataclass
from typing import Unpack

from numpy.random import Generator

from gemenv.core.action import ActionForm
from gemenv.core.notation import boxed
from gemenv.envs.game.minesweeper_solver import mine_probabilities
from gemenv.envs.game.turn_game import Outcome, Rules, TurnGame, hidden
from gemenv.errors import ArgumentError

_CLOSED, _FLAG, _ZERO, _MINE = b".F0X"  # a mine comes after every digit


@dataclass(frozen=True)
class Reveal:
    """Open a cell."""

    row: int
    col: int


@dataclass(frozen=True)
class Flag:
    """Put a flag on a closed cell, or take it away again."""

    row: int
    col: int


@dataclass(slots=True)
class State:
    """The board, one byte a cell in reading order, and what lies under it.

    Attributes:
        shown: `.` for a closed cell, `F` for a flag, a digit for an open cell.
        num_to_open: safe cells that the first reveal left closed; 0 before it.
        order: the cells in the order in which they would take mines.
        board: a digit or `X` for each cell; empty before the first reveal.
    """

    rows: int
    cols: int
    num_mines: int
    shown: bytearray
    num_to_open: int
    order: bytes = hidden()
    board: bytes = hidden()


class Minesweeper(TurnGame[State]):
    """Open all cells of a board but the mines.

    The first reveal and the cells around it are free of mines. The game is won when every safe
    cell is open; flags are notes, and none is needed.

    Progress is the share of the safe cells opened after the first reveal (which alone opens half
    of a hard board), squared, so that a few lucky cells pay next to nothing: revealing at random
    returns 0.07 on easy boards and 0.03 on hard ones.

    Args:
        rows: height of the board; 4 to 10.
        cols: width of the board; 4 to 10.
        num_mines: how many mines there are; 1 to a third of the cells.
        max_turns: how many moves there are; one for each cell is ample.
        is_random: for each episode, draw height and width from 5 to `rows` and `cols`; mines and
            moves shrink in proportion to the cells, rounded up.
        **rules: see `Rules`.

    Source: variants of GEM (arXiv:2510.01051), whose board is never won without flags.
    """

    def __init__(
        self,
        *,
        rows: int = 5,
        cols: int = 5,
        num_mines: int = 5,
        max_turns: int = 25,
        is_random: bool = False,
        **rules: Unpack[Rules],
    ) -> None:
        if not (4 <= rows <= 10 and 4 <= cols <= 10 and 1 <= num_mines <= rows * cols // 3):
            raise ArgumentError(
                problem="There is no such board.",
                expected="4 to 10 rows and columns, and mines under 1 to a third of the cells",
                got={"rows": rows, "cols": cols, "num_mines": num_mines},
                fix="choose e.g. rows=8, cols=8, num_mines=12",
            )
        where = {"row": range(rows), "col": range(cols)}
        super().__init__(
            ActionForm(Reveal, boxed("reveal {row} {col}"), **where),
            ActionForm(Flag, boxed("flag {row} {col}"), **where),
            max_turns=max_turns,
            **rules,
        )
        self.rows, self.cols, self.num_mines, self.is_random = rows, cols, num_mines, is_random

    def deal(self, rng: Generator) -> State:
        """Shuffle the cells; the mines are laid when the first one is opened."""
        rows, cols, num_mines = self.rows, self.cols, self.num_mines
        if self.is_random:
            rows = int(rng.integers(min(5, rows), rows + 1))
            cols = int(rng.integers(min(5, cols), cols + 1))
            num_mines = math.ceil(num_mines * rows * cols / (self.rows * self.cols))
        order = rng.permutation(rows * cols).astype("uint8").tobytes()
        return State(rows, cols, num_mines, bytearray([_CLOSED]) * len(order), 0, order, b"")

    def turn_limit(self) -> int:
        """Return the limit of this episode: a smaller board has fewer moves."""
        return math.ceil(super().turn_limit() * len(self.state.shown) / (self.rows * self.cols))

    def rules(self) -> str:
        """Tell the goal, how the board reads, the limit and the notation."""
        state = self.state
        return (
            f"Minesweeper: open every cell of the {state.rows} by {state.cols} board except the "
            f"{state.num_mines} mines. You have {self.turn_limit()} moves. Opening a mine loses; "
            "the first cell that you open and its neighbors have none. A digit tells how many of "
            "the up to 8 neighboring cells have a mine, . is a closed cell, F is your flag. Rows "
            f"and columns count from 0. Answer with {self.actions.usage}, for example "
            f"{self.actions.format(Reveal(2, 3))}. A flag is only a note; flagging the cell again "
            "takes it away."
        )

    def view(self) -> str:
        """Draw the board, with the numbers of its rows and columns."""
        state = self.state
        cols, shown = state.cols, state.shown.decode()
        header = "  " + " ".join("0123456789"[:cols])
        rows = [
            f"{row} {' '.join(shown[row * cols : (row + 1) * cols])}" for row in range(state.rows)
        ]
        return "\n".join([header, *rows])

    def play(self, move: Reveal | Flag) -> Outcome:
        """Open or flag a closed cell."""
        state = self.state
        if not (0 <= move.row < state.rows and 0 <= move.col < state.cols):
            return Outcome.invalid(
                f"Rows are 0 to {state.rows - 1}, and columns 0 to {state.cols - 1}."
            )
        cell = move.row * state.cols + move.col
        mark = state.shown[cell]
        if mark not in (_CLOSED, _FLAG):
            return Outcome.invalid("That cell is open already.")
        if isinstance(move, Flag):
            state.shown[cell] = _CLOSED if mark == _FLAG else _FLAG
            return Outcome.go("Flag taken away." if mark == _FLAG else "Flag placed.")
        if mark == _FLAG:
            return Outcome.invalid("That cell is flagged; flag it again to take the flag away.")
        return self._reveal(cell)

    def _reveal(self, cell: int) -> Outcome:
        state = self.state
        is_first = not state.board
        if is_first:
            state.board = _lay_mines(state, around=cell)
        if state.board[cell] == _MINE:
            return Outcome.lost("That cell is a mine: you lose.")
        before = _num_to_open(state)
        _open(state, cell)
        after = _num_to_open(state)
        if not after:
            return Outcome.won("Every safe cell is open: you win.")
        if is_first:
            state.num_to_open = after
        return Outcome.go(f"Cells opened: {before - after}.")

    def progress(self) -> float:
        """Return the square of the share of safe cells opened since the first reveal."""
        state = self.state
        if not state.num_to_open:
            return 0.0
        return (1 - _num_to_open(state) / state.num_to_open) ** 2

    def legal(self) -> list[Reveal | Flag]:
        """Return every reveal and flag of a closed cell."""
        state = self.state
        moves: list[Reveal | Flag] = []
        for cell, mark in enumerate(state.shown):
            row, col = divmod(cell, state.cols)
            if mark == _CLOSED:
                moves.append(Reveal(row, col))
            if mark in (_CLOSED, _FLAG):
                moves.append(Flag(row, col))
        return moves

    def oracle(self) -> Reveal | Flag:
        """Open a safe cell, those first that open their neighbors too."""
        state = self.state
        if not state.board:
            return self.expert()
        closed = [cell for cell, mark in enumerate(state.shown) if mark in (_CLOSED, _FLAG)]
        return self._towards(min(closed, key=state.board.__getitem__))

    def expert(self) -> Reveal | Flag:
        """Open the middle first, then the cell least likely to be a mine."""
        state = self.state
        shown = [b"012345678".find(mark) for mark in state.shown]
        if max(shown) < 0:
            return self._towards(state.rows // 2 * state.cols + state.cols // 2)
        mines = mine_probabilities(shown, _neighbors(state.rows, state.cols), state.num_mines)
        return self._towards(min(mines, key=mines.__getitem__))

    def _towards(self, cell: int) -> Reveal | Flag:
        """Open a cell; if it is flagged, take the flag away first."""
        row, col = divmod(cell, self.state.cols)
        return (Flag if self.state.shown[cell] == _FLAG else Reveal)(row, col)


@functools.lru_cache(maxsize=64)
def _neighbors(rows: int, cols: int) -> tuple[bytes, ...]:
    """Return, for each cell, the cells that touch it."""
    return tuple(
        bytes(
            r * cols + c
            for r in range(max(row - 1, 0), min(row + 2, rows))
            for c in range(max(col - 1, 0), min(col + 2, cols))
            if (r, c) != (row, col)
        )
        for row in range(rows)
        for col in range(cols)
    )


def _lay_mines(state: State, *, around: int) -> bytes:
    """Lay the mines away from a cell and its neighbors, and number the other cells."""
    neighbors = _neighbors(state.rows, state.cols)
    free = {around, *neighbors[around]}
    mines = [cell for cell in state.order if cell not in free][: state.num_mines]
    board = bytearray(b"0") * len(state.order)
    for mine in mines:
        for cell in neighbors[mine]:
            board[cell] += 1
    for mine in mines:
        board[mine] = _MINE
    return bytes(board)


def _open(state: State, cell: int) -> None:
    """Open a safe cell and, around every 0, its neighbors too."""
    neighbors = _neighbors(state.rows, state.cols)
    shown, board = state.shown, state.board
    shown[cell] = board[cell]
    zeros = [cell] if board[cell] == _ZERO else []
    while zeros:
        for near in neighbors[zeros.pop()]:
            if shown[near] != board[near]:
                shown[near] = board[near]
                if board[near] == _ZERO:
                    zeros.append(near)


def _num_to_open(state: State) -> int:
    """Return how many safe cells are closed."""
    return state.shown.count(_CLOSED) + state.shown.count(_FLAG) - state.num_mines
