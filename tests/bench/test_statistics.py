import numpy as np
import pytest

from gemenv.bench.statistics import Estimate, estimate_ratio
from gemenv.errors import ContractError


def test_the_mean_is_total_over_count():
    estimate = estimate_ratio([3.0, 0.0, 6.0], [2, 1, 3])
    assert estimate is not None
    assert estimate.mean == 1.5
    assert estimate.low <= 1.5 <= estimate.high


def test_the_interval_of_a_mean_matches_the_normal_one():
    """For 400 draws of a normal the 95 % interval is the mean plus or minus 1.96 / 20."""
    values = np.random.default_rng(0).normal(size=400)
    estimate = estimate_ratio(values, [1] * 400)
    assert estimate is not None
    half_width = 1.96 * values.std() / 20
    assert estimate.low == pytest.approx(values.mean() - half_width, abs=0.1 * half_width)
    assert estimate.high == pytest.approx(values.mean() + half_width, abs=0.1 * half_width)


@pytest.mark.parametrize("spread_within_seed", [0.0, 1.0])
def test_the_interval_holds_the_truth_about_95_times_of_100(spread_within_seed: float):
    """200 experiments of 60 seeds with 4 episodes each; episodes of a seed are alike."""
    rng = np.random.default_rng(1)
    num_held = 0
    for _ in range(200):
        of_seed = rng.normal(size=(60, 1))
        episodes = of_seed + spread_within_seed * rng.normal(size=(60, 4))
        estimate = estimate_ratio(episodes.sum(axis=1), [4] * 60)
        assert estimate is not None
        num_held += estimate.low <= 0.0 <= estimate.high
    assert 180 <= num_held <= 199  # 190 are due; counting episodes singly would hold about 130


def test_seeds_without_a_count_say_nothing():
    assert estimate_ratio([1.0, 0.0, 0.0], [1, 0, 1]) == estimate_ratio([1.0, 0.0], [1, 1])


def test_nothing_to_divide_by_is_no_estimate():
    assert estimate_ratio([], []) is None
    assert estimate_ratio([0.0, 0.0], [0, 0]) is None


def test_seeds_that_agree_leave_no_width():
    assert estimate_ratio([1.0] * 9, [1] * 9) == Estimate(1.0, 1.0, 1.0)


def test_the_resampling_follows_from_its_seed():
    totals = np.random.default_rng(2).normal(size=30)
    assert estimate_ratio(totals, [1] * 30) == estimate_ratio(totals, [1] * 30)
    assert estimate_ratio(totals, [1] * 30) != estimate_ratio(totals, [1] * 30, seed=1)


def test_lengths_that_differ_are_refused():
    with pytest.raises(ContractError, match="one count for each total"):
        estimate_ratio([1.0], [1, 1])
