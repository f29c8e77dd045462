"""Which rollouts start, and which are trained on."""

import pytest
from numpy.testing import assert_allclose

from gemenv.errors import ContractError
from gemenv.train.admission import (
    is_in_mixed_group,
    row_staleness,
    staleness_capacity,
    unsolved_first_probs,
)


def test_a_synchronous_run_starts_one_batch_per_version() -> None:
    def capacity(version: int, num_started: int) -> int:
        return staleness_capacity(
            max_staleness=0, version=version, batch_size=8, num_started=num_started
        )

    assert [capacity(0, 0), capacity(0, 8), capacity(1, 8)] == [8, 0, 8]


def test_a_row_is_as_stale_as_its_oldest_token() -> None:
    assert row_staleness([[4, 2, 9], [9]], current=9).tolist() == [7, 0]


def test_groups_that_all_win_or_all_lose_are_left_out() -> None:
    got = is_in_mixed_group([1, 0, 1, 0, 0, 1], [0, 0, 1, 2, 2, 1])
    assert got.tolist() == [True, True, False, False, False, False]


def test_the_band_of_success_rates_can_be_narrowed() -> None:
    assert not is_in_mixed_group([1, 1, 1, 0], [0, 0, 0, 0], high=0.7).any()
    assert is_in_mixed_group([1, 1, 1, 0], [0, 0, 0, 0], high=0.8).all()


def test_outcomes_must_belong_to_groups() -> None:
    with pytest.raises(ContractError, match="group_N"):
        is_in_mixed_group([1, 0], [0])


def test_failed_tasks_come_first_and_solved_ones_are_not_drawn() -> None:
    assert_allclose(unsolved_first_probs([1.0, 0.75, 0.25]), [0.0, 0.25, 0.75])
    assert_allclose(unsolved_first_probs([1.0, 1.0]), [0.5, 0.5])
