"""How to make a number from a few others with `+ - * /`, each used at most once.

Every step on the way is a whole number from 1 to a bound, as on paper.
"""

from collections.abc import Iterator, Sequence
from itertools import product

_MAX_TABLED = 3  # so many numbers have all their results listed; for more, work back from the goal

Result = tuple[int, str]
"""A number, and an expression for it: in parentheses, unless it is one of the given numbers."""


def combine(one: Result, other: Result, highest: int) -> list[Result]:
    """Return what two results make in one step, up to a highest number.

    Multiplying and dividing by 1 are left out. Something is always left.

    Example:
        >>> [value for value, _ in combine((2, "2"), (6, "6"), highest=10)]
        [8, 4, 3]
    """
    (high, left), (low, right) = (one, other) if one[0] >= other[0] else (other, one)
    results: list[Result] = []
    if high + low <= highest:
        results.append((high + low, f"({left} + {right})"))
    if high > low:
        results.append((high - low, f"({left} - {right})"))
    if low > 1 and high * low <= highest:
        results.append((high * low, f"({left} * {right})"))
    if low > 1 and high % low == 0:
        results.append((high // low, f"({left} / {right})"))
    return results


def find_expression(numbers: Sequence[int], target: int, highest: int) -> str | None:
    """Make a target from numbers, each used at most once; None if it cannot be.

    Args:
        numbers: two to seven, each 1 or more.
        target: what to make.
        highest: the bound on every step; no other expression is looked for.

    Example:
        >>> find_expression([2, 3, 7], 19, highest=100)
        '(7 * 3) - 2'

    Source: ours; tables of what up to three numbers make, and a search back from the target.
    """
    text = _Search(numbers, highest).find((1 << len(numbers)) - 1, target)
    return text[1:-1] if text and text.startswith("(") else text


class _Search:
    """What subsets of the numbers can make; a subset is a bit mask."""

    def __init__(self, numbers: Sequence[int], highest: int) -> None:
        self.highest = highest
        self.tables: dict[int, dict[int, str]] = {}  # subset -> what some of it can make -> how
        for index, number in enumerate(numbers):
            self.tables[1 << index] = {number: str(number)}
        for subset in sorted(range(1 << len(numbers)), key=int.bit_count):
            if 1 < subset.bit_count() <= _MAX_TABLED:
                self.tables[subset] = self._table(subset)

    def _table(self, subset: int) -> dict[int, str]:
        table: dict[int, str] = {}
        for part in _parts(subset):
            rest = subset ^ part
            table |= self.tables[part]
            if part > rest:  # either order gives the same
                for one, other in product(self.tables[part].items(), self.tables[rest].items()):
                    table |= combine(one, other, self.highest)
        return table

    def find(self, subset: int, goal: int) -> str | None:
        """Return an expression for the goal."""
        if subset in self.tables:
            return self.tables[subset].get(goal)
        for part in _parts(subset):
            if part.bit_count() <= subset.bit_count() // 2:
                for value, text in self.tables[part].items():
                    for needed, form in _last_steps(goal, value, self.highest):
                        if rest := self.find(subset ^ part, needed):
                            return form.format(rest=rest, part=text)
        return None


def _parts(subset: int) -> Iterator[int]:
    """Yield every subset of a subset but itself and the empty one."""
    part = (subset - 1) & subset
    while part:
        yield part
        part = (part - 1) & subset


def _last_steps(goal: int, value: int, highest: int) -> Iterator[tuple[int, str]]:
    """Yield what the rest must make, and the step that turns it and `value` into the goal."""
    if goal > value:
        yield goal - value, "({rest} + {part})"
    if value > goal:
        yield value - goal, "({part} - {rest})"
    if goal + value <= highest:
        yield goal + value, "({rest} - {part})"
    if goal % value == 0:
        yield goal // value, "({rest} * {part})"
    if value % goal == 0:
        yield value // goal, "({part} / {rest})"
    if goal * value <= highest:
        yield goal * value, "({rest} / {part})"
