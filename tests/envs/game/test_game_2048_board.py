"""The board of 2048: how tiles slide, merge and appear."""

import itertools

import pytest

from gemenv.envs.game.game_2048_board import DIRECTIONS, Direction, can_slide, slide, spawn


@pytest.mark.parametrize(
    ("line", "slid"),
    [
        ([0, 0, 0, 0], [0, 0, 0, 0]),
        ([0, 1, 0, 2], [1, 2, 0, 0]),
        ([0, 1, 0, 1], [2, 0, 0, 0]),
        ([1, 1, 1, 0], [2, 1, 0, 0]),  # the pair nearer to the wall
        ([1, 1, 1, 1], [2, 2, 0, 0]),
        ([2, 1, 1, 0], [2, 2, 0, 0]),  # what has merged does not merge again
        ([1, 1, 2, 3], [2, 2, 3, 0]),
        ([1, 2, 1, 2], [1, 2, 1, 2]),
    ],
)
def test_a_line_is_pushed_to_its_front(line: list[int], slid: list[int]) -> None:
    board = bytes([*line, *[0] * 12])
    assert list(slide(board, "left")) == [*slid, *[0] * 12]


@pytest.mark.parametrize(
    ("direction", "cells"),
    [
        ("up", {0: 2, 3: 2}),
        ("down", {12: 2, 15: 2}),
        ("left", {0: 1, 4: 1, 8: 1, 12: 1}),
        ("right", {3: 1, 7: 1, 11: 1, 15: 1}),
    ],
)
def test_all_tiles_go_the_same_way(direction: Direction, cells: dict[int, int]) -> None:
    board = bytearray(16)
    for cell in (0, 12, 7, 11):  # two at the left border, two at the right one
        board[cell] = 1
    slid = slide(bytes(board), direction)
    assert {cell: exponent for cell, exponent in enumerate(slid) if exponent} == cells


def test_opposite_directions_mirror_each_other() -> None:
    for line in itertools.product(range(3), repeat=4):
        board = bytes(line) + bytes(12)
        assert slide(board[::-1], "right") == slide(board, "left")[::-1]
        assert slide(board[::-1], "down") == slide(board, "up")[::-1]


def test_a_full_board_without_equal_neighbours_is_stuck() -> None:
    stuck = bytes([1, 2, 1, 2, 2, 1, 2, 1] * 2)
    assert not can_slide(stuck)
    assert all(slide(stuck, direction) == stuck for direction in DIRECTIONS)
    assert can_slide(stuck[:-1] + b"\2")
    assert can_slide(stuck[:-1] + b"\0")


def test_new_tiles_are_2_or_one_time_in_ten_4_and_appear_anywhere() -> None:
    luck, cells, exponents = 7, list[int](), list[int]()
    for _ in range(8000):
        board, luck = spawn(bytes(16), luck)
        cells.append(next(cell for cell, exponent in enumerate(board) if exponent))
        exponents.append(max(board))
    assert set(exponents) == {1, 2}
    assert 700 < exponents.count(2) < 900
    assert all(400 < cells.count(cell) < 600 for cell in range(16))


def test_a_new_tile_takes_an_empty_cell() -> None:
    board = bytes([3, 0, 3, 3] * 4)
    for luck in range(100):
        after, _ = spawn(board, luck)
        assert sum(a != b for a, b in zip(board, after, strict=True)) == 1
        assert after[0::4] == after[2::4] == b"\3" * 4
