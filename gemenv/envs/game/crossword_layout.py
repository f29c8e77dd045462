"""Lay words out as a crossword: connected, and with no letters that touch by accident."""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from numpy.random import Generator

Cell = tuple[int, int]

_DRAWS_PER_WORD = 8  # before a layout is begun anew; most words fit at once


class Place(NamedTuple):
    """Where a word of a crossword stands.

    Attributes:
        row: the row of its first letter, 1 at the top.
        column: the column of its first letter, 1 at the left.
        is_across: whether it runs to the right; else it runs down.
    """

    row: int
    column: int
    is_across: bool

    def cells(self, length: int) -> list[Cell]:
        """Return the row and column of each of `length` letters."""
        row, column, is_across = self
        if is_across:
            return [(row, column + i) for i in range(length)]
        return [(row + i, column) for i in range(length)]


def lay_out(rng: Generator, words: Sequence[str], num_words: int) -> list[tuple[str, Place]]:
    """Draw words and lay them out so that each crosses another.

    Args:
        rng: where every choice comes from.
        words: what to draw from; many, without repetition.
        num_words: how many to lay out.

    Returns:
        Different words and their places, from top to bottom, then from left to right.
    """
    laid: dict[str, Place] = {}
    while len(laid) < num_words:
        laid = _try_to_lay(rng, words, num_words)
    top = min(place.row for place in laid.values()) - 1
    left = min(place.column for place in laid.values()) - 1
    moved = [
        (word, Place(row - top, column - left, is_across))
        for word, (row, column, is_across) in laid.items()
    ]
    return sorted(moved, key=lambda entry: entry[1])


def _try_to_lay(rng: Generator, words: Sequence[str], num_words: int) -> dict[str, Place]:
    """Lay out so many words, or fewer where the first ones leave no room."""
    laid: dict[str, Place] = {}
    letters: dict[Cell, str] = {}
    for _ in range(_DRAWS_PER_WORD * num_words):
        word = words[int(rng.integers(len(words)))]
        fits = list(_fitting(word, laid, letters)) if laid else [Place(0, 0, True)]
        if fits and word not in laid:
            place = laid[word] = fits[int(rng.integers(len(fits)))]
            letters.update(zip(place.cells(len(word)), word, strict=True))
            if len(laid) == num_words:
                break
    return laid


def _fitting(word: str, laid: dict[str, Place], letters: dict[Cell, str]) -> Iterator[Place]:
    """Yield every place where the word crosses another and fits all the rest."""
    for other, (row, column, is_across) in laid.items():
        for there, shared in enumerate(other):
            for here, letter in enumerate(word):
                if letter == shared:
                    place = (
                        Place(row - here, column + there, False)
                        if is_across
                        else Place(row + there, column - here, True)
                    )
                    if _fits(word, place, letters):
                        yield place


def _fits(word: str, place: Place, letters: dict[Cell, str]) -> bool:
    """Tell whether every letter crosses an equal one or stands free, and both ends are free."""
    d_row, d_column = (0, 1) if place.is_across else (1, 0)
    row, column = place.row - d_row, place.column - d_column
    if (row, column) in letters:
        return False
    was_crossing = False
    for letter in word:
        row, column = row + d_row, column + d_column
        is_crossing = (row, column) in letters
        if is_crossing and (was_crossing or letters[row, column] != letter):
            return False
        if not is_crossing and (
            (row + d_column, column + d_row) in letters
            or (row - d_column, column - d_row) in letters
        ):
            return False
        was_crossing = is_crossing
    return (row + d_row, column + d_column) not in letters
