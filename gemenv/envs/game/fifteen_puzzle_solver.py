"""How tiles slide in a square frame, and a search for the slides that put them in order."""

import functools
import heapq
import math
from typing import Literal

Direction = Literal["up", "down", "left", "right"]


@functools.lru_cache(maxsize=8)
def slides(size: int) -> list[dict[Direction, int]]:
    """Return, for each place of the gap, the cell from which a tile slides into it, by direction.

    Args:
        size: rows and columns; cells count row by row, from 0.

    Example:
        >>> slides(3)[0]
        {'up': 3, 'left': 1}
    """
    frame: list[dict[Direction, int]] = []
    for gap in range(size * size):
        row, column = divmod(gap, size)
        sources: dict[Direction, tuple[int, int]] = {
            "up": (row + 1, column),
            "down": (row - 1, column),
            "left": (row, column + 1),
            "right": (row, column - 1),
        }
        frame.append(
            {
                direction: r * size + c
                for direction, (r, c) in sources.items()
                if 0 <= r < size and 0 <= c < size
            }
        )
    return frame


def slide(board: bytes, gap: int, source: int) -> bytes:
    """Return the board after the tile at `source` has slid into the gap."""
    tiles = bytearray(board)
    tiles[gap], tiles[source] = tiles[source], 0
    return bytes(tiles)


def first_slide(board: bytes, size: int, max_boards: int = 10_000) -> Direction:
    """Return the first slide of a shortest solution.

    Args:
        board: the tiles row by row, 0 for the gap; not in order yet.
        size: rows and columns.
        max_boards: after looking at so many boards, give up and head for the one nearest to order.

    Source: A* (Hart, Nilsson and Raphael 1968) with the Manhattan distance of all tiles.
    """
    frame, far = slides(size), _distances(size)
    gap = board.index(0)
    away = sum(far[tile][cell] for cell, tile in enumerate(board))
    queue: list[tuple[int, int, bytes, int, Direction | None]] = [(away, away, board, gap, None)]
    shortest = {board: away}  # of the solutions through a board, as far as is known
    nearest, nearest_away = next(iter(frame[gap])), math.inf
    for _ in range(max_boards):
        length, away, here, gap, first = heapq.heappop(queue)
        if first and away < nearest_away:
            nearest, nearest_away = first, away
            if not away:
                break
        for direction, source in frame[gap].items():
            there = slide(here, gap, source)
            closer = far[here[source]][source] - far[here[source]][gap]
            through = length + 1 - closer
            if through < shortest.get(there, math.inf):
                shortest[there] = through
                start = first or direction
                heapq.heappush(queue, (through, away - closer, there, source, start))
    return nearest


@functools.lru_cache(maxsize=8)
def _distances(size: int) -> list[list[int]]:
    """Return how far each tile is from its place, by tile and cell; the gap does not count."""
    cells = [divmod(cell, size) for cell in range(size * size)]
    homes = [[abs(r - row) + abs(c - column) for r, c in cells] for row, column in cells]
    return [[0] * len(cells), *homes[:-1]]
