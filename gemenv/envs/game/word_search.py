"""Find words that are hidden in a grid of letters."""

import itertools
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Unpack

from numpy.random import Generator

from gemenv.core.action import ActionForm
from gemenv.core.notation import boxed
from gemenv.envs.game.letter_grid import STEPS, Direction, hide, read, starts
from gemenv.envs.game.turn_game import Outcome, Rules, TurnGame
from gemenv.envs.game.word_list import Word, common_words
from gemenv.errors import ArgumentError

_SIZES = range(7, 10)  # up to 9: one digit a column keeps the grid aligned, and short in tokens
_EASY: tuple[Direction, ...] = ("right", "down")
_ALL = tuple(STEPS)


@dataclass(frozen=True)
class Find:
    """Point out a word: where its first letter stands, and the direction in which it reads."""

    word: Word
    row: int
    column: int
    direction: Direction


@dataclass(slots=True)
class State:
    """The grid row by row, its size, where its words may run, and those left to find."""

    letters: str
    size: int
    directions: tuple[Direction, ...]
    left: tuple[str, ...]


class WordSearch(TurnGame[State]):
    """Find every word of a list in a grid of letters.

    The words have from `size - 4` to `size - 2` letters. Each pays an equal share when it is
    found, wherever it reads: neither random nor constant answers find many.

    Args:
        size: rows and columns of the grid; 7 to 9.
        all_directions: whether words run in all 8 directions, or to the right and down only.
        num_words: words in the grid; 1 to 6.
        max_turns: how many answers there are; at least `num_words`.
        is_random: draw the size from 7 to `size` for each episode, and where `all_directions` is
            given, whether it holds.
        **rules: see `Rules`.

    Source: the puzzle of newspapers; variants of GEM (arXiv:2510.01051).
    """

    def __init__(
        self,
        *,
        size: int = 7,
        all_directions: bool = False,
        num_words: int = 5,
        max_turns: int = 20,
        is_random: bool = False,
        **rules: Unpack[Rules],
    ) -> None:
        _check(size, num_words, max_turns)
        self.size, self.num_words, self.is_random = size, num_words, is_random
        self.directions = _ALL if all_directions else _EASY
        numbers = range(1, size + 1)
        form = ActionForm(
            Find,
            boxed(),
            word=common_words(size - 2),
            row=numbers,
            column=numbers,
            direction=self.directions,
        )
        super().__init__(form, max_turns=max_turns, **rules)

    def deal(self, rng: Generator) -> State:
        """Hide words in a grid."""
        size, directions = self.size, self.directions
        if self.is_random:
            size = int(rng.integers(_SIZES.start, size + 1))
            directions = _EASY if rng.integers(2) == 0 else directions
        words = _draw_words(rng, self.num_words, range(size - 4, size - 1))
        return State(hide(rng, words, size, directions), size, directions, words)

    def rules(self) -> str:
        """Tell what to find, the directions, the limit, the notation, and show the grid."""
        example = self.actions.format(Find("word", 2, 5, "down"))
        return (
            f"Find all {self.num_words} words in the grid in at most {self.max_turns} answers. "
            "Rows count from 1 at the top, columns from 1 at the left. Words read in straight "
            f"lines: {', '.join(self.state.directions)}. Answer with one word, the row and column "
            f"of its first letter, and its direction, for example {example}\n{_shown(self.state)}"
        )

    def view(self) -> str:
        """Tell the words that are left."""
        return f"Words to find: {', '.join(self.state.left)}"

    def play(self, move: Find) -> Outcome:
        """Check a word off if it reads there."""
        state, word = self.state, move.word.lower()
        if word not in state.left:
            return Outcome.invalid("That is not one of the words to find.")
        if move.direction not in state.directions:
            return Outcome.invalid(f"Words here read only {' or '.join(state.directions)}.")
        rows, columns = starts(len(word), state.size, move.direction)
        if move.row not in rows or move.column not in columns:
            return Outcome.invalid("From there the word would leave the grid.")
        if not _reads(state, move):
            return Outcome.go(f"{word} is not there.")
        state.left = tuple(other for other in state.left if other != word)
        if not state.left:
            return Outcome.won("Correct: all words are found.")
        return Outcome.go(f"Correct: {word} is found.")

    def progress(self) -> float:
        """Return the share of words found."""
        return (self.num_words - len(self.state.left)) / self.num_words

    def legal(self) -> list[Find]:
        """Return every place where a word that is left would stay inside the grid."""
        return [move for word in self.state.left for move in self._places(word)]

    def oracle(self) -> Find:
        """Search the grid for the first word that is left."""
        return next(move for move in self._places(self.state.left[0]) if _reads(self.state, move))

    def expert(self) -> Find:
        """Play as the oracle does: nothing is hidden."""
        return self.oracle()

    def _places(self, word: str) -> Iterator[Find]:
        for direction in self.state.directions:
            for row, column in itertools.product(*starts(len(word), self.state.size, direction)):
                yield Find(word, row, column, direction)


def _check(size: int, num_words: int, max_turns: int) -> None:
    if size not in _SIZES or not 1 <= num_words <= min(6, max_turns):
        raise ArgumentError(
            problem="There is no such grid.",
            expected="size from 7 to 9, num_words from 1 to 6, max_turns >= num_words",
            got={"size": size, "num_words": num_words, "max_turns": max_turns},
            fix="choose e.g. size=7, num_words=5, max_turns=20",
        )


def _draw_words(rng: Generator, num_words: int, lengths: range) -> tuple[str, ...]:
    """Draw different words, each length as often."""
    words: dict[str, None] = {}
    while len(words) < num_words:
        pool = common_words(int(rng.integers(lengths.start, lengths.stop)))
        words[pool[int(rng.integers(len(pool)))]] = None
    return tuple(words)


def _reads(state: State, move: Find) -> bool:
    word = move.word.lower()
    return word == read(state.letters, state.size, len(word), move.row, move.column, move.direction)


def _shown(state: State) -> str:
    """Draw the grid with its row and column numbers."""
    size, letters = state.size, state.letters
    lines = [[" ", *map(str, range(1, size + 1))]]
    lines += [[str(row), *letters[(row - 1) * size : row * size]] for row in range(1, size + 1)]
    return "\n".join(map(" ".join, lines))
