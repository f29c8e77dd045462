"""Combinations that cannot be right are refused; the presets are what they say."""

from dataclasses import FrozenInstanceError, replace
from typing import Any

import pytest

from gemenv.errors import ConfigError
from gemenv.train.aggregation import Aggregation
from gemenv.train.credit import Gae, GroupRelative, Returns, Standardize
from gemenv.train.losses.off_policy import OffPolicy
from gemenv.train.losses.surrogate import Gmpo, Gspo, ImportanceSampling, Ppo, Reinforce
from gemenv.train.losses.value import ValueLoss
from gemenv.train.presets import (
    ALGORITHMS,
    dr_grpo,
    grpo,
    grpo_tis,
    importance_sampling,
    make_algorithm,
    ppo,
    reinforce,
    reinforce_rebn_prox,
    rloo,
)

TIS = OffPolicy(level="token", mode="truncate", high=2.0)


@pytest.mark.parametrize(
    ("algorithm", "changed", "problem"),
    [
        (reinforce(), {"rule": Gspo()}, "one ratio per row"),
        (reinforce(), {"rule": Gmpo()}, "one ratio per row"),
        (importance_sampling(), {"off_policy": TIS}, "sampler would be counted twice"),
        (grpo(), {"off_policy": replace(TIS, numerator="current")}, "old policy would be counted"),
        (grpo(), {"group_size": 1}, "group of one"),
        (grpo(), {"group_size": 0}, "group_size"),
        (grpo(), {"standardize": Standardize()}, "standard deviation twice"),
        (reinforce(), {"credit": Gae(gamma=0.9, lam=0.9)}, "both its credit and its loss"),
        (reinforce(), {"value": ValueLoss()}, "both its credit and its loss"),
        (reinforce(), {"entropy_coef": -0.1}, "entropy_coef"),
    ],
)
def test_parts_that_do_not_fit_are_refused(
    algorithm: Any, changed: dict[str, Any], problem: str
) -> None:
    with pytest.raises(ConfigError, match=problem):
        replace(algorithm, **changed)


def test_a_group_of_one_is_fine_if_it_keeps_its_return() -> None:
    assert replace(grpo(), credit=GroupRelative(singleton="raw"), group_size=1).group_size == 1


def test_reinforce_may_be_corrected_with_the_current_policy() -> None:
    correction = replace(TIS, numerator="current")
    assert replace(rloo(), off_policy=correction).required_streams == {"logp_sampler_BT"}


@pytest.mark.parametrize(
    ("algorithm", "streams"),
    [
        (reinforce(), set()),
        (reinforce_rebn_prox(), {"logp_old_BT"}),
        (grpo(), {"logp_old_BT", "logp_ref_BT"}),
        (grpo(kl_coef=0.0), {"logp_old_BT"}),
        (grpo_tis(), {"logp_old_BT", "logp_sampler_BT"}),
        (importance_sampling(), {"logp_sampler_BT"}),
        (replace(rloo(), off_policy=TIS), {"logp_old_BT", "logp_sampler_BT"}),
        (replace(reinforce(), entropy_coef=0.01), {"entropy_BT"}),
    ],
)
def test_an_algorithm_names_the_streams_it_needs(algorithm: Any, streams: set[str]) -> None:
    assert algorithm.required_streams == streams


@pytest.mark.parametrize("name", ALGORITHMS)
def test_a_preset_is_documented_frozen_and_comparable(name: str) -> None:
    assert "Source:" in (ALGORITHMS[name].__doc__ or "")
    algorithm = make_algorithm(name)
    assert algorithm == make_algorithm(name)
    assert hash(algorithm) == hash(make_algorithm(name))
    with pytest.raises(FrozenInstanceError):
        algorithm.group_size = 3  # pyright: ignore[reportAttributeAccessIssue]


def test_presets_are_the_papers_choices() -> None:
    assert grpo().aggregation == Aggregation("row", "tokens")
    assert grpo().credit == GroupRelative(scale="group_std", ddof=1, eps=1e-6)
    assert dr_grpo().credit == GroupRelative(baseline="mean", scale="none")
    assert (dr_grpo().aggregation, dr_grpo().kl) == (Aggregation("row", "const"), None)
    assert (rloo().rule, rloo().aggregation) == (Reinforce(), Aggregation("row", "none"))
    assert (reinforce().credit, reinforce().standardize) == (Returns(gamma=0.9), None)
    assert reinforce_rebn_prox(clip=0.3).rule == Ppo(clip_low=0.3, clip_high=0.3)
    assert (ppo().credit, ppo().value) == (Gae(gamma=0.9, lam=0.95), ValueLoss())
    assert ppo().aggregation == reinforce().aggregation == Aggregation("row", "const")
    assert importance_sampling().rule == ImportanceSampling()
    assert importance_sampling().aggregation == Aggregation("batch", "none")


def test_an_unknown_name_suggests_the_nearest() -> None:
    with pytest.raises(ConfigError) as caught:
        make_algorithm("gppo")
    assert caught.value.fix == "did you mean 'ppo'?"


def test_an_unknown_setting_names_those_that_are_known() -> None:
    with pytest.raises(ConfigError, match="does not take clip_higher") as caught:
        make_algorithm("grpo", clip_higher=0.28)
    assert "kl_coef" in caught.value.expected
