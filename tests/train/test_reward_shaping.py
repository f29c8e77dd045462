"""Rewards that depend on length."""

import pytest
from numpy.testing import assert_allclose

from gemenv.errors import ConfigError, ContractError
from gemenv.train.reward_shaping import (
    overlong_penalty,
    relative_length_reward,
    target_length_penalty,
)


def test_the_overlong_penalty_starts_at_the_buffer_and_stops_at_the_limit() -> None:
    got = overlong_penalty([10, 80, 85, 100, 101], max_tokens=100, buffer_tokens=20)
    assert_allclose(got, [0.0, 0.0, -0.25, -1.0, -1.0])


@pytest.mark.parametrize("buffer_tokens", [0, 101])
def test_the_buffer_lies_inside_the_limit(buffer_tokens: int) -> None:
    with pytest.raises(ConfigError, match="buffer_tokens"):
        overlong_penalty([1], max_tokens=100, buffer_tokens=buffer_tokens)


def test_a_wrong_answer_is_never_rewarded_for_being_short() -> None:
    got = relative_length_reward([False, True, False], [10, 10, 30])
    assert_allclose(got, [0.0, 0.5, -0.5])


def test_equal_lengths_give_nothing() -> None:
    assert relative_length_reward([True, False], [7, 7]).tolist() == [0.0, 0.0]


def test_lengths_must_belong_to_the_answers() -> None:
    with pytest.raises(ContractError, match="num_tokens_G"):
        relative_length_reward([True], [7, 7])


def test_the_target_length_is_missed_in_both_directions_alike() -> None:
    assert_allclose(target_length_penalty([8, 12], [10, 10], alpha=0.5), [-1.0, -1.0])
