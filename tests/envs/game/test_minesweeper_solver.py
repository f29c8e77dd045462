"""The probabilities of the solver are those of counting every placement."""

import itertools
import random

import pytest

from gemenv.envs.game.minesweeper_solver import mine_probabilities

_SIDE = 4
_NEIGHBORS = [
    [
        near
        for near in range(_SIDE * _SIDE)
        if near != cell
        and abs(near // _SIDE - cell // _SIDE) <= 1
        and abs(near % _SIDE - cell % _SIDE) <= 1
    ]
    for cell in range(_SIDE * _SIDE)
]


def _numbers(mines: set[int]) -> list[int]:
    return [len(mines.intersection(near)) for near in _NEIGHBORS]


def _counted_one_by_one(shown: list[int], num_mines: int) -> dict[int, float]:
    closed = [cell for cell, number in enumerate(shown) if number < 0]
    fitting = [
        mines
        for mines in map(set, itertools.combinations(closed, num_mines))
        if all(number in (-1, true) for number, true in zip(shown, _numbers(mines), strict=True))
    ]
    return {cell: sum(cell in mines for mines in fitting) / len(fitting) for cell in closed}


@pytest.mark.parametrize("seed", range(25))
def test_probabilities_are_those_of_counting_every_placement(seed: int) -> None:
    rng = random.Random(seed)
    cells = range(_SIDE * _SIDE)
    num_mines = rng.randrange(1, 6)
    mines = set(rng.sample(cells, num_mines))
    opened = rng.sample([cell for cell in cells if cell not in mines], rng.randrange(11))
    shown = [number if cell in opened else -1 for cell, number in enumerate(_numbers(mines))]
    expected = _counted_one_by_one(shown, num_mines)
    assert mine_probabilities(shown, _NEIGHBORS, num_mines) == pytest.approx(expected)


def test_a_certain_cell_is_exactly_certain() -> None:
    shown = [-1, 1, 0, 0] + [1, 1, 0, 0] + [0] * 8
    assert mine_probabilities(shown, _NEIGHBORS, 1) == {0: 1.0}


def test_numbers_that_no_placement_fits_give_nothing() -> None:
    shown = [-1] * 15 + [8]
    assert mine_probabilities(shown, _NEIGHBORS, 2) == {}
