"""Weights say what they lack."""

import pytest
from numpy.testing import assert_allclose

from gemenv.errors import ConfigError, ContractError
from gemenv.train.aggregation import Aggregation

MASK = [[1, 1, 0], [1, 0, 0], [0, 0, 0]]


def test_an_episode_of_several_rows_counts_once() -> None:
    weight_BT = Aggregation("traj", "tokens").weights(MASK, episode_B=[8, 8, 9], group_B=[0, 1, 2])
    assert_allclose(weight_BT.sum(axis=1), [2 / 3, 1 / 3, 0.0])


def test_a_group_of_several_episodes_counts_once() -> None:
    weight_BT = Aggregation("prompt", "none").weights(MASK, episode_B=[0, 0, 0], group_B=[1, 2, 2])
    assert_allclose(weight_BT.sum(axis=1), [1.0, 0.5, 0.0])


def test_a_batch_without_trainable_tokens_weighs_nothing() -> None:
    assert Aggregation("row", "tokens").weights([[0, 0]]).tolist() == [[0.0, 0.0]]


def test_padding_does_not_change_a_constant_norm() -> None:
    padded = [[*row, 0, 0] for row in MASK]
    narrow, wide = (Aggregation("row", "const").weights(m, max_tokens=10) for m in (MASK, padded))
    assert_allclose(wide[:, :3], narrow)


@pytest.mark.parametrize(("unit", "missing"), [("traj", "episode_B"), ("prompt", "group_B")])
def test_a_unit_without_its_ids_is_refused(unit: str, missing: str) -> None:
    with pytest.raises(ContractError) as caught:
        Aggregation(unit, "none").weights(MASK)
    assert missing in caught.value.fix


@pytest.mark.parametrize("const", [None, 0.0, -1.0])
def test_a_constant_norm_needs_a_constant(const: float | None) -> None:
    with pytest.raises(ContractError, match="constant"):
        Aggregation("row", "const").weights(MASK, max_tokens=const)


def test_ids_must_be_one_per_row() -> None:
    with pytest.raises(ContractError, match="unit_B"):
        Aggregation("traj", "none").weights(MASK, episode_B=[0, 1])


@pytest.mark.parametrize("choice", [("turn", "tokens"), ("row", "mean")])
def test_an_unknown_choice_is_refused(choice: tuple[str, str]) -> None:
    with pytest.raises(ConfigError):
        Aggregation(*choice)
