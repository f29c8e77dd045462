"""Find a hidden word by guessing letters, or the word itself."""

import math
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Annotated, Unpack

from msgspec import Meta
from numpy.random import Generator

from gemenv.core.action import ActionForm
from gemenv.core.notation import boxed
from gemenv.envs.game.turn_game import Outcome, Rules, TurnGame, hidden
from gemenv.envs.game.word_list import common_words, word_lengths

_ALPHABET = "abcdefghijklmnopqrstuvwxyz"
_MAX_WORDS = 1000  # the expert weighs so many words: two milliseconds
_EXAMPLES = ("cat", "bird", "house", "garden", "morning", "mountain")  # 3 to 8 letters


@dataclass(frozen=True)
class GuessLetter:
    """Ask where a letter stands in the word."""

    letter: Annotated[str, Meta(pattern="^[A-Za-z]$")]


@dataclass(frozen=True)
class GuessWord:
    """Guess the whole word."""

    word: Annotated[str, Meta(pattern="^[A-Za-z]{2,}$")]


@dataclass(slots=True)
class State:
    """The word, what is revealed of it (`_` for the rest), and the guesses so far."""

    word: str = hidden()
    revealed: str = ""
    tried: list[str] = field(default_factory=list[str])


class Hangman(TurnGame[State]):
    """Reveal a common English word.

    Sparse: the letters that random guesses reveal would pay them for nothing. Fair play cannot win
    always: ten guesses are few for the 400 words of three letters, and the expert wins three in
    four; of the longer words it wins nearly all.

    Args:
        word_length: letters of the word; 3 to 8.
        max_turns: how many guesses there are.
        is_random: draw the length from 3 to `word_length` for each episode; the limit shrinks in
            proportion to the length and one more (20 turns for 7 letters, 10 for 3).
        **rules: see `Rules`.

    Source: the pencil game; variants of GEM (arXiv:2510.01051).
    """

    def __init__(
        self,
        *,
        word_length: int = 3,
        max_turns: int = 10,
        is_random: bool = False,
        **rules: Unpack[Rules],
    ) -> None:
        self.lengths = word_lengths(word_length, is_random=is_random)
        words = common_words(word_length)
        super().__init__(
            ActionForm(GuessLetter, boxed(), letter=tuple(_ALPHABET)),
            ActionForm(GuessWord, boxed(), word=words),
            max_turns=max_turns,
            **rules,
        )

    def deal(self, rng: Generator) -> State:
        """Choose a word."""
        length = int(rng.integers(self.lengths.start, self.lengths.stop))
        words = common_words(length)
        return State(words[int(rng.integers(len(words)))], "_" * length)

    def turn_limit(self) -> int:
        """Return the limit of this episode: a shorter word has fewer turns."""
        share = (len(self.state.revealed) + 1) / (self.lengths[-1] + 1)
        return math.ceil(super().turn_limit() * share)

    def rules(self) -> str:
        """Tell what to find, the two kinds of guesses, the limit and the notation."""
        length = len(self.state.revealed)
        letter, word = GuessLetter("e"), GuessWord(_EXAMPLES[length - 3])
        return (
            f"Find the hidden word: a common English word of {length} letters. You have "
            f"{self.turn_limit()} guesses. Guess a letter, and you see everywhere it stands; or "
            "guess the whole word. You win when all letters are shown or the word is guessed. "
            f"Answer with a letter like this: {self.actions.format(letter)} or with a word like "
            f"this: {self.actions.format(word)}"
        )

    def view(self) -> str:
        """Show the revealed letters and the guesses so far."""
        state = self.state
        return f"Word: {' '.join(state.revealed)}\nGuessed: {', '.join(state.tried) or 'nothing'}"

    def play(self, move: GuessLetter | GuessWord) -> Outcome:
        """Reveal a letter, or compare a word."""
        if isinstance(move, GuessLetter):
            return self._play_letter(move.letter.lower())
        return self._play_word(move.word.lower())

    def oracle(self) -> GuessWord:
        """Guess the word."""
        return GuessWord(self.state.word)

    def expert(self) -> GuessLetter | GuessWord:
        """Guess the letter that tells the possible words best apart; at last the word itself."""
        state = self.state
        possible = possible_words(state.revealed, state.tried)
        if len(possible) <= 2 or self.turn >= self.turn_limit() - 1:
            return GuessWord(possible[0])
        return GuessLetter(_sharpest_letter(possible, state.tried))

    def _play_letter(self, letter: str) -> Outcome:
        state = self.state
        if letter in state.tried:
            return Outcome.invalid(f"{letter} was guessed before.")
        state.tried.append(letter)
        state.revealed = "".join(
            theirs if theirs == letter else shown
            for theirs, shown in zip(state.word, state.revealed, strict=True)
        )
        if state.revealed == state.word:
            return Outcome.won(f"Correct: the word is {state.word}.")
        verdict = "is in" if letter in state.word else "is not in"
        return Outcome.go(f"{letter} {verdict} the word.")

    def _play_word(self, word: str) -> Outcome:
        state = self.state
        if len(word) != len(state.word):
            return Outcome.invalid(f"The word has {len(state.word)} letters.")
        if word in state.tried:
            return Outcome.invalid(f"{word} was guessed before.")
        if word == state.word:
            return Outcome.won(f"Correct: the word is {word}.")
        state.tried.append(word)
        return Outcome.go(f"The word is not {word}.")


def possible_words(revealed: str, tried: Sequence[str]) -> list[str]:
    """Return the common words that fit what is shown.

    Args:
        revealed: the word with `_` for each letter that is not known.
        tried: the letters and words that were guessed.

    Example:
        >>> possible_words("zebr_", ["z", "e", "b", "r"])
        ['zebra']
    """
    letters = "".join(guess for guess in tried if len(guess) == 1)
    hole = f"[^{letters}]" if letters else "."
    fits = re.compile(revealed.replace("_", hole)).fullmatch
    return [word for word in common_words(len(revealed)) if fits(word) and word not in tried]


def _sharpest_letter(words: Sequence[str], tried: Sequence[str]) -> str:
    """Return the letter whose places leave the fewest words possible on average."""
    some = words[:: -(-len(words) // _MAX_WORDS)]
    sizes: Counter[tuple[str, int]] = Counter()  # by letter and its places, as bits
    for word in some:
        places = dict.fromkeys(word, 0)
        for bit, letter in enumerate(word):
            places[letter] |= 1 << bit
        sizes.update(places.items())
    absent = dict.fromkeys((letter for letter, _ in sizes if letter not in tried), len(some))
    squares = dict.fromkeys(absent, 0)
    for (letter, _), size in sizes.items():
        if letter in absent:
            absent[letter] -= size
            squares[letter] += size * size
    return min(absent, key=lambda letter: squares[letter] + absent[letter] ** 2)
