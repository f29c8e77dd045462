"""Guess a hidden number; each wrong guess is answered by "higher" or "lower"."""

from dataclasses import dataclass
from typing import Unpack

from numpy.random import Generator

from gemenv.core.action import ActionForm
from gemenv.core.notation import boxed
from gemenv.envs.game.turn_game import Outcome, Rules, TurnGame, hidden
from gemenv.errors import ArgumentError


@dataclass(frozen=True)
class Guess:
    """Guess the hidden number."""

    number: int


@dataclass(slots=True)
class State:
    """The number, and the range that the hints leave."""

    number: int = hidden()
    low: int = 0
    high: int = 0


class GuessTheNumber(TurnGame[State]):
    """Find a number between `low` and `high` by guessing.

    Args:
        low: the least number that may be hidden.
        high: the greatest; at least `low`.
        max_turns: how many guesses there are; binary search needs log2(high - low + 1), rounded up.
        is_random: draw `high` anew for each episode, up to the one given, and the limit with it.
        **rules: see `Rules`.

    Source: the binary-search game of GEM (arXiv:2510.01051), without its distance reward, which
    pays a constant guess 0.76.
    """

    def __init__(
        self, *, low: int = 1, high: int = 10, max_turns: int = 4, **rules: Unpack[Rules]
    ) -> None:
        if high < low:
            raise ArgumentError(
                problem="There is no number to hide.",
                expected="low <= high",
                got=(low, high),
                fix="swap them",
            )
        domain = range(low, high + 1)
        super().__init__(
            ActionForm(Guess, boxed("{number}"), number=domain), max_turns=max_turns, **rules
        )
        self.low, self.high = low, high

    def deal(self, rng: Generator) -> State:
        """Hide a number."""
        return State(int(rng.integers(self.low, self.high + 1)), self.low, self.high)

    def rules(self) -> str:
        """Tell the range, the limit and how to answer."""
        return (
            f"Guess the hidden whole number between {self.low} and {self.high} in at most "
            f"{self.max_turns} guesses. After each guess you are told whether the hidden number is "
            f"higher or lower. Answer with your guess as {self.actions.usage}."
        )

    def play(self, move: Guess) -> Outcome:
        """Compare the guess with the hidden number."""
        state = self.state
        if not self.low <= move.number <= self.high:
            return Outcome.invalid(f"{move.number} is not between {self.low} and {self.high}.")
        if move.number == state.number:
            return Outcome.won(f"Correct: the hidden number is {move.number}.")
        if move.number < state.number:
            state.low = max(state.low, move.number + 1)
            return Outcome.go(f"The hidden number is higher than {move.number}.")
        state.high = min(state.high, move.number - 1)
        return Outcome.go(f"The hidden number is lower than {move.number}.")

    def legal(self) -> list[Guess]:
        """Return every number of the range."""
        return [Guess(number) for number in range(self.low, self.high + 1)]

    def oracle(self) -> Guess:
        """Guess the hidden number."""
        return Guess(self.state.number)

    def expert(self) -> Guess:
        """Guess the middle of what is left: binary search."""
        return Guess((self.state.low + self.state.high) // 2)
