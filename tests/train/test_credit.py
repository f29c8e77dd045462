"""From a table of turns to advantages: a small batch worked out by hand."""

from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose

from gemenv.errors import ConfigError, ContractError
from gemenv.train.credit import Correctness, Credit, Gae, GroupRelative, Returns, Standardize
from gemenv.train.turn_table import TurnTable


def table(**more: Any) -> TurnTable:
    """Episode 0 wins in two turns, episode 1 loses in one; both start alike. Episode 2 is cut."""
    return TurnTable(
        reward_N=np.array([0.0, 1.0, 0.0, 0.25]),
        episode_N=np.array([0, 0, 1, 2]),
        turn_N=np.array([0, 1, 0, 0]),
        group_N=np.array([5, 5, 5, 6]),
        is_terminated_N=np.array([False, True, True, False]),
        is_truncated_N=np.array([False, False, False, True]),
        **more,
    )


def test_returns_discount_per_turn_and_stop_at_the_episode() -> None:
    assert_allclose(Returns(gamma=0.5)(table()).advantage_N, [0.5, 1.0, 0.0, 0.25])


def test_group_credit_goes_to_every_turn_of_the_episode() -> None:
    credit = GroupRelative()(table())
    assert_allclose(credit.advantage_N, [0.5, 0.5, -0.5, 0.0])
    assert credit.value_target_N is None


def test_a_group_of_one_may_keep_its_raw_return() -> None:
    assert GroupRelative(singleton="raw")(table()).advantage_N[3] == 0.25


def test_group_statistics_are_over_episodes_and_not_over_turns() -> None:
    advantage_N = GroupRelative(scale="group_std", ddof=0, eps=0.0)(table()).advantage_N
    assert_allclose(advantage_N, [1.0, 1.0, -1.0, 0.0])


def test_correctness_judges_the_return_of_the_episode() -> None:
    credit = Correctness(positive=0.1, negative=1.0)(table())
    assert_allclose(credit.advantage_N, [0.1, 0.1, -1.0, -1.0])


def test_gae_bootstraps_the_cut_episode_only() -> None:
    values = {"value_N": np.full(4, 0.5), "bootstrap_value_N": np.full(4, 0.8)}
    credit = Gae(gamma=0.5, lam=1.0)(table(**values))
    assert_allclose(credit.advantage_N, [0.0, 0.5, -0.5, 0.25 + 0.4 - 0.5])
    assert credit.value_target_N is not None
    assert_allclose(credit.value_target_N, credit.advantage_N + 0.5)


def test_gae_bootstraps_from_the_state_after_the_last_turn() -> None:
    cut = TurnTable(
        reward_N=np.zeros(2),
        episode_N=np.array([0, 0]),
        turn_N=np.array([1, 0]),
        group_N=np.array([0, 0]),
        is_terminated_N=np.array([False, False]),
        is_truncated_N=np.array([True, False]),
        value_N=np.zeros(2),
        bootstrap_value_N=np.array([8.0, 99.0]),
    )
    assert_allclose(Gae(gamma=0.5, lam=1.0)(cut).advantage_N, [4.0, 2.0])


def test_gae_without_values_says_what_to_do() -> None:
    with pytest.raises(ContractError, match="critic's values"):
        Gae(gamma=0.9, lam=0.9)(table())


def test_standardizing_over_tokens_needs_their_number() -> None:
    with pytest.raises(ContractError, match="number of tokens"):
        Standardize(over="tokens")(np.zeros(4), table())


def test_standardizing_over_tokens_lets_long_turns_count_more() -> None:
    standardized = Standardize(over="tokens", eps=0.0)(
        np.array([0.0, 1.0, 1.0, 1.0]), table(num_tokens_N=np.array([3, 1, 0, 0]))
    )
    assert_allclose(standardized[:2], [-0.25, 0.75] / np.sqrt(0.1875))


@pytest.mark.parametrize(
    ("credit", "settings"),
    [
        (Returns, {"gamma": 1.1}),
        (Returns, {"gamma": float("nan")}),
        (Gae, {"gamma": 0.9, "lam": -0.1}),
        (GroupRelative, {"baseline": "median"}),
        (GroupRelative, {"scale": "std"}),
        (GroupRelative, {"ddof": 2}),
        (GroupRelative, {"singleton": "one"}),
        (GroupRelative, {"eps": -1.0}),
        (Correctness, {"positive": -1.0, "negative": 0.0}),
        (Standardize, {"over": "rows"}),
        (Standardize, {"ddof": 3}),
        (Standardize, {"eps": -1e-9}),
    ],
)
def test_a_setting_outside_its_domain_is_refused(
    credit: type[Credit], settings: dict[str, Any]
) -> None:
    with pytest.raises(ConfigError, match="outside its domain"):
        credit(**settings)
