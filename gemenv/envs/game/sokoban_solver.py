"""A search for the moves that solve a Sokoban position."""

import functools
import heapq
import itertools
import math

from gemenv.envs.game.sokoban_level import GOAL, WALL, Direction, offsets, walks

_WEIGHT = 2  # how much pushes to come count more than moves made: positions near the end come first


def first_move(
    ground: str, size: int, boxes: frozenset[int], player: int, max_positions: int = 4000
) -> Direction | None:
    """Return the first move of a short solution, or of the way to the nearest position found.

    Args:
        ground: the walls, floor and goals of a level (see `sokoban_level`).
        size: its rows and columns.
        boxes: the cells of the boxes, not all of them on goals.
        player: the player's cell.
        max_positions: give up after looking at so many.

    Returns:
        None if no push is left that keeps its box within reach of a goal.

    Source: weighted A* (Pohl 1970) over pushes, with each box's pushes to its nearest goal.
    """
    pushes = _pushes_to_goal(ground, size)
    order = itertools.count()
    queue: list[tuple[int, int, int, frozenset[int], int, Direction | None]] = []
    queue.append((0, next(order), 0, boxes, player, None))
    least_moves = {(boxes, player): 0}
    nearest, nearest_left = None, math.inf
    while queue and max_positions:
        max_positions -= 1
        _, _, moves, boxes, player, first = heapq.heappop(queue)
        left = sum(pushes.get(box, 0) for box in boxes)
        if first and left < nearest_left:
            nearest, nearest_left = first, left
            if not left:
                break
        reach = walks(ground, size, boxes, player)
        for box, (direction, offset) in itertools.product(sorted(boxes), offsets(size).items()):
            stand, target = box - offset, box + offset
            if stand not in reach or target not in pushes or target in boxes:
                continue
            after = boxes - {box} | {target}
            made = moves + len(reach[stand]) + 1
            if made < least_moves.get((after, box), math.inf):
                least_moves[after, box] = made
                estimate = made + _WEIGHT * sum(pushes.get(cell, 0) for cell in after)
                start = first or (*reach[stand], direction)[0]
                heapq.heappush(queue, (estimate, next(order), made, after, box, start))
    return nearest


@functools.lru_cache(maxsize=64)
def _pushes_to_goal(ground: str, size: int) -> dict[int, int]:
    """Count the pushes from each cell to the nearest goal; dead cells are absent."""
    queue = [cell for cell, mark in enumerate(ground) if mark == GOAL]
    pushes = dict.fromkeys(queue, 0)
    for cell in queue:  # grows while it is read: breadth first
        for offset in offsets(size).values():
            before, stand = cell - offset, cell - 2 * offset
            if before in pushes or ground[before] == WALL or ground[stand] == WALL:
                continue
            pushes[before] = pushes[cell] + 1
            queue.append(before)
    return pushes
