"""Credit beyond the return."""

import math

import numpy as np
import pytest
from numpy.testing import assert_allclose

from gemenv.errors import ConfigError
from gemenv.train.outcome_credit import (
    correctness_advantage,
    ema_baseline,
    filtered_group_advantage,
    semantic_entropy,
    uncertainty_scale,
)


def test_only_failures_teach_under_negative_sample_reinforcement() -> None:
    assert correctness_advantage([1, 0], positive=0.0, negative=1.0).tolist() == [0.0, -1.0]


def test_the_episodes_that_are_filtered_out_get_nothing_and_shift_nothing() -> None:
    advantage_N = filtered_group_advantage(
        [1.0, 0.0, 100.0, 2.0], [0, 0, 0, 1], [-5, -6, -90, -1], num_kept=2, ddof=0, eps=0.0
    )
    assert_allclose(advantage_N, [1.0, -1.0, 0.0, 0.0])


def test_nothing_can_be_kept_of_nothing() -> None:
    with pytest.raises(ConfigError, match="num_kept"):
        filtered_group_advantage([1.0], [0], [0.0], num_kept=0)


def test_each_role_has_its_own_running_mean() -> None:
    before = {"first": 1.0}
    advantage_N, after = ema_baseline([2.0, -1.0, 2.0], ["first", "second", "first"], before)
    assert_allclose(advantage_N, [1.0, -1.0, 2.0 - 1.05])
    assert after == pytest.approx({"first": 0.95 * 1.05 + 0.1, "second": -0.05})
    assert before == {"first": 1.0}


def test_answers_that_all_differ_have_the_largest_entropy() -> None:
    for estimator in ("mc", "plugin"):
        assert semantic_entropy(range(8), estimator=estimator) == pytest.approx(math.log(8))


def test_the_estimators_differ_where_clusters_are_uneven() -> None:
    clusters = [0, 0, 0, 1]
    mc, plugin = (semantic_entropy(clusters, estimator=e) for e in ("mc", "plugin"))
    assert mc == pytest.approx(-(math.log(0.75) + math.log(0.25)) / 2)
    assert plugin == pytest.approx(-(0.75 * math.log(0.75) + 0.25 * math.log(0.25)))


def test_disagreement_damps_and_a_single_answer_does_not() -> None:
    full = float(np.log(4))
    assert uncertainty_scale(full, group_size=4, alpha=0.5, shape="linear") == pytest.approx(0.5)
    assert uncertainty_scale(full, group_size=4, alpha=0.5, shape="exp") == pytest.approx(
        math.exp(-0.5)
    )
    assert uncertainty_scale(0.0, group_size=1, shape="exp") == 1.0


def test_unknown_estimators_and_shapes_are_refused() -> None:
    with pytest.raises(ConfigError, match="estimator"):
        semantic_entropy([0], estimator="exact")  # pyright: ignore[reportArgumentType]
    with pytest.raises(ConfigError, match="shape"):
        uncertainty_scale(0.0, group_size=2, shape="focal")  # pyright: ignore[reportArgumentType]
