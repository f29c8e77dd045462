"""Two players of 2048: one weighs what chance may bring, the other knows what it will bring."""

import functools
import itertools

from gemenv.envs.game.game_2048_board import (
    DIRECTIONS,
    Direction,
    empty_cells,
    put,
    slide,
    spawn,
)

_CROWDED = 3  # with so few empty cells a second tile of chance is cheap to weigh, and decides games
_BEAM_WIDTH, _BEAM_DEPTH = 12, 12
_FOUR_VALUE = 1000  # what a 4 is worth to the foreseeing player: it saves a turn
_WON, _LOST = 1e9, -1e9


def likely_best(board: bytes, target: int) -> Direction:
    """Return the move of the best expected value.

    Args:
        board: see `game_2048_board`; some tile can move.
        target: the exponent to reach.

    Source: expectimax over one new tile, or over two on a crowded board.
    """
    num_tiles = 2 if board.count(0) <= _CROWDED else 1
    values: dict[Direction, float] = {}
    for direction in DIRECTIONS:
        slid = slide(board, direction)
        if target in slid:
            return direction
        if slid != board:
            values[direction] = _expected(slid, target, num_tiles)
    return max(values, key=values.__getitem__)


def foreseen_best(board: bytes, luck: int, target: int) -> Direction:
    """Return the first move of the best line of play, knowing which tiles will appear.

    Args:
        board: see `game_2048_board`; some tile can move.
        luck: the state of the chance.
        target: the exponent to reach, as soon as possible.

    Source: beam search, ours.
    """
    beam: list[tuple[float, int, bytes, int, Direction | None]] = [(0.0, 0, board, luck, None)]
    for _ in range(_BEAM_DEPTH):
        reached: dict[bytes, tuple[float, int, bytes, int, Direction | None]] = {}
        for _, num_fours, here, luck_here, first in beam:
            for direction in DIRECTIONS:
                slid = slide(here, direction)
                if target in slid:
                    return first or direction
                if slid != here:
                    there, luck_there = spawn(slid, luck_here)
                    fours = num_fours + there.count(2) - slid.count(2)
                    value = _value(slid) + _FOUR_VALUE * fours
                    reached[there] = (value, fours, there, luck_there, first or direction)
        if not reached:
            break
        beam = sorted(reached.values(), reverse=True)[:_BEAM_WIDTH]
    best = beam[0][-1]
    assert best is not None, "some tile can move"
    return best


def _expected(slid: bytes, target: int, num_tiles: int) -> float:
    """Weigh a board before chance adds a tile, looking so many tiles ahead."""
    if target in slid:
        return _WON
    if num_tiles == 0:
        return _value(slid)
    total = 0.0
    empty = empty_cells(slid)
    for cell in empty:
        total += 0.9 * _best(put(slid, cell, 1), target, num_tiles - 1)
        total += 0.1 * _best(put(slid, cell, 2), target, num_tiles - 1)
    return total / len(empty)


def _best(board: bytes, target: int, num_tiles: int) -> float:
    value = _LOST
    for direction in DIRECTIONS:
        slid = slide(board, direction)
        if slid != board:
            value = max(value, _expected(slid, target, num_tiles))
    return value


def _value(board: bytes) -> float:
    rows = (board[:4], board[4:8], board[8:12], board[12:])
    columns = (board[0::4], board[1::4], board[2::4], board[3::4])
    return sum(map(_line_value, rows)) + sum(map(_line_value, columns))


@functools.lru_cache(maxsize=2**14)
def _line_value(line: bytes) -> float:
    """Prefer empty cells, equal neighbours, and tiles that grow towards one end.

    Source: features and weights of R. Xiao's solver (github.com/nneonneo/2048-ai, 2014).
    """
    pairs = list(itertools.pairwise(line))
    falls = sum(max(a**4 - b**4, 0) for a, b in pairs)
    rises = sum(max(b**4 - a**4, 0) for a, b in pairs)
    equal = sum(a == b != 0 for a, b in pairs)
    spread = sum(exponent**3.5 for exponent in line)
    return 270 * line.count(0) + 700 * equal - 47 * min(falls, rises) - 11 * spread
