"""Sokoban levels, drawn by playing backwards: from all boxes on goals, pull them away.

A level's ground is the text that a player sees: a cell is its position in it, and cells are apart
by a space or a newline, so that the one to the right is at + 2 and the one below at + 2 * size.
"""

import random
from collections.abc import Collection, Iterator
from typing import Literal, NamedTuple

Direction = Literal["up", "down", "left", "right"]
OPPOSITE: dict[Direction, Direction] = {
    "up": "down",
    "down": "up",
    "left": "right",
    "right": "left",
}
WALL, FLOOR, GOAL = "#", "-", "."

_NUM_TRIED_PULLS = 5  # the best of so many: levels are found fast, and still differ


class Level(NamedTuple):
    """A level and a way to solve it.

    Attributes:
        ground: walls, floor and goals, row by row.
        boxes: the cells of the boxes.
        player: the player's cell.
        solution: moves that bring every box to a goal.
    """

    ground: str
    boxes: frozenset[int]
    player: int
    solution: tuple[Direction, ...]


def offsets(size: int) -> dict[Direction, int]:
    """Return what each direction adds to a cell, on a ground of `size` columns.

    Example:
        >>> offsets(6)["down"]
        12
    """
    return {"up": -2 * size, "down": 2 * size, "left": -2, "right": 2}


def walks(
    ground: str, size: int, boxes: Collection[int], player: int
) -> dict[int, tuple[Direction, ...]]:
    """Return the shortest walk from the player to each cell that can be reached without pushing."""
    found: dict[int, tuple[Direction, ...]] = {player: ()}
    queue = [player]
    directions = offsets(size).items()
    for cell in queue:  # grows while it is read: breadth first
        for direction, offset in directions:
            beside = cell + offset
            if beside not in found and ground[beside] != WALL and beside not in boxes:
                found[beside] = (*found[cell], direction)
                queue.append(beside)
    return found


def draw_level(dice: random.Random, size: int, num_boxes: int, max_moves: int) -> Level:
    """Draw a level whose boxes are, on average, at least two cells away from the nearest goal.

    Args:
        dice: where every random choice comes from.
        size: rows and columns, the outer walls included.
        num_boxes: how many boxes, and goals.
        max_moves: the longest solution.
    """
    level = None
    while level is None:
        ground = _room(dice, size, num_boxes)
        level = _pulled_apart(dice, ground, size, max_moves)
    return level


def _room(dice: random.Random, size: int, num_goals: int) -> str:
    """Draw a room in one piece with goals, and up to a quarter of its inside walls."""
    inside = [2 * (row * size + col) for row in range(1, size - 1) for col in range(1, size - 1)]
    while True:
        num_walls = dice.randint(len(inside) // 8, len(inside) // 4)
        floor = dice.sample(inside, len(inside) - num_walls)
        cells = list("\n".join([" ".join(WALL * size)] * size))
        for cell in floor:
            cells[cell] = FLOOR
        for cell in floor[:num_goals]:
            cells[cell] = GOAL
        ground = "".join(cells)
        if len(walks(ground, size, (), floor[0])) == len(floor):
            return ground


def _pulled_apart(dice: random.Random, ground: str, size: int, max_moves: int) -> Level | None:
    """Pull boxes off the goals, until they are far enough; None if that does not come of it."""
    far = _distances(ground, size)
    boxes = frozenset(cell for cell, steps in far.items() if steps == 0)
    player = dice.choice([cell for cell, steps in far.items() if steps])
    seen, moves = {boxes}, list[Direction]()
    while True:
        reach = walks(ground, size, boxes, player)
        pulls = [pull for pull in _pulls(ground, size, boxes, reach) if pull.boxes not in seen]
        if not pulls:
            return None
        tried = dice.choices(pulls, k=_NUM_TRIED_PULLS)
        pull = max(tried, key=lambda pull: sum(far[box] for box in pull.boxes))
        moves += (*reach[pull.stand], pull.direction)
        if len(moves) > max_moves:
            return None
        boxes, player = pull.boxes, pull.player
        seen.add(boxes)
        away = [far[box] for box in boxes]
        if min(away) > 0 and sum(away) >= 2 * len(boxes):
            return Level(ground, boxes, player, tuple(OPPOSITE[m] for m in reversed(moves)))


class _Pull(NamedTuple):
    """The player stands beside a box, steps away from it, and the box follows."""

    stand: int
    direction: Direction
    player: int
    boxes: frozenset[int]


def _pulls(
    ground: str, size: int, boxes: frozenset[int], reach: Collection[int]
) -> Iterator[_Pull]:
    for box in sorted(boxes):
        for direction, offset in offsets(size).items():
            stand, player = box + offset, box + 2 * offset
            if stand in reach and ground[player] != WALL and player not in boxes:
                yield _Pull(stand, direction, player, boxes - {box} | {stand})


def _distances(ground: str, size: int) -> dict[int, int]:
    """Return how many rows and columns each cell of the floor is away from the nearest goal."""
    floor = [cell for cell, mark in enumerate(ground) if mark in (FLOOR, GOAL)]
    place = {cell: divmod(cell // 2, size) for cell in floor}
    goals = [place[cell] for cell in place if ground[cell] == GOAL]
    return {
        cell: min(abs(row - r) + abs(column - c) for r, c in goals)
        for cell, (row, column) in place.items()
    }
