"""What the one loss asks for, and what it reports."""

import math
from dataclasses import replace
from typing import Any

import pytest
import torch

from gemenv.errors import ContractError
from gemenv.train.algorithms import Algorithm
from gemenv.train.losses.metrics import merge_metrics, summarize_metrics
from gemenv.train.losses.surrogate import Ppo
from gemenv.train.policy_loss import TokenStreams, policy_loss
from gemenv.train.presets import grpo, grpo_tis, importance_sampling, reinforce, rloo

LOGP = torch.tensor([[-1.0, -2.0, -3.0]], dtype=torch.float64)
MASK = torch.tensor([[True, True, False]])


def streams(**more: Any) -> TokenStreams:
    one = torch.ones_like(LOGP)
    return TokenStreams(**{"mask_BT": MASK, "advantage_BT": one, "weight_BT": one / 2} | more)


def summary(algorithm: Algorithm, **more: Any) -> dict[str, float]:
    _, metrics = policy_loss(algorithm, LOGP, streams(**more))
    return summarize_metrics(metrics)


@pytest.mark.parametrize(
    ("algorithm", "missing"),
    [
        (grpo(kl_coef=0), "logp_old_BT"),
        (importance_sampling(), "logp_sampler_BT"),
        (replace(reinforce(), entropy_coef=0.1), "entropy_BT"),
        (replace(reinforce(), kl=grpo().kl), "logp_ref_BT"),
    ],
)
def test_a_missing_stream_is_named(algorithm: Algorithm, missing: str) -> None:
    with pytest.raises(ContractError, match=missing):
        policy_loss(algorithm, LOGP, streams())


def test_shapes_must_agree() -> None:
    with pytest.raises(ContractError, match="logp_BT"):
        policy_loss(rloo(), LOGP[:, :2], streams())
    with pytest.raises(ContractError, match="logp_old_BT"):
        streams(logp_old_BT=LOGP[0])


def test_the_mask_must_be_boolean() -> None:
    with pytest.raises(ContractError, match="boolean"):
        streams(mask_BT=MASK.double())


def test_entropy_and_reference_enter_with_the_weights_of_the_policy_term() -> None:
    algorithm = replace(rloo(), entropy_coef=0.1, kl=replace(grpo().kl, coef=0.5, kind="k2"))
    more = {"entropy_BT": torch.full_like(LOGP, 2.0), "logp_ref_BT": LOGP - 1.0}
    loss, _ = policy_loss(algorithm, LOGP, streams(**more))
    assert loss.item() == pytest.approx(1.5 + 0.5 * 0.5 - 0.1 * 2.0)


def test_the_optional_streams_feed_metrics_even_where_the_loss_ignores_them() -> None:
    got = summary(
        rloo(),
        logp_old_BT=LOGP + 0.1,
        logp_sampler_BT=LOGP + torch.tensor([[0.3, -0.1, 9.0]], dtype=torch.float64),
        logp_ref_BT=LOGP - 1.0,
        entropy_BT=torch.tensor([[1.0, 3.0, 9.0]], dtype=torch.float64),
    )
    assert got["num_tokens"] == 2
    assert got["entropy"] == 2.0
    assert got["ref_kl_k1"] == pytest.approx(1.0)
    assert got["ref_kl_k2"] == pytest.approx(0.5)
    assert got["ref_kl_k3"] == pytest.approx(math.exp(-1.0))
    assert got["approx_kl"] == pytest.approx(math.exp(-0.1) - 1 + 0.1)
    assert got["sampler_kl_v1"] == pytest.approx(0.0)  # 0.2 and -0.2 from the old policy
    assert got["sampler_kl_v2"] == pytest.approx(0.02)
    assert got["sampler_missing"] == 0.0


def test_clip_fractions_tell_the_directions_apart() -> None:
    old = LOGP - torch.tensor([[1.0, -1.0, 5.0]])  # the first ratio is high, the second low
    ppo = replace(rloo(), rule=Ppo())
    up = summary(ppo, logp_old_BT=old)
    down = summary(ppo, logp_old_BT=old, advantage_BT=-torch.ones_like(LOGP))
    dual = summary(
        replace(rloo(), rule=Ppo(dual_clip=2.0)),
        logp_old_BT=old,
        advantage_BT=-torch.ones_like(LOGP),
    )
    assert (up["clip_high"], up["clip_low"]) == (0.5, 0.0)
    assert (down["clip_high"], down["clip_low"]) == (0.0, 0.5)
    assert (dual["clip_high"], dual["clip_low"]) == (0.5, 0.5)


def test_off_policy_weights_are_described() -> None:
    sampler = LOGP - torch.tensor([[1.0, 0.0, 9.0]])  # ratios e (held at 2) and 1
    got = summary(grpo_tis(), logp_old_BT=LOGP, logp_sampler_BT=sampler)
    assert got["off_policy_weight"] == pytest.approx(1.5)
    assert got["off_policy_weight_max"] == 2.0
    assert got["off_policy_ess"] == pytest.approx(1.5**2 / 2.5)


@pytest.mark.parametrize("algorithm", [grpo_tis(), importance_sampling()])
def test_a_token_without_a_sampler_log_prob_has_ratio_1_and_is_counted(
    algorithm: Algorithm,
) -> None:
    logp = LOGP.clone().requires_grad_()
    missing = torch.tensor([[float("nan"), -2.0, float("nan")]], dtype=torch.float64)
    more = {"logp_old_BT": LOGP, "logp_sampler_BT": missing}
    loss, metrics = policy_loss(algorithm, logp, streams(**more))
    assert loss.item() == pytest.approx(-1.0)
    assert summarize_metrics(metrics)["sampler_missing"] == 0.5
    (grad_BT,) = torch.autograd.grad(loss, logp)
    assert grad_BT.tolist() == [[-0.5, -0.5, 0.0]]


def test_metrics_carry_no_gradient() -> None:
    logp = LOGP.clone().requires_grad_()
    _, metrics = policy_loss(rloo(), logp, streams(logp_ref_BT=LOGP, logp_old_BT=LOGP))
    assert not any(value.requires_grad for value in metrics.values())


def test_parts_with_other_names_cannot_be_merged() -> None:
    with pytest.raises(ContractError, match="different metrics"):
        merge_metrics([{"sum/a": torch.ones(())}, {"sum/b": torch.ones(())}])


def test_a_mean_over_no_tokens_is_refused() -> None:
    _, metrics = policy_loss(rloo(), LOGP, streams(mask_BT=torch.zeros_like(MASK)))
    with pytest.raises(ContractError, match="no trainable token"):
        summarize_metrics(metrics)


def test_rows_are_taken_from_every_stream() -> None:
    two = TokenStreams(
        mask_BT=MASK.expand(2, 3),
        advantage_BT=torch.arange(6.0).reshape(2, 3),
        weight_BT=torch.ones(2, 3),
        logp_old_BT=-torch.arange(6.0).reshape(2, 3),
    )
    one = two.rows(slice(1, 2))
    assert one.advantage_BT.tolist() == [[3.0, 4.0, 5.0]]
    assert one.logp_old_BT is not None
    assert one.logp_old_BT.tolist() == [[-3.0, -4.0, -5.0]]
    assert one.entropy_BT is None
