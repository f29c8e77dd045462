"""Push boxes onto goals; they cannot be pulled."""

import random
from dataclasses import dataclass
from typing import Unpack

from numpy.random import Generator

from gemenv.core.action import ActionForm
from gemenv.core.notation import boxed
from gemenv.envs.game.sokoban_level import (
    GOAL,
    OPPOSITE,
    WALL,
    Direction,
    draw_level,
    offsets,
)
from gemenv.envs.game.sokoban_solver import first_move
from gemenv.envs.game.turn_game import Outcome, Rules, TurnGame, hidden
from gemenv.errors import ArgumentError

_LEAST_BOXES, _MOST_BOXES, _MOST_SIZE = 2, 4, 10


@dataclass(frozen=True)
class Move:
    """Step in this direction, pushing the box that stands there."""

    direction: Direction


@dataclass(slots=True)
class State:
    """The level (see `sokoban_level`) as it stands, its turn limit, and moves that solve it.

    `solution` is empty once a push has left the known way.
    """

    ground: str
    size: int
    max_turns: int
    boxes: frozenset[int]
    player: int
    solution: tuple[Direction, ...] = hidden()


class Sokoban(TurnGame[State]):
    """Push every box onto a goal.

    Levels are played backwards from the end, so a solution of at most 3/4 of the limit is known. No
    box starts on a goal; on average they start two cells or more from the nearest. A box that is
    stuck does not end the game: the player has to see it.

    Args:
        size: rows and columns with the outer walls, from `num_boxes + 4` to 10.
        num_boxes: from 2 to 4.
        max_turns: the turn limit, at least 10 for each box.
        is_random: draw the number of boxes, from 2 to `num_boxes`, for each episode; the level has
            a row and a column fewer for each box fewer, and the limit is in proportion to them.
        **rules: see `Rules`.

    Source: Sokoban (H. Imabayashi, 1982).
    """

    def __init__(
        self,
        *,
        size: int = 6,
        num_boxes: int = 2,
        max_turns: int = 20,
        is_random: bool = False,
        **rules: Unpack[Rules],
    ) -> None:
        if not (
            _LEAST_BOXES <= num_boxes <= _MOST_BOXES
            and num_boxes + 4 <= size <= _MOST_SIZE
            and max_turns >= 10 * num_boxes
        ):
            raise ArgumentError(
                problem="There is no such level.",
                expected="num_boxes from 2 to 4, size from num_boxes + 4 to 10, and 10 turns a box",
                got={"size": size, "num_boxes": num_boxes, "max_turns": max_turns},
                fix="change the number of boxes, or make room and time for them",
            )
        super().__init__(ActionForm(Move, boxed("{direction}")), max_turns=max_turns, **rules)
        self.size, self.num_boxes, self.num_turns = size, num_boxes, max_turns
        self.is_random = is_random

    def deal(self, rng: Generator) -> State:
        """Draw a level."""
        num_boxes = self.num_boxes
        if self.is_random:
            num_boxes = int(rng.integers(_LEAST_BOXES, num_boxes + 1))
        size = self.size - (self.num_boxes - num_boxes)
        max_turns = self.num_turns * num_boxes // self.num_boxes
        dice = random.Random(int(rng.integers(2**63)))  # draws one number ten times as fast
        ground, boxes, player, solution = draw_level(dice, size, num_boxes, max_turns * 3 // 4)
        return State(ground, size, max_turns, boxes, player, solution)

    def turn_limit(self) -> int:
        """Return the limit of this level."""
        return self.state.max_turns

    def rules(self) -> str:
        """Tell the goal, what the map shows, the limit and how to answer."""
        return (
            f"Sokoban: push every box onto a goal in at most {self.turn_limit()} moves. The map "
            "shows walls #, floor -, goals ., boxes $, a box on a goal *, you @, and you on a goal "
            "+. Stepping against a box pushes it one cell on, if that cell is free; boxes cannot "
            "be pulled, or pushed two at a time. Answer with one step, which is up, down, left or "
            "right, such as \\boxed{up}."
        )

    def view(self) -> str:
        """Show the map."""
        state = self.state
        cells = list(state.ground)
        for box in state.boxes:
            cells[box] = "*" if cells[box] == GOAL else "$"
        cells[state.player] = "+" if cells[state.player] == GOAL else "@"
        return "".join(cells)

    def play(self, move: Move) -> Outcome:
        """Step or push, if nothing is in the way."""
        state, offset = self.state, offsets(self.state.size)[move.direction]
        ahead, beyond = state.player + offset, state.player + 2 * offset
        if state.ground[ahead] == WALL:
            return Outcome.invalid("A wall is in the way.")
        is_push = ahead in state.boxes
        if is_push:
            if state.ground[beyond] == WALL or beyond in state.boxes:
                return Outcome.invalid("That box cannot move: the cell behind it is not free.")
            state.boxes = state.boxes - {ahead} | {beyond}
        state.player = ahead
        self._follow(move.direction, is_push)
        if self._num_placed() == len(state.boxes):
            return Outcome.won("Solved: every box is on a goal.")
        return Outcome.go(f"You {'pushed a box' if is_push else 'moved'} {move.direction}.")

    def progress(self) -> float:
        """Count the boxes on goals after the first: one gets there by chance too often."""
        return max(0, self._num_placed() - 1) / (len(self.state.boxes) - 1)

    def legal(self) -> list[Move]:
        """Return the steps and pushes that nothing hinders."""
        state = self.state
        blocked = {cell for cell, mark in enumerate(state.ground) if mark == WALL} | state.boxes
        return [
            Move(direction)
            for direction, offset in offsets(state.size).items()
            if (ahead := state.player + offset) not in blocked
            or (ahead in state.boxes and ahead + offset not in blocked)
        ]

    def oracle(self) -> Move:
        """Follow the known solution; after a push that left it, search for another."""
        return Move(self.state.solution[0]) if self.state.solution else self.expert()

    def expert(self) -> Move:
        """Search for a short solution; make any move where there is none."""
        state = self.state
        direction = first_move(state.ground, state.size, state.boxes, state.player)
        return Move(direction) if direction else self.legal()[0]

    def _num_placed(self) -> int:
        return sum(self.state.ground[box] == GOAL for box in self.state.boxes)

    def _follow(self, direction: Direction, is_push: bool) -> None:
        """Keep the known solution: strike out a move that it began with, undo a step beside it."""
        state = self.state
        if state.solution[:1] == (direction,):
            state.solution = state.solution[1:]
        elif is_push:
            state.solution = ()
        elif state.solution:
            state.solution = (OPPOSITE[direction], *state.solution)
