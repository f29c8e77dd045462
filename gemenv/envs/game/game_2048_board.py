"""The board of 2048: how tiles slide and merge, and where new ones appear.

A board is 16 bytes, row by row: 0 for an empty cell, else the tile's exponent (11 for 2048).
"""

import functools
from typing import Literal

Direction = Literal["up", "down", "left", "right"]
DIRECTIONS: tuple[Direction, ...] = ("up", "down", "left", "right")


def slide(board: bytes, direction: Direction) -> bytes:
    """Return the board with all tiles pushed one way; the same board if none can move.

    Example:
        >>> list(slide(bytes([1, 1, 2, 0] + [0] * 12), "left"))[:4]
        [2, 2, 0, 0]
    """
    match direction:
        case "up":
            return _transposed(_slide_left(_transposed(board)))
        case "down":
            return _transposed(_slide_left(_transposed(board)[::-1])[::-1])
        case "left":
            return _slide_left(board)
        case "right":
            return _slide_left(board[::-1])[::-1]


def can_slide(board: bytes) -> bool:
    """Tell whether any tile can move."""
    return any(slide(board, direction) != board for direction in DIRECTIONS)


def put(board: bytes, cell: int, exponent: int) -> bytes:
    """Return the board with a tile in an empty cell."""
    return board[:cell] + bytes((exponent,)) + board[cell + 1 :]


def empty_cells(board: bytes) -> list[int]:
    """Return the cells without a tile."""
    return [cell for cell, exponent in enumerate(board) if not exponent]


def spawn(board: bytes, luck: int) -> tuple[bytes, int]:
    """Add a tile in a random empty cell: a 2, or a 4 one time in ten.

    Args:
        board: with at least one empty cell.
        luck: the state of the chance, 64 bits.

    Returns:
        The new board, and the next state of the chance.

    Source: MMIX's linear congruential generator (Knuth, TAOCP 2, 3.3.4); its high bits choose.
    """
    luck = (luck * 6364136223846793005 + 1442695040888963407) % 2**64
    empty = empty_cells(board)
    draw, place = divmod(luck >> 32, len(empty))
    return put(board, empty[place], 1 if draw % 10 else 2), luck


def _transposed(board: bytes) -> bytes:
    return board[0::4] + board[1::4] + board[2::4] + board[3::4]


def _slide_left(board: bytes) -> bytes:
    return (
        _slide_line(board[:4])
        + _slide_line(board[4:8])
        + _slide_line(board[8:12])
        + _slide_line(board[12:])
    )


@functools.lru_cache(maxsize=2**14)
def _slide_line(line: bytes) -> bytes:
    """Push four tiles to the front; equal neighbours merge, each tile once."""
    merged: list[int] = []
    waiting = 0  # the last tile, as long as it may still merge
    for exponent in line:
        if not exponent:
            continue
        if exponent == waiting:
            merged[-1] += 1
            waiting = 0
        else:
            merged.append(exponent)
            waiting = exponent
    return bytes(merged).ljust(4, b"\0")
