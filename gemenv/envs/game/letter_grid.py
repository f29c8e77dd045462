"""A square grid of letters with words hidden in it, and how to read it."""

from collections.abc import Iterable, Sequence
from typing import Literal

from numpy.random import Generator

Direction = Literal["right", "down", "left", "up", "up-left", "up-right", "down-left", "down-right"]

STEPS: dict[Direction, tuple[int, int]] = {
    "right": (0, 1),
    "down": (1, 0),
    "left": (0, -1),
    "up": (-1, 0),
    "up-left": (-1, -1),
    "up-right": (-1, 1),
    "down-left": (1, -1),
    "down-right": (1, 1),
}
"""Rows and columns from one letter to the next."""

_ALPHABET = "abcdefghijklmnopqrstuvwxyz"
_MAX_TRIES = 100  # for one word, before the grid is begun anew


def starts(length: int, size: int, direction: Direction) -> tuple[range, range]:
    """Return the rows and the columns from which a word stays inside the grid.

    Args:
        length: letters of the word.
        size: rows and columns of the grid, counted from 1.
        direction: where the word runs.

    Example:
        >>> starts(3, 8, "left")
        (range(1, 9), range(3, 9))
    """
    d_row, d_column = STEPS[direction]
    return _starts(length, size, d_row), _starts(length, size, d_column)


def read(letters: str, size: int, length: int, row: int, column: int, direction: Direction) -> str:
    """Read so many letters from one of the `starts`.

    Example:
        >>> read("abcdefghi", 3, 3, 1, 3, "down-left")
        'ceg'
    """
    d_row, d_column = STEPS[direction]
    first = (row - 1) * size + column - 1
    return letters[first :: d_row * size + d_column][:length]


def hide(rng: Generator, words: Sequence[str], size: int, directions: Sequence[Direction]) -> str:
    """Hide words in a grid, crossing where their letters agree, and fill it with letters.

    Args:
        rng: where every choice comes from.
        words: short and few enough for the grid.
        size: rows and columns.
        directions: where words may run.

    Returns:
        The letters, row by row.
    """
    laid: dict[int, str] | None = None
    while laid is None:
        laid = _try_to_lay(rng, words, size, directions)
    filling = rng.integers(26, size=size * size).tolist()
    return "".join(laid.get(cell) or _ALPHABET[letter] for cell, letter in enumerate(filling))


def _starts(length: int, size: int, step: int) -> range:
    reach = (length - 1) * step
    return range(max(1, 1 - reach), min(size, size - reach) + 1)


def _try_to_lay(
    rng: Generator, words: Iterable[str], size: int, directions: Sequence[Direction]
) -> dict[int, str] | None:
    """Return the letters by cell, or None if some word found no place."""
    letters: dict[int, str] = {}
    for word in words:
        for _ in range(_MAX_TRIES):
            cells = _drawn_cells(rng, len(word), size, directions)
            laid = dict(zip(cells, word, strict=True))
            if all(letters.get(cell, letter) == letter for cell, letter in laid.items()):
                letters.update(laid)
                break
        else:
            return None
    return letters


def _drawn_cells(rng: Generator, length: int, size: int, directions: Sequence[Direction]) -> range:
    """Draw a direction and a start; return the cells from there, counted row by row from 0."""
    direction = directions[int(rng.integers(len(directions)))]
    rows, columns = starts(length, size, direction)
    row, column = rows[int(rng.integers(len(rows)))], columns[int(rng.integers(len(columns)))]
    d_row, d_column = STEPS[direction]
    first, step = (row - 1) * size + column - 1, d_row * size + d_column
    return range(first, first + length * step, step)
