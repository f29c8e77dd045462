"""Break a secret code of different digits; each guess is answered by black and white pegs."""

import functools
import itertools
import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple, Unpack

from numpy.random import Generator

from gemenv.core.action import ActionForm
from gemenv.core.notation import boxed
from gemenv.envs.game.turn_game import Outcome, Rules, TurnGame, hidden
from gemenv.errors import ArgumentError

_MAX_GUESSES, _MAX_CODES = 40, 200  # the expert weighs so many guesses against so many codes


@dataclass(frozen=True)
class Guess:
    """Guess the secret code."""

    code: str


class Pegs(NamedTuple):
    """The answer to a guess: digits in the right place, and right digits in the wrong place."""

    black: int
    white: int


@dataclass(slots=True)
class State:
    """The kind of code, the answer to every guess so far, and the code."""

    code_length: int
    num_digits: int
    answers: dict[str, Pegs]
    code: str = hidden()


class Mastermind(TurnGame[State]):
    """Find a code of `code_length` different digits, each from 1 to `num_digits`.

    Only the win pays. The easy variant has 30 codes and 10 turns: guessing at random wins three
    games in ten.

    Args:
        code_length: how many digits the code has; 2 to 5, and at most `num_digits`.
        num_digits: how many digits there are to choose from; 2 to 9.
        max_turns: how many guesses there are.
        is_random: for each episode, draw a length from 2 to `code_length` and a number of digits
            from 6 to `num_digits`. The limit shrinks in proportion to the length less one: with
            30 turns for 4 digits, it is 20 for 3 and 10 for 2.
        **rules: see `Rules`.

    Source: the board game by Mordecai Meirowitz; variants of GEM (arXiv:2510.01051).
    """

    def __init__(
        self,
        *,
        code_length: int = 2,
        num_digits: int = 6,
        max_turns: int = 10,
        is_random: bool = False,
        **rules: Unpack[Rules],
    ) -> None:
        if not (2 <= code_length <= 5 and code_length <= num_digits <= 9):
            raise ArgumentError(
                problem="There are no such codes.",
                expected="2 <= code_length <= 5, and code_length <= num_digits <= 9",
                got={"code_length": code_length, "num_digits": num_digits},
                fix="choose e.g. code_length=4, num_digits=8",
            )
        domain = codes(code_length, num_digits)
        super().__init__(
            ActionForm(Guess, boxed("{code}"), code=domain), max_turns=max_turns, **rules
        )
        self.code_length, self.num_digits, self.is_random = code_length, num_digits, is_random

    def deal(self, rng: Generator) -> State:
        """Choose a code."""
        length, digits = self.code_length, self.num_digits
        if self.is_random:
            length = int(rng.integers(2, length + 1))
            digits = int(rng.integers(min(6, digits), digits + 1))
        domain = codes(length, digits)
        return State(length, digits, {}, code=domain[int(rng.integers(len(domain)))])

    def turn_limit(self) -> int:
        """Return the limit of this episode: a shorter code has fewer turns."""
        return math.ceil(
            super().turn_limit() * (self.state.code_length - 1) / (self.code_length - 1)
        )

    def rules(self) -> str:
        """Tell what a code is, what the pegs mean, the limit and the notation."""
        length, digits = self.state.code_length, self.state.num_digits
        example = self.actions.format(Guess(codes(length, digits)[0]))
        return (
            f"Find the secret code: {length} different digits, each from 1 to {digits}. You have "
            f"{self.turn_limit()} guesses. Each guess is answered by black pegs (right digit, "
            f"right place) and white pegs (right digit, wrong place). Answer with {length} "
            f"different digits, for example {example}."
        )

    def play(self, move: Guess) -> Outcome:
        """Answer a guess by its pegs; spaces and commas between the digits mean nothing."""
        state = self.state
        guess = move.code.replace(" ", "").replace(",", "")
        if len(guess) != state.code_length or not _is_code(guess, state.num_digits):
            return Outcome.invalid(
                f"A guess is {state.code_length} different digits, each from 1 to "
                f"{state.num_digits}."
            )
        if guess == state.code:
            return Outcome.won(f"Correct: the code is {guess}.")
        pegs = state.answers[guess] = count_pegs(guess, state.code)
        return Outcome.go(f"{guess} has {pegs.black} black and {pegs.white} white pegs.")

    def legal(self) -> list[Guess]:
        """Return every code."""
        return [Guess(code) for code in codes(self.state.code_length, self.state.num_digits)]

    def oracle(self) -> Guess:
        """Guess the code."""
        return Guess(self.state.code)

    def expert(self) -> Guess:
        """Guess a possible code whose answer leaves the fewest codes at the worst.

        Source: D. E. Knuth, The Computer as Master Mind (1977), over a spread of the codes that
        are still possible.
        """
        state = self.state
        possible = codes(state.code_length, state.num_digits)
        for guess, pegs in state.answers.items():
            possible = [code for code in possible if count_pegs(guess, code) == pegs]
        if not state.answers or len(possible) < 3:
            return Guess(possible[0])
        some = possible[:: -(-len(possible) // _MAX_CODES)]
        guesses = possible[:: -(-len(possible) // _MAX_GUESSES)]
        return Guess(min(guesses, key=lambda guess: _most_left(guess, some)))


@functools.lru_cache(maxsize=32)
def codes(length: int, num_digits: int) -> Sequence[str]:
    """Return every code of `length` different digits from 1 to `num_digits`, in order."""
    return tuple(map("".join, itertools.permutations("123456789"[:num_digits], length)))


def count_pegs(guess: str, code: str) -> Pegs:
    """Compare a guess with a code of the same length; both have different digits.

    Example:
        >>> count_pegs("1234", "1342")
        Pegs(black=1, white=3)
    """
    black = white = 0
    for ours, theirs in zip(guess, code, strict=True):
        if ours == theirs:
            black += 1
        elif ours in code:
            white += 1
    return Pegs(black, white)


def _is_code(guess: str, num_digits: int) -> bool:
    return len(set(guess)) == len(guess) and set(guess) <= set("123456789"[:num_digits])


def _most_left(guess: str, possible: Sequence[str]) -> int:
    return max(Counter(count_pegs(guess, code) for code in possible).values())
