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
    """The number, how far the range goes, and what the hints leave of it."""

    top: int
    low: int
    high: int
    number: int = hidden()


class GuessTheNumber(TurnGame[State]):
    """Find a number between `low` and `high` by guessing.

    Args:
        low: the least number that may be hidden.
        high: the greatest; at least `low`.
        least_high: draw the greatest number anew for each episode, from this one up to `high`.
        max_turns: how many guesses there are; by default as many as binary search needs.
        **rules: see `Rules`.

    Source: the binary-search game of GEM (arXiv:2510.01051), without its distance reward, which
    pays a constant guess 0.76.
    """

    def __init__(
        self,
        *,
        low: int = 1,
        high: int = 10,
        least_high: int | None = None,
        max_turns: int | None = None,
        **rules: Unpack[Rules],
    ) -> None:
        least = high if least_high is None else least_high
        if not low <= least <= high:
            raise ArgumentError(
                problem="There is no number to hide.",
                expected="low <= least_high <= high",
                got=(low, least_high, high),
                fix="swap them",
            )
        form = ActionForm(Guess, boxed("{number}"), number=range(low, high + 1))
        super().__init__(
            form, max_turns=_num_halvings(low, high) if max_turns is None else max_turns, **rules
        )
        self.low, self.least_high, self.high = low, least, high
        self.is_limit_given = max_turns is not None

    def deal(self, rng: Generator) -> State:
        """Hide a number."""
        top = int(rng.integers(self.least_high, self.high + 1))
        return State(number=int(rng.integers(self.low, top + 1)), top=top, low=self.low, high=top)

    def turn_limit(self) -> float:
        """Return the limit that was given, or what binary search needs in this episode's range."""
        if self.is_limit_given:
            return super().turn_limit()
        return _num_halvings(self.low, self.state.top)

    def rules(self) -> str:
        """Tell the range, the limit and how to answer."""
        return (
            f"Guess the hidden whole number between {self.low} and {self.state.top} in at most "
            f"{self.turn_limit()} guesses. After each guess you are told whether the hidden number "
            f"is higher or lower. Answer with your guess as {self.actions.usage}."
        )

    def play(self, move: Guess) -> Outcome:
        """Compare the guess with the hidden number."""
        state = self.state
        if not self.low <= move.number <= state.top:
            return Outcome.invalid(f"{move.number} is not between {self.low} and {state.top}.")
        if move.number == state.number:
            return Outcome.won(f"Correct: the hidden number is {move.number}.")
        if move.number < state.number:
            state.low = max(state.low, move.number + 1)
            return Outcome.go(f"The hidden number is higher than {move.number}.")
        state.high = min(state.high, move.number - 1)
        return Outcome.go(f"The hidden number is lower than {move.number}.")

    def legal(self) -> list[Guess]:
        """Return every number of the range."""
        return [Guess(number) for number in range(self.low, self.state.top + 1)]

    def oracle(self) -> Guess:
        """Guess the hidden number."""
        return Guess(self.state.number)

    def expert(self) -> Guess:
        """Guess the middle of what is left: binary search."""
        return Guess((self.state.low + self.state.high) // 2)


def _num_halvings(low: int, high: int) -> int:
    """Return how many guesses find any number of a range: floor(log2(n)) + 1."""
    return (high - low + 1).bit_length()
