"""Guess a secret word; each guess is answered letter by letter."""

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Unpack

from numpy.random import Generator

from gemenv.core.action import ActionForm
from gemenv.core.notation import boxed
from gemenv.envs.game.turn_game import Outcome, Rules, TurnGame, hidden
from gemenv.envs.game.word_list import Word, common_words, valid_words, word_lengths

_MAX_GUESSES = 24  # the expert weighs so many guesses ...
_MAX_SECRETS = 96  # ... against so many secrets: a few milliseconds

_EXAMPLES = {  # a guess and a secret of each length, which together show every mark
    3: ("pet", "ten"),
    4: ("tree", "test"),
    5: ("geese", "eagle"),
    6: ("letter", "belief"),
    7: ("balloon", "lagoons"),
    8: ("terrible", "referred"),
}


@dataclass(frozen=True)
class Guess:
    """Guess the secret word."""

    word: Word


@dataclass(slots=True)
class State:
    """The secret, its length, and the answer to every guess so far."""

    secret: str = hidden()
    length: int = 0
    answers: dict[str, str] = field(default_factory=dict[str, str])


class Wordle(TurnGame[State]):
    """Find a common English word by guessing words of the same length.

    Sparse: the letters that a constant guess has right would pay it for nothing.

    Args:
        word_length: letters of the secret; 3 to 8.
        max_turns: how many guesses there are.
        is_random: draw the length from 3 to `word_length` for each episode; the limit shrinks in
            proportion (25 turns for 5 letters, 15 for 3).
        **rules: see `Rules`.

    Source: the game by Josh Wardle (2021); variants of GEM (arXiv:2510.01051).
    """

    def __init__(
        self,
        *,
        word_length: int = 3,
        max_turns: int = 15,
        is_random: bool = False,
        **rules: Unpack[Rules],
    ) -> None:
        self.lengths = word_lengths(word_length, is_random=is_random)
        words = common_words(word_length)
        super().__init__(ActionForm(Guess, boxed(), word=words), max_turns=max_turns, **rules)

    def deal(self, rng: Generator) -> State:
        """Choose a secret."""
        length = int(rng.integers(self.lengths.start, self.lengths.stop))
        words = common_words(length)
        return State(words[int(rng.integers(len(words)))], length)

    def turn_limit(self) -> int:
        """Return the limit of this episode: a shorter word has fewer turns."""
        return math.ceil(super().turn_limit() * self.state.length / self.lengths[-1])

    def rules(self) -> str:
        """Tell what to find, what the marks mean, the limit and the notation."""
        length = self.state.length
        guess, secret = _EXAMPLES[length]
        return (
            f"Find the secret word: a common English word of {length} letters. You have "
            f"{self.turn_limit()} guesses; each must be an English word of {length} letters. "
            "Each letter of a guess is marked G (right letter, right place), Y (in the word, but "
            "in another place) or X (not in the word, or not that often). For example, if the "
            f"secret were {secret}:\n{_lined_up(guess, mark(guess, secret))}\n"
            f"Answer with your guess like this: {self.actions.format(Guess(guess))}"
        )

    def play(self, move: Guess) -> Outcome:
        """Mark a guess."""
        state, guess = self.state, move.word.lower()
        if len(guess) != state.length:
            return Outcome.invalid(f"A guess has {state.length} letters.")
        if guess not in valid_words(state.length):
            return Outcome.invalid("That is not a word in the dictionary.")
        if guess == state.secret:
            return Outcome.won(f"Correct: the secret word is {guess}.")
        marks = state.answers[guess] = mark(guess, state.secret)
        return Outcome.go(_lined_up(guess, marks))

    def oracle(self) -> Guess:
        """Guess the secret."""
        return Guess(self.state.secret)

    def expert(self) -> Guess:
        """Guess a word that may be the secret and whose marks tell the most others apart."""
        possible: Sequence[str] = common_words(self.state.length)
        for guess, marks in self.state.answers.items():
            possible = [word for word in possible if mark(guess, word) == marks]
        guesses = possible[:: -(-len(possible) // _MAX_GUESSES)]
        secrets = possible[:: -(-len(possible) // _MAX_SECRETS)]
        return Guess(min(guesses, key=lambda guess: _left(guess, secrets)))


def mark(guess: str, secret: str) -> str:
    """Mark each letter of a guess; a letter is marked G or Y as often as the secret has it.

    Args:
        guess: as long as the secret.
        secret: the word to find.

    Returns:
        One of G, Y and X for each letter.

    Example:
        >>> mark("geese", "eagle")
        'YYXXG'
    """
    if guess == secret:
        return "G" * len(guess)
    rest = [theirs for ours, theirs in zip(guess, secret, strict=True) if ours != theirs]
    marks = ""
    for ours, theirs in zip(guess, secret, strict=True):
        if ours == theirs:
            marks += "G"
        elif ours in rest:
            rest.remove(ours)
            marks += "Y"
        else:
            marks += "X"
    return marks


def _lined_up(guess: str, marks: str) -> str:
    return f"{' '.join(guess)}\n{' '.join(marks)}"


def _left(guess: str, secrets: Sequence[str]) -> int:
    """Return how many secrets stay possible after a guess, summed over them."""
    return sum(n * n for n in Counter(mark(guess, secret) for secret in secrets).values())
