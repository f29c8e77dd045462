"""Reach a target from a few numbers with `+ - * /`."""

from dataclasses import dataclass
from typing import Unpack

from numpy.random import Generator

from gemenv.core.action import ActionForm
from gemenv.core.notation import boxed
from gemenv.envs.game.arithmetic import evaluate
from gemenv.envs.game.countdown_solver import combine, find_expression
from gemenv.envs.game.turn_game import Outcome, Rules, TurnGame
from gemenv.errors import ActionError, ArgumentError


@dataclass(frozen=True)
class Attempt:
    """Write an expression that makes the target."""

    expression: str


@dataclass(slots=True)
class State:
    """The numbers, the target, and the bound under which it was made; nothing is hidden."""

    numbers: tuple[int, ...]
    target: int
    highest: int


class Countdown(TurnGame[State]):
    """Make a target from different numbers, each used at most once.

    The target is made from all the numbers by random steps, each of which gives a whole number of
    1 to ten times `max_number`; it is above `max_number`, and not the plain sum. So it can always
    be reached; the player may pass through fractions and negative numbers too. Only the win pays.

    Args:
        num_numbers: how many numbers are given; 3 to 6.
        max_number: the greatest that they can be; 10 to 1000.
        max_turns: how many attempts there are.
        is_random: for each episode, draw how many numbers from 4 to `num_numbers`, and their
            greatest from 10 to `max_number`.
        **rules: see `Rules`.

    Source: the numbers round of the television game "Des chiffres et des lettres" ("Countdown").
    """

    def __init__(
        self,
        *,
        num_numbers: int = 4,
        max_number: int = 10,
        max_turns: int = 5,
        is_random: bool = False,
        **rules: Unpack[Rules],
    ) -> None:
        if not (3 <= num_numbers <= 6 and 10 <= max_number <= 1000):
            raise ArgumentError(
                problem="There are no such numbers.",
                expected="3 <= num_numbers <= 6, and 10 <= max_number <= 1000",
                got={"num_numbers": num_numbers, "max_number": max_number},
                fix="choose e.g. num_numbers=6, max_number=100",
            )
        form = ActionForm(Attempt, boxed("{expression}"))
        super().__init__(form, max_turns=max_turns, **rules)
        self.num_numbers, self.max_number, self.is_random = num_numbers, max_number, is_random

    def deal(self, rng: Generator) -> State:
        """Draw numbers and make a target from them."""
        count, most = self.num_numbers, self.max_number
        if self.is_random:
            count = int(rng.integers(min(4, count), count + 1))
            most = int(rng.integers(10, most + 1))
        while True:  # about two draws
            numbers = (rng.permutation(most)[:count] + 1).tolist()
            target = _random_result(numbers, 10 * most, rng)
            if target > most and target != sum(numbers):
                return State(tuple(numbers), target, 10 * most)

    def rules(self) -> str:
        """Tell the numbers, the target, what is allowed, the limit and the notation."""
        return (
            f"Make {self.state.target} from the numbers {self._numbers()} with + - * / and "
            f"parentheses. Use each number at most once, and no other. You have {self.max_turns} "
            "attempts; after each you are told what your expression makes. Answer with the "
            f"expression alone, for example {self.actions.format(Attempt('(1 + 2) * 3'))}."
        )

    def play(self, move: Attempt) -> Outcome:
        """Compute an expression and compare it with the target."""
        state = self.state
        try:
            value, used = evaluate(move.expression)
        except ActionError as error:
            return Outcome.invalid(error.problem)
        if len(set(used)) < len(used) or not set(used) <= set(state.numbers):
            return Outcome.invalid(
                f"Use each of the numbers {self._numbers()} at most once, and no other."
            )
        if value == state.target:
            return Outcome.won(f"Correct: that makes {state.target}.")
        return Outcome.go(
            f"That makes {value}, not {state.target}. The numbers are {self._numbers()}."
        )

    def oracle(self) -> Attempt:
        """Do as the expert: numbers and target are all there is to know."""
        return self.expert()

    def expert(self) -> Attempt:
        """Work out an expression."""
        state = self.state
        expression = find_expression(state.numbers, state.target, state.highest)
        assert expression is not None, "the target was made from the numbers"
        return Attempt(expression)

    def _numbers(self) -> str:
        return ", ".join(map(str, self.state.numbers))


def _random_result(numbers: list[int], highest: int, rng: Generator) -> int:
    """Combine random pairs of numbers at random until one is left."""
    results = [(number, str(number)) for number in numbers]
    for first, second, step in rng.random((len(numbers) - 1, 3)).tolist():
        one = results.pop(int(first * len(results)))
        other = results.pop(int(second * len(results)))
        steps = combine(one, other, highest)
        results.append(steps[int(step * len(steps))])
    return results[0][0]
