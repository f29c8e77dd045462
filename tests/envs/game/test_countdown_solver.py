"""What can be made is found, as an expression that makes it; what cannot be made is not."""

import itertools

import numpy as np
import pytest

from gemenv.envs.game.arithmetic import evaluate
from gemenv.envs.game.countdown_solver import combine, find_expression


def _all_results(numbers: tuple[int, ...], highest: int) -> set[int]:
    """Return everything that some of the numbers make, by combining every pair in every order."""
    results = set(numbers)
    for i, j in itertools.combinations(range(len(numbers)), 2):
        rest = [number for k, number in enumerate(numbers) if k not in (i, j)]
        for value, _ in combine((numbers[i], ""), (numbers[j], ""), highest):
            results |= _all_results((*rest, value), highest)
    return results


def test_one_step_gives_sum_difference_product_and_quotient() -> None:
    assert combine((6, "6"), (3, "3"), 100) == [
        (9, "(6 + 3)"),
        (3, "(6 - 3)"),
        (18, "(6 * 3)"),
        (2, "(6 / 3)"),
    ]


def test_a_step_stays_whole_positive_and_within_the_bound_and_is_never_idle() -> None:
    assert combine((5, "5"), (3, "3"), 10) == [(8, "(5 + 3)"), (2, "(5 - 3)")]
    assert combine((4, "4"), (4, "4"), 7) == [(1, "(4 / 4)")]
    assert combine((1, "1"), (4, "4"), 4) == [(3, "(4 - 1)")]


@pytest.mark.parametrize("numbers", [(1, 5, 6, 7), (4, 4, 10, 9), (6, 50, 54, 98)])
def test_the_search_finds_exactly_what_can_be_made(numbers: tuple[int, ...]) -> None:
    reachable = _all_results(numbers, highest=1000)
    for target in range(1, 1001):
        text = find_expression(numbers, target, highest=1000)
        assert (text is not None) == (target in reachable)
        if text is not None:
            value, used = evaluate(text)
            assert value == target
            assert not set(used) - set(numbers)
            assert all(used.count(number) <= numbers.count(number) for number in used)


def test_six_numbers_are_searched_through_all_shapes_of_expressions() -> None:
    rng = np.random.default_rng(0)
    numbers = [2, 3, 5, 7, 11, 13]
    for _ in range(100):
        results = [(number, str(number)) for number in rng.permutation(numbers).tolist()]
        while len(results) > 1:
            one, other = (results.pop(int(rng.integers(len(results)))) for _ in range(2))
            steps = combine(one, other, highest=500)
            results.append(steps[int(rng.integers(len(steps)))])
        text = find_expression(numbers, results[0][0], highest=500)
        assert text is not None
        assert evaluate(text).value == results[0][0]


def test_a_given_number_is_its_own_expression() -> None:
    assert find_expression([4, 8], 8, highest=80) == "8"
