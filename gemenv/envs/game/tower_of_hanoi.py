"""Move a tower of disks from peg to peg, never a larger disk onto a smaller one."""

from dataclasses import dataclass
from typing import Literal, Unpack, cast

from numpy.random import Generator

from gemenv.core.action import ActionForm
from gemenv.core.notation import boxed
from gemenv.envs.game.turn_game import Outcome, Rules, TurnGame
from gemenv.errors import ArgumentError

Peg = Literal["A", "B", "C"]

_PEGS: tuple[Peg, ...] = ("A", "B", "C")
_LEAST_DISKS, _MOST_DISKS = 3, 8


@dataclass(frozen=True)
class MoveDisk:
    """Move the top disk of the peg `source` to the top of the peg `target`."""

    source: Peg
    target: Peg


@dataclass(slots=True)
class State:
    """The peg of each disk, the smallest first, and the peg on which they all shall stand."""

    pegs: str
    goal: Peg


class TowerofHanoi(TurnGame[State]):
    """Bring all disks onto one peg, one at a time, never a larger disk onto a smaller one.

    All disks start on peg A and shall go to peg C: one instance for each number of disks. With
    `is_random` they start on any pegs and go to any: 702 instances of 3 to 5 disks.

    Args:
        num_disks: from 3 to 8.
        max_turns: the turn limit; a tower needs up to `2**num_disks - 1` moves.
        is_random: draw the number of disks, from 3 to `num_disks`, the start and the goal for each
            episode; a limit of `2**disks - 1` and the same spare turns as with `num_disks`.
        **rules: see `Rules`.

    Source: the game of GEM (arXiv:2510.01051), which took a move from A to A as a legal one.
    """

    def __init__(
        self,
        *,
        num_disks: int = 3,
        max_turns: int = 10,
        is_random: bool = False,
        **rules: Unpack[Rules],
    ) -> None:
        if not _LEAST_DISKS <= num_disks <= _MOST_DISKS or max_turns < 2**num_disks - 1:
            raise ArgumentError(
                problem="This tower cannot be moved.",
                expected="num_disks from 3 to 8, and max_turns >= 2**num_disks - 1",
                got={"num_disks": num_disks, "max_turns": max_turns},
                fix="change num_disks, or raise max_turns",
            )
        form = ActionForm(MoveDisk, boxed("{source} {target}"))
        super().__init__(form, max_turns=max_turns, **rules)
        self.num_disks = num_disks
        self.is_random = is_random
        self.spare_turns = max_turns - (2**num_disks - 1)

    def deal(self, rng: Generator) -> State:
        """Set up the disks; where the start is random, the largest one is not on the goal."""
        if not self.is_random:
            return State("A" * self.num_disks, "C")
        num_disks = int(rng.integers(_LEAST_DISKS, self.num_disks + 1))
        largest = int(rng.integers(3))
        goal = (largest + int(rng.integers(1, 3))) % 3
        smaller = [_PEGS[int(rng.integers(3))] for _ in range(num_disks - 1)]
        return State("".join(smaller) + _PEGS[largest], _PEGS[goal])

    def turn_limit(self) -> int:
        """Return what the tallest tower of these disks needs, and the spare turns."""
        return 2 ** len(self.state.pegs) - 1 + self.spare_turns

    def rules(self) -> str:
        """Tell the goal, the law of the disks, the limit and how to answer."""
        count = len(self.state.pegs)
        return (
            f"Tower of Hanoi: there are pegs A, B and C, and disks 1 (smallest) to {count} "
            f"(largest). Bring all disks to peg {self.state.goal} in at most {self.turn_limit()} "
            "moves. A move takes the top disk of a peg and puts it on an empty peg or on a larger "
            "disk. Answer with the peg to take from and the peg to put on, such as \\boxed{A C}. "
            "Each peg's disks are listed from bottom to top."
        )

    def view(self) -> str:
        """List the disks of each peg from bottom to top."""
        pegs = self.state.pegs
        lines: dict[str, str] = dict.fromkeys(_PEGS, "")
        for disk in range(len(pegs), 0, -1):
            lines[pegs[disk - 1]] += f" {disk}"
        return f"A:{lines['A']}\nB:{lines['B']}\nC:{lines['C']}"

    def play(self, move: MoveDisk) -> Outcome:
        """Move a disk, if it may lie there."""
        state, (source, target) = self.state, (move.source, move.target)
        disk, below = state.pegs.find(source), state.pegs.find(target)
        if source == target:
            return Outcome.invalid("A disk must go to another peg.")
        if disk < 0:
            return Outcome.invalid(f"Peg {source} is empty.")
        if 0 <= below < disk:
            return Outcome.invalid(f"Disk {disk + 1} is larger than disk {below + 1}.")
        state.pegs = state.pegs[:disk] + target + state.pegs[disk + 1 :]
        if state.pegs == state.goal * len(state.pegs):
            return Outcome.won(f"Solved: all disks are on peg {target}.")
        return Outcome.go(f"Disk {disk + 1} is now on peg {target}.")

    def progress(self) -> float:
        """Count the largest disks in place: what a small tower moved to and fro does not earn."""
        pegs, goal = self.state.pegs, self.state.goal
        return 1 - len(pegs.rstrip(goal)) / len(pegs)

    def legal(self) -> list[MoveDisk]:
        """Return the two or three moves that are allowed."""
        tops = {peg: self.state.pegs.find(peg) for peg in _PEGS}
        return [
            MoveDisk(source, target)
            for source in _PEGS
            for target in _PEGS
            if tops[source] >= 0 and not 0 <= tops[target] <= tops[source]
        ]

    def oracle(self) -> MoveDisk:
        """Make the next move of the shortest solution from wherever the disks are.

        The largest disk that is out of place has to go to the goal, and for that all smaller ones
        to the third peg: the same task again, with the next smaller disk, down to one that is free.
        """
        goal: Peg = self.state.goal
        move = None
        for peg in reversed(self.state.pegs):
            if peg != goal:
                move = MoveDisk(cast("Peg", peg), goal)
                goal = next(third for third in _PEGS if third not in (peg, goal))
        assert move is not None, "the game ends when all disks are in place"
        return move

    def expert(self) -> MoveDisk:
        """Do as the oracle does: nothing is hidden."""
        return self.oracle()
