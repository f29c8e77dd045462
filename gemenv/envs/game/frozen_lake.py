"""Walk over a frozen lake without falling into a hole; the ice may be slippery."""

import functools
import math
from dataclasses import dataclass
from typing import Literal, Unpack

import numpy as np
import numpy.typing as npt
from numpy.random import Generator

from gemenv.core.action import ActionForm
from gemenv.core.notation import boxed
from gemenv.envs.game.turn_game import Outcome, Rules, TurnGame, hidden
from gemenv.errors import ArgumentError

Direction = Literal["up", "right", "down", "left"]

_CLOCKWISE: tuple[Direction, ...] = ("up", "right", "down", "left")
_LEAST_SIZE, _MOST_SIZE = 4, 16


@dataclass(frozen=True)
class Walk:
    """Take one step over the ice."""

    direction: Direction


@dataclass(slots=True)
class State:
    """The lake row by row, the player's cell in it, and where the ice will lead next.

    `slip` is by how many quarter turns to the right the next step goes astray: -1, 0 or 1.
    """

    lake: str
    size: int
    player: int
    slip: int = hidden()


class FrozenLake(TurnGame[State]):
    """Walk from the start to the goal; a hole ends the game.

    Start, goal and holes are drawn so that the goal is at least `size` steps away, and that a path
    leads there. A step off a slippery lake stays where it is; elsewhere it is invalid.

    Args:
        size: rows and columns, from 4 to 16.
        num_holes: up to a third of the cells.
        max_turns: the turn limit, at least `2 * size`; no goal is farther away.
        is_slippery: each step goes where it was meant to, or turned to the left or right of that,
            with a chance of 1/3 each.
        is_random: draw the size, from 4 to `size`, for each episode; the number of holes keeps its
            share of the lake, and the limit its ratio to the size.
        **rules: see `Rules`.

    Source: FrozenLake of Gymnasium, whose chances of slipping these are.
    """

    def __init__(
        self,
        *,
        size: int = 4,
        num_holes: int = 4,
        max_turns: int = 20,
        is_slippery: bool = False,
        is_random: bool = False,
        **rules: Unpack[Rules],
    ) -> None:
        if not (
            _LEAST_SIZE <= size <= _MOST_SIZE
            and 0 <= 3 * num_holes <= size * size
            and max_turns >= 2 * size
        ):
            raise ArgumentError(
                problem="There is no such lake.",
                expected="size from 4 to 16, num_holes <= size * size / 3, max_turns >= 2 * size",
                got={"size": size, "num_holes": num_holes, "max_turns": max_turns},
                fix="change the size, or the number that is too small or too large for it",
            )
        super().__init__(ActionForm(Walk, boxed("{direction}")), max_turns=max_turns, **rules)
        self.size, self.num_holes, self.num_turns = size, num_holes, max_turns
        self.is_slippery, self.is_random = is_slippery, is_random

    def deal(self, rng: Generator) -> State:
        """Draw lakes until the goal is far enough from the start, and can be reached in time."""
        size = int(rng.integers(_LEAST_SIZE, self.size + 1)) if self.is_random else self.size
        num_holes = self.num_holes * size**2 // self.size**2
        while True:
            start, goal, *holes = rng.permutation(size**2)[: num_holes + 2].tolist()
            if abs(start // size - goal // size) + abs(start % size - goal % size) < size:
                continue
            cells = ["."] * size**2
            for hole in holes:
                cells[hole] = "O"
            cells[goal] = "G"
            lake = "".join(cells)
            if _steps_to_goal(lake, size)[start] <= self._limit(size):
                return State(lake, size, start, self._draw_slip(rng))

    def turn_limit(self) -> int:
        """Return the limit of this lake."""
        return self._limit(self.state.size)

    def rules(self) -> str:
        """Tell the goal, the ice, the limit and how to answer."""
        ice = (
            "The ice is slippery: a step goes where you want with a chance of 1/3, and turns to "
            "the left or to the right of that with 1/3 each; at the edge you stay where you are. "
            if self.is_slippery
            else ""
        )
        return (
            f"Cross the frozen lake: walk from your place P to the goal G in at most "
            f"{self.turn_limit()} steps. Ice is shown as ., a hole as O; stepping into a hole ends "
            f"the game. {ice}Answer with one step, which is up, down, left or right, such as "
            "\\boxed{up}."
        )

    def view(self) -> str:
        """Show the lake and the player, row by row."""
        state = self.state
        cells = list(state.lake)
        cells[state.player] = "P"
        text = " ".join(cells)
        width = 2 * state.size
        return "\n".join([text[at : at + width - 1] for at in range(0, len(text), width)])

    def play(self, move: Walk) -> Outcome:
        """Take the step, or slip."""
        state = self.state
        wanted = _CLOCKWISE.index(move.direction)
        way = (wanted + state.slip) % 4
        cell = _neighbours(state.size)[state.player][way]
        if cell == state.player and not self.is_slippery:
            return Outcome.invalid("That is off the lake.")
        told = f"You {'moved' if way == wanted else 'slipped'} {_CLOCKWISE[way]}."
        if cell == state.player:
            told = "You stayed at the edge."
        state.player = cell
        state.slip = self._draw_slip(self.np_random)
        match state.lake[cell]:
            case "G":
                return Outcome.won(f"{told} You reached the goal.")
            case "O":
                return Outcome.lost(f"{told} You fell into a hole.")
            case _:
                return Outcome.go(told)

    def legal(self) -> list[Walk]:
        """Return the steps that stay on the lake, or all of them where it is slippery."""
        around = _neighbours(self.state.size)[self.state.player]
        return [
            Walk(direction)
            for direction, cell in zip(_CLOCKWISE, around, strict=True)
            if self.is_slippery or cell != self.state.player
        ]

    def oracle(self) -> Walk:
        """Step along a shortest path, knowing where the ice will turn."""
        return Walk(_CLOCKWISE[(self._shortest_way() - self.state.slip) % 4])

    def expert(self) -> Walk:
        """Step along a shortest path; on slippery ice, choose the greatest chance to arrive."""
        return Walk(_CLOCKWISE[self._likeliest_way() if self.is_slippery else self._shortest_way()])

    def _shortest_way(self) -> int:
        state = self.state
        steps = _steps_to_goal(state.lake, state.size)
        around = _neighbours(state.size)[state.player]
        return min(range(4), key=lambda way: steps[around[way]])

    def _likeliest_way(self) -> int:
        state, limit = self.state, self.turn_limit()
        chances = _chances(state.lake, state.size, limit)[limit - self.turn - 1]
        around = chances[list(_neighbours(state.size)[state.player])]
        return int(_slipped(around).argmax())

    def _limit(self, size: int) -> int:
        return self.num_turns * size // self.size

    def _draw_slip(self, rng: Generator) -> int:
        return int(rng.integers(-1, 2)) if self.is_slippery else 0


@functools.lru_cache(maxsize=_MOST_SIZE)
def _neighbours(size: int) -> list[tuple[int, ...]]:
    """Return each cell's neighbours, clockwise from above; the cell itself where there is none."""
    return [
        (
            cell - size if cell >= size else cell,
            cell + 1 if (cell + 1) % size else cell,
            cell + size if cell < size * (size - 1) else cell,
            cell - 1 if cell % size else cell,
        )
        for cell in range(size**2)
    ]


def _steps_to_goal(lake: str, size: int) -> list[float]:
    """Count each cell's steps to the goal around the holes; infinite where no way leads there."""
    neighbours = _neighbours(size)
    steps = [math.inf] * len(lake)
    reached = [lake.index("G")]
    steps[reached[0]] = 0
    for cell in reached:  # grows while it is read: breadth first
        for beside in neighbours[cell]:
            if steps[beside] == math.inf and lake[beside] != "O":
                steps[beside] = steps[cell] + 1
                reached.append(beside)
    return steps


@functools.lru_cache(maxsize=16)
def _chances(lake: str, size: int, max_turns: int) -> npt.NDArray[np.float64]:
    """Return the chance of reaching the goal under best play, by turns left and cell.

    Source: value iteration over a finite horizon (Bellman 1957).
    """
    neighbours = np.array(_neighbours(size))
    chances = np.zeros((max_turns + 1, len(lake)))
    ice = np.array([cell == "." for cell in lake])
    chances[:, lake.index("G")] = 1.0
    for left in range(1, max_turns + 1):
        best = _slipped(chances[left - 1][neighbours]).max(axis=1)
        chances[left, ice] = best[ice]
    return chances


def _slipped(around: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    """Average each direction (last axis, clockwise) with the ones to its left and right."""
    return (around + np.roll(around, 1, axis=-1) + np.roll(around, -1, axis=-1)) / 3
