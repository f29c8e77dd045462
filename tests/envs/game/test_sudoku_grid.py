"""Every puzzle has exactly one solution, and the solver finds it."""

import math

import numpy as np
import pytest

from gemenv.envs.game.sudoku_grid import BOX_SHAPES, free_digits, make_puzzle, solve

_KINDS = [(4, 10), (4, 6), (6, 22), (6, 12), (9, 50), (9, 31)]


def _units(size: int) -> list[list[int]]:
    """Return the cells of every row, column and box."""
    box_rows, box_cols = BOX_SHAPES[size]
    rows = [[row * size + col for col in range(size)] for row in range(size)]
    boxes = [
        [(top + r) * size + left + c for r in range(box_rows) for c in range(box_cols)]
        for top in range(0, size, box_rows)
        for left in range(0, size, box_cols)
    ]
    return [*rows, *map(list, zip(*rows, strict=True)), *boxes]


def _num_solutions(grid: list[int], most: int = 2) -> int:
    """Count up to `most` solutions by trying every digit in the cell with the fewest left."""
    units = _units(math.isqrt(len(grid)))
    free = {
        cell: set(range(1, math.isqrt(len(grid)) + 1)).difference(
            grid[other] for unit in units if cell in unit for other in unit
        )
        for cell, digit in enumerate(grid)
        if not digit
    }
    if not free:
        return 1
    cell = min(free, key=lambda cell: len(free[cell]))
    found = 0
    for digit in free[cell]:
        found += _num_solutions([*grid[:cell], digit, *grid[cell + 1 :]], most - found)
        if found >= most:
            break
    return found


@pytest.mark.parametrize(("size", "num_clues"), _KINDS)
def test_a_puzzle_has_its_clues_and_exactly_one_solution(size: int, num_clues: int) -> None:
    for seed in range(5):
        puzzle = make_puzzle(size, num_clues, np.random.default_rng(seed))
        assert size * size - puzzle.count(0) == num_clues
        assert _num_solutions(list(puzzle)) == 1


@pytest.mark.parametrize(("size", "num_clues"), _KINDS)
def test_the_solution_keeps_the_clues_and_has_each_digit_once_in_every_unit(
    size: int, num_clues: int
) -> None:
    puzzle = make_puzzle(size, num_clues, np.random.default_rng(7))
    solution = solve(puzzle)
    assert solution is not None
    assert all(clue in (0, digit) for clue, digit in zip(puzzle, solution, strict=True))
    for unit in _units(size):
        assert sorted(solution[cell] for cell in unit) == list(range(1, size + 1))


def test_what_cannot_be_completed_has_no_solution() -> None:
    assert solve(bytes([1, 2, 3, 0] + [0] * 3 + [4] + [0] * 8)) is None


def test_free_digits_regard_row_column_and_box() -> None:
    grid = bytearray(81)
    grid[4 * 9], grid[4], grid[3 * 9 + 3] = 1, 2, 3  # row, column and box of the middle
    grid[0] = 9  # none of them
    assert free_digits(grid, 40) == [4, 5, 6, 7, 8, 9]


def test_the_same_generator_makes_the_same_puzzle_and_others_differ() -> None:
    def puzzle(seed: int) -> bytes:
        return make_puzzle(9, 50, np.random.default_rng(seed))

    assert puzzle(3) == puzzle(3)
    assert len({puzzle(seed) for seed in range(100)}) == 100
