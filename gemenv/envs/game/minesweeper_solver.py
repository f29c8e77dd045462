"""How probable a mine is under each closed cell, computed exactly from the open numbers."""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from math import comb
from typing import NamedTuple

_BITS = 5  # four for the mines that a number still misses (0 to 8), one as a guard above them
_MISSING, _GUARD = 0b01111, 0b10000


class _Group(NamedTuple):
    """Closed cells that touch the same numbers: only how many mines they hold matters.

    A state is one integer: five bits for each number and above them the mines left to place. So
    a mine here is one subtraction, and a number that gets a mine too many loses its guard bit.

    Attributes:
        cells: the closed cells.
        mine: what one mine in the group takes from a state.
        closing: bits that must be 0 afterwards: the numbers that no later group touches.
    """

    cells: list[int]
    mine: int
    closing: int

    def fillings(self, state: int, guards: int) -> Iterator[tuple[int, int, int]]:
        """Yield the number of mines, the ways to lay them, and the state that they lead to."""
        for num_mines in range(len(self.cells) + 1):
            if state < 0 or state & guards != guards:
                return
            if not state & self.closing:
                yield num_mines, comb(len(self.cells), num_mines), state
            state -= self.mine


def mine_probabilities(
    shown: Sequence[int], neighbors: Sequence[Sequence[int]], num_mines: int
) -> dict[int, float]:
    """Return how probable a mine is under each closed cell, all placements being equally likely.

    Args:
        shown: for each cell the number that it shows, or -1 if it is closed.
        neighbors: for each cell the cells that touch it, at most 8.
        num_mines: how many mines there are in all.

    Returns:
        Closed cell to probability, in reading order; empty if no placement fits the numbers.

    Example:
        >>> mine_probabilities([1, -1, -1], [(1,), (0, 2), (1,)], num_mines=1)
        {1: 1.0, 2: 0.0}

    Source: ours; the forward-backward algorithm over groups of equivalent cells.
    """
    start, guards, groups = _encoded(shown, neighbors, num_mines)
    ways_to = [{start: 1}]  # before each group: state -> number of placements that lead to it
    for group in groups:
        reached = defaultdict[int, int](int)
        for state, ways in ways_to[-1].items():
            for _, choices, then in group.fillings(state, guards):
                reached[then] += ways * choices
        ways_to.append(reached)
    total = ways_to[-1].get(guards, 0)  # no mine left to place, and no number misses one
    if not total:
        return {}
    probability = dict[int, float]()
    ways_from = {guards: 1}  # after each group: state -> number of ways to complete it
    for group, reached in zip(reversed(groups), reversed(ways_to[:-1]), strict=True):
        mines, earlier = 0, defaultdict[int, int](int)
        for state, ways in reached.items():
            for num_here, choices, then in group.fillings(state, guards):
                completions = choices * ways_from.get(then, 0)
                earlier[state] += completions
                mines += num_here * ways * completions
        ways_from = earlier
        probability |= dict.fromkeys(group.cells, mines / (total * len(group.cells)))
    return dict(sorted(probability.items()))


def _encoded(
    shown: Sequence[int], neighbors: Sequence[Sequence[int]], num_mines: int
) -> tuple[int, int, list[_Group]]:
    """Return the first state, the guard bits of every state, and the groups in a good order."""
    cells_by_numbers = defaultdict[tuple[int, ...], list[int]](list)
    for cell, number in enumerate(shown):
        if number < 0:
            cells_by_numbers[tuple(n for n in neighbors[cell] if shown[n] >= 0)].append(cell)
    # Neighbors follow each other, so that few numbers are open at a time; free cells come last.
    ordered = sorted(cells_by_numbers.items(), key=lambda item: item[0] or (len(shown),))
    last = {number: group for group, (touched, _) in enumerate(ordered) for number in touched}

    shift = {number: _BITS * index for index, number in enumerate(last)}
    guards = sum(_GUARD << bits for bits in shift.values())
    left = 1 << _BITS * len(shift)
    start = num_mines * left + guards + sum(shown[number] << shift[number] for number in shift)
    groups = [
        _Group(
            cells,
            mine=left + sum(1 << shift[number] for number in touched),
            closing=sum(_MISSING << shift[n] for n in touched if last[n] == group),
        )
        for group, (touched, cells) in enumerate(ordered)
    ]
    return start, guards, groups
