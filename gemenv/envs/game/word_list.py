"""The words that games share: common ones to hide, valid ones to guess, and clues.

The tables lie in `words/`, with their sources and licences. They are read on first use and are
shared by every instance.
"""

import functools
import gzip
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Annotated, Literal

from msgspec import Meta

from gemenv.errors import ArgumentError

Word = Annotated[str, Meta(pattern="^[A-Za-z]+$")]
"""A word as a field of an action: letters only, in either case."""

Difficulty = Literal["easy", "hard"]
"""How common the words of a crossword are."""

_LENGTHS = range(3, 9)  # of the words in the tables
_FOLDER = Path(__file__).with_name("words")


def word_lengths(longest: int, *, is_random: bool) -> range:
    """Return how many letters the secret of an episode may have.

    Args:
        longest: 3 to 8.
        is_random: whether all lengths from 3 on are drawn from, or only the longest.

    Raises:
        ArgumentError: if there are no words that long.

    Example:
        >>> word_lengths(5, is_random=True)
        range(3, 6)
    """
    if longest not in _LENGTHS:
        raise ArgumentError(
            problem="There are no words of this length.",
            expected="word_length from 3 to 8",
            got=longest,
            fix="choose e.g. word_length=5",
        )
    return range(_LENGTHS.start if is_random else longest, longest + 1)


@functools.lru_cache(maxsize=len(_LENGTHS))
def common_words(length: int) -> tuple[str, ...]:
    """Return the words that most people know, in alphabetical order and in their base form.

    Args:
        length: letters a word, 3 to 8.

    Example:
        >>> common_words(5)[:3]
        ('aback', 'abate', 'abbey')

    Source: SCOWL up to level 35, as far as WordNet 3.0 has the word.
    """
    words = (_FOLDER / "common.txt").read_text("ascii").split()
    return tuple(word for word in words if len(word) == length)


@functools.lru_cache(maxsize=len(_LENGTHS))
def valid_words(length: int) -> frozenset[str]:
    """Return every word that counts as one, inflected or rare; it includes the common ones.

    Args:
        length: letters a word, 3 to 8.

    Example:
        >>> "xylem" in valid_words(5), "zzzzz" in valid_words(5)
        (True, False)

    Source: SCOWL up to level 70, in American and British spelling.
    """
    words = gzip.decompress((_FOLDER / "valid.txt.gz").read_bytes()).decode("ascii").split()
    return frozenset(word for word in words if len(word) == length)


@functools.lru_cache(maxsize=2)
def clues(difficulty: Difficulty) -> Mapping[str, str]:
    """Return words and their clues: short definitions that hold no form of the word.

    Args:
        difficulty: "easy" for the commonest words, of 3 to 6 letters; "hard" for the less common
            ones, of 5 to 8.

    Example:
        >>> clues("hard")["zebra"]
        'any of several fleet black-and-white striped African equines'

    Source: definitions of WordNet 3.0.
    """
    lines = (_FOLDER / "clues.tsv").read_text("ascii").splitlines()
    rows = (line.split("\t") for line in lines)
    return MappingProxyType({word: clue for word, kind, clue in rows if kind == difficulty})


@functools.lru_cache(maxsize=2)
def clued_words(difficulty: Difficulty) -> tuple[str, ...]:
    """Return the words of `clues`, in alphabetical order."""
    return tuple(clues(difficulty))
