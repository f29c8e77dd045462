"""Sudoku grids: complete one, and make puzzles with exactly one solution.

A grid is one byte a cell in reading order: a digit from 1 to its size, or 0 for an empty cell.
"""

import functools
import math
from collections.abc import Sequence

import numpy as np
from numpy.random import Generator

Grid = bytes | bytearray

BOX_SHAPES = {4: (2, 2), 6: (2, 3), 9: (3, 3)}
"""Rows and columns of a box, for each size of grid."""


def rivals(grid: Grid, cell: int) -> tuple[Grid, Grid, Grid]:
    """Return what stands in the row, the column and the box of a cell, itself included."""
    size = math.isqrt(len(grid))
    box_rows, box_cols = BOX_SHAPES[size]
    row, col = divmod(cell, size)
    corner = (row - row % box_rows) * size + col - col % box_cols
    box = [grid[at : at + box_cols] for at in range(corner, corner + box_rows * size, size)]
    return grid[row * size : (row + 1) * size], grid[col::size], b"".join(box)


def free_digits(grid: Grid, cell: int) -> list[int]:
    """Return the digits that stand neither in the row nor the column nor the box of a cell.

    Example:
        >>> free_digits(bytes([1, 2, 3, 4, 3, 0, 0, 2, 2, 0, 0, 3, 4, 3, 2, 1]), 5)
        [4]
    """
    row, col, box = rivals(grid, cell)
    held = row + col + box
    return [digit for digit in range(1, len(row) + 1) if digit not in held]


def solve(grid: Grid) -> bytes | None:
    """Complete a grid in which no row, column or box holds a digit twice; None if it cannot be.

    Example:
        >>> solve(bytes([1, 2, 3, 4, 3, 0, 0, 2, 2, 0, 0, 3, 4, 3, 2, 1])).hex()
        '01020304030401020201040304030201'
    """
    size = math.isqrt(len(grid))
    return _complete(grid, [range(1, size + 1)] * len(grid))


def make_puzzle(size: int, num_clues: int, rng: Generator) -> bytes:
    """Draw a grid with exactly one solution.

    The cells of a random full grid are emptied in random order, each if the solution stays the
    only one. With a third of the cells as clues this falls short once in 500 times, and then
    starts anew from another full grid.

    Args:
        size: one of `BOX_SHAPES`.
        num_clues: how many cells keep their digit: a third of the cells or more.
        rng: where the random choices come from.
    """
    num_cells = size * size
    while True:
        digits = np.tile(np.arange(1, size + 1), (num_cells, 1))
        full = _complete(bytes(num_cells), rng.permuted(digits, axis=1).tolist())
        assert full is not None, "the empty grid can be completed"
        grid = bytearray(full)
        num_left = num_cells
        for cell in rng.permutation(num_cells).tolist():
            if num_left == num_clues:
                return bytes(grid)
            if _is_determined(grid, cell):
                grid[cell] = 0
                num_left -= 1


def _is_determined(grid: bytearray, cell: int) -> bool:
    """Tell whether the rest of a grid leaves no other digit for a cell."""
    trial = grid.copy()
    for other in free_digits(grid, cell):  # its own digit is not free
        trial[cell] = other
        if solve(trial):
            return False
    return True


def _complete(grid: Grid, preferences: Sequence[Sequence[int]]) -> bytes | None:
    """Complete a grid, trying in each cell the digits in the order of its preferences."""
    units = _units(math.isqrt(len(grid)))
    held = [0] * (max(units[-1]) + 1)  # for each row, column and box: a bit for each digit in it
    for digit, places in zip(grid, units, strict=True):
        if digit:
            for unit in places:
                held[unit] |= 1 << digit
    filled = bytearray(grid)
    empty = [cell for cell, digit in enumerate(grid) if not digit]
    return bytes(filled) if _fill(filled, empty, held, units, preferences) else None


def _fill(
    filled: bytearray,
    empty: list[int],
    held: list[int],
    units: Sequence[tuple[int, int, int]],
    preferences: Sequence[Sequence[int]],
) -> bool:
    """Fill the empty cells, always the one with the fewest digits left; undo all if it fails."""
    if not empty:
        return True
    most, index, taken = -1, 0, 0
    for i, cell in enumerate(empty):
        row, col, box = units[cell]
        bits = held[row] | held[col] | held[box]
        if bits.bit_count() > most:
            most, index, taken = bits.bit_count(), i, bits
    cell = empty.pop(index)
    for digit in preferences[cell]:
        bit = 1 << digit
        if not taken & bit:
            filled[cell] = digit
            for unit in units[cell]:
                held[unit] |= bit
            if _fill(filled, empty, held, units, preferences):
                return True
            for unit in units[cell]:
                held[unit] ^= bit
    filled[cell] = 0
    empty.insert(index, cell)
    return False


@functools.lru_cache(maxsize=len(BOX_SHAPES))
def _units(size: int) -> tuple[tuple[int, int, int], ...]:
    """Return the row, the column and the box of each cell, counted through: 0 to 3 * size - 1."""
    box_rows, box_cols = BOX_SHAPES[size]
    return tuple(
        (row, size + col, 2 * size + row // box_rows * box_rows + col // box_cols)
        for row in range(size)
        for col in range(size)
    )
