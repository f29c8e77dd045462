"""The players of 2048: what knowing the coming tiles is worth, and weighing them."""

import itertools

import pytest

from gemenv.envs.game.game_2048_board import DIRECTIONS, slide, spawn
from gemenv.envs.game.game_2048_search import foreseen_best, likely_best

_SEEDS = range(1, 2**64, 2**60 + 12345)


def _dealt(luck: int) -> tuple[bytes, int]:
    board, luck = spawn(bytes(16), luck)
    return spawn(board, luck)


def _fewest_pushes(board: bytes, luck: int, target: int) -> int:
    """Try every line of play, breadth first."""
    positions = {(board, luck)}
    for num_pushes in itertools.count(1):
        slid = {
            (slide(b, direction), b, chance) for b, chance in positions for direction in DIRECTIONS
        }
        if any(target in after for after, _, _ in slid):
            return num_pushes
        positions = {spawn(after, chance) for after, before, chance in slid if after != before}
    raise AssertionError


def _foreseen_pushes(board: bytes, luck: int, target: int) -> int:
    for num_pushes in itertools.count(1):
        after = slide(board, foreseen_best(board, luck, target))
        assert after != board
        if target in after:
            return num_pushes
        board, luck = spawn(after, luck)
    raise AssertionError


@pytest.mark.parametrize("luck", _SEEDS)
def test_who_knows_the_coming_tiles_is_hardly_slower_than_can_be(luck: int) -> None:
    board, luck = _dealt(luck)
    assert _foreseen_pushes(board, luck, 3) <= _fewest_pushes(board, luck, 3) + 1


def test_who_knows_the_coming_tiles_hurries() -> None:
    dealt = [_dealt(luck) for luck in _SEEDS[:10]]
    pushes = [_foreseen_pushes(board, luck, 6) for board, luck in dealt]
    assert sum(pushes) / len(pushes) < 34  # about 37 where no 4 is sought


def test_what_may_be_ruined_is_weighed() -> None:
    board = bytes([7, 6, 5, 4, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0])
    assert likely_best(board, 11) != "down"


@pytest.mark.parametrize(
    "tiles",
    [
        [3, 2, 0, 3, 3, 1, 0, 3, 0, 0, 0, 0, 0, 0, 0, 0],
        [3, 0, 0, 0, 0, 0, 2, 0, 0, 0, 0, 0, 1, 0, 3, 3],
        [1, 3, 1, 0, 0, 0, 0, 0, 0, 3, 0, 0, 0, 0, 1, 0],
    ],
)
def test_a_push_that_wins_is_made_even_if_another_looks_better(tiles: list[int]) -> None:
    board = bytes(tiles)
    for best in (likely_best(board, 4), foreseen_best(board, 1, 4)):
        assert 4 in slide(board, best)
