"""Sokoban levels: each has a solution that is known, and boxes that have some way to go."""

import random

import pytest

from gemenv.envs.game.sokoban_level import GOAL, WALL, Level, draw_level, offsets, walks

_KINDS = [(6, 2, 15), (7, 3, 27), (8, 4, 37), (10, 2, 20)]
every_kind = pytest.mark.parametrize(("size", "num_boxes", "max_moves"), _KINDS)


def _goals(level: Level) -> frozenset[int]:
    return frozenset(cell for cell, mark in enumerate(level.ground) if mark == GOAL)


def _boxes_after(level: Level, size: int) -> frozenset[int]:
    """Play the solution by the rules of Sokoban."""
    boxes, player = set(level.boxes), level.player
    for direction in level.solution:
        offset = offsets(size)[direction]
        player += offset
        assert level.ground[player] != WALL
        if player in boxes:
            boxes.remove(player)
            assert level.ground[player + offset] != WALL
            assert player + offset not in boxes
            boxes.add(player + offset)
    return frozenset(boxes)


@every_kind
def test_the_solution_solves_the_level_in_time(size: int, num_boxes: int, max_moves: int) -> None:
    for seed in range(20):
        level = draw_level(random.Random(seed), size, num_boxes, max_moves)
        assert _boxes_after(level, size) == _goals(level)
        assert len(level.solution) <= max_moves


@every_kind
def test_boxes_start_off_the_goals_and_far_from_them(
    size: int, num_boxes: int, max_moves: int
) -> None:
    for seed in range(20):
        level = draw_level(random.Random(seed), size, num_boxes, max_moves)
        goals, places = _goals(level), [divmod(box // 2, size) for box in level.boxes]
        assert len(goals) == len(level.boxes) == num_boxes
        assert not goals & level.boxes
        assert level.player not in level.boxes
        nearest = [
            min(abs(row - goal // 2 // size) + abs(column - goal // 2 % size) for goal in goals)
            for row, column in places
        ]
        assert sum(nearest) >= 2 * num_boxes


def test_the_ground_is_a_walled_square_in_one_piece() -> None:
    for seed in range(20):
        ground = draw_level(random.Random(seed), 8, 4, 37).ground
        rows = [line.split(" ") for line in ground.split("\n")]
        assert [len(row) for row in rows] == [8] * 8
        border = rows[0] + rows[-1] + [row[0] for row in rows] + [row[-1] for row in rows]
        assert set(border) == {WALL}
        floor = [cell for cell, mark in enumerate(ground) if mark in "-."]
        assert len(walks(ground, 8, (), floor[0])) == len(floor)


def test_walks_are_shortest_and_go_around_boxes() -> None:
    ground = "# # # # #\n# - - - #\n# - - - #\n# - - - #\n# # # # #"
    corner, middle, opposite = 12, 24, 36
    reach = walks(ground, 5, {middle}, corner)
    assert len(reach) == 8
    assert middle not in reach
    assert reach[corner] == ()
    assert len(reach[opposite]) == 4
