"""The array code against loops over single numbers, written from the papers and nothing else."""

import math
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch
from numpy.testing import assert_allclose

from gemenv.train.advantage import discounted_returns, gae, group_advantage, standardize
from gemenv.train.aggregation import Aggregation, token_weights
from gemenv.train.algorithms import Algorithm
from gemenv.train.losses.covariance import token_covariance
from gemenv.train.losses.entropy import entropy_from_logits
from gemenv.train.losses.kl import KlPenalty
from gemenv.train.losses.off_policy import OffPolicy
from gemenv.train.losses.surrogate import Cispo, Gmpo, Gspo, ImportanceSampling, Ppo, Reinforce
from gemenv.train.losses.value import ValueLoss
from gemenv.train.policy_loss import policy_loss
from gemenv.train.presets import ALGORITHMS, grpo, reinforce_rebn_prox, rloo
from gemenv.train.token_credit import gae_tokens, kl_penalized_reward

SEEDS = range(5)
COMPOSITIONS = {name: preset() for name, preset in ALGORITHMS.items()} | {
    "dual clip": replace(rloo(), rule=Ppo(dual_clip=1.5)),
    "k2": replace(grpo(), kl=KlPenalty(coef=0.3, kind="k2")),
    "forward": replace(grpo(), kl=KlPenalty(coef=0.3, kind="forward")),
    "entropy": replace(reinforce_rebn_prox(), entropy_coef=0.01),
    "geometric": replace(grpo(), off_policy=OffPolicy(level="geo", mode="mask", low=0.8, high=1.2)),
    "two-sided": replace(
        grpo(), off_policy=OffPolicy(level="token", mode="truncate", low=0.9, high=1.1)
    ),
    "current over sampler": replace(
        rloo(), off_policy=OffPolicy(level="seq", mode="truncate", high=1.5, numerator="current")
    ),
    "group mean": replace(rloo(), aggregation=Aggregation("prompt", "tokens")),
}


def _clip(x: float, low: float, high: float) -> float:
    return min(max(x, low), high)


def _row_loss(rule: Any, logp: list[float], base: list[float], A: list[float]) -> list[float]:
    """The loss of each trainable token of one row."""
    d = [_clip(x - y, -20, 20) for x, y in zip(logp, base, strict=True)]
    r = [math.exp(x) for x in d]
    match rule:
        case Reinforce():
            return [-a * x for a, x in zip(A, logp, strict=True)]
        case ImportanceSampling():
            return [-a * x for a, x in zip(A, r, strict=True)]
        case Cispo():
            return [-min(x, rule.cap_high) * a * y for x, a, y in zip(r, A, logp, strict=True)]
        case Gmpo():
            held = [
                min(x, rule.clip_high) if a > 0 else max(x, -rule.clip_low)
                for x, a in zip(d, A, strict=True)
            ]
            return [-a * math.exp(sum(held) / len(held)) for a in A]
        case Gspo():
            r = [math.exp(sum(d) / len(d))] * len(d)
    loss = []
    for x, a in zip(r, A, strict=True):
        value = max(-a * x, -a * _clip(x, 1 - rule.clip_low, 1 + rule.clip_high))
        ceiling = getattr(rule, "dual_clip", None)
        loss.append(min(value, -a * ceiling) if ceiling and a < 0 else value)
    return loss


def _row_off_policy(off: OffPolicy | None, top: list[float], sampler: list[float]) -> list[float]:
    if off is None:
        return [1.0] * len(top)
    d = [x - y for x, y in zip(top, sampler, strict=True)]
    if off.level != "token":
        d = [sum(d) / (len(d) if off.level == "geo" else 1)] * len(d)
    w = [math.exp(_clip(x, -20, 20)) for x in d]
    if off.mode == "truncate":
        return [_clip(x, off.low, off.high) for x in w]
    return [x if off.low <= x <= off.high else 0.0 for x in w]


def _kl(penalty: KlPenalty | None, logp: float, ref: float) -> float:
    if penalty is None:
        return 0.0
    d = logp - ref
    by_kind = {
        "k2": d * d / 2,
        "k3": math.exp(-d) - 1 + d,
        "forward": math.exp(-d) * -d - (math.exp(-d) - 1),
    }
    return penalty.coef * by_kind[penalty.kind]


def _naive_loss(algorithm: Algorithm, logp_BT: torch.Tensor, streams: Any) -> float:
    total = 0.0
    for b in range(len(logp_BT)):
        on = [t for t in range(logp_BT.shape[1]) if streams.mask_BT[b, t]]
        if not on:
            continue

        def row(stream: torch.Tensor, b: int = b, on: list[int] = on) -> list[float]:
            return [float(stream[b, t]) for t in on]

        logp, old, sampler = row(logp_BT), row(streams.logp_old_BT), row(streams.logp_sampler_BT)
        of = {"current": logp, "old": old, "sampler": sampler}
        pg = _row_loss(algorithm.rule, logp, of[algorithm.rule.base], row(streams.advantage_BT))
        off = algorithm.off_policy
        w_off = _row_off_policy(off, of[off.numerator] if off else logp, sampler)
        ref, entropy, W = (
            row(s) for s in (streams.logp_ref_BT, streams.entropy_BT, streams.weight_BT)
        )
        for t in range(len(on)):
            kl = _kl(algorithm.kl, logp[t], ref[t])
            total += W[t] * (w_off[t] * pg[t] + kl - algorithm.entropy_coef * entropy[t])
    return total


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("name", COMPOSITIONS)
def test_the_policy_loss_is_the_sum_over_single_tokens(
    name: str, seed: int, make_batch: Callable[..., Any]
) -> None:
    batch = make_batch(COMPOSITIONS[name], seed)
    loss, _ = policy_loss(COMPOSITIONS[name], batch.logp_BT, batch.streams)
    naive = _naive_loss(COMPOSITIONS[name], batch.logp_BT.detach(), batch.streams)
    assert loss.item() == pytest.approx(naive, rel=1e-11, abs=1e-13)


@pytest.mark.parametrize("seed", SEEDS)
def test_returns_are_sums_of_discounted_rewards(seed: int) -> None:
    reward_T = np.random.default_rng(seed).normal(size=6)
    expected = [
        sum(0.9 ** (k - t) * reward_T[k] for k in range(t, 6)) + 0.9 ** (6 - t) * 2.0
        for t in range(6)
    ]
    assert_allclose(discounted_returns(reward_T, gamma=0.9, bootstrap_value=2.0), expected)


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("is_terminated", [True, False])
def test_gae_is_the_sum_of_decayed_differences(seed: int, is_terminated: bool) -> None:
    reward_T, value_T = np.random.default_rng(seed).normal(size=(2, 5))
    after = [*value_T[1:], 0.0 if is_terminated else 0.7]
    delta = [r + 0.9 * n - v for r, n, v in zip(reward_T, after, value_T, strict=True)]
    expected = [sum((0.9 * 0.8) ** (k - t) * delta[k] for k in range(t, 5)) for t in range(5)]
    advantage_T, target_T = gae(
        reward_T, value_T, gamma=0.9, lam=0.8, is_terminated=is_terminated, bootstrap_value=0.7
    )
    assert_allclose(advantage_T, expected)
    assert_allclose(target_T, np.array(expected) + value_T)


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("scale", ["none", "group_std"])
@pytest.mark.parametrize("baseline", ["none", "mean", "loo"])
def test_group_advantages_compare_one_episode_with_its_group(
    seed: int, baseline: Any, scale: Any
) -> None:
    rng = np.random.default_rng(seed)
    return_N, group_N = rng.normal(size=12), rng.permutation([0] * 5 + [1] * 4 + [2] * 3)
    expected = []
    for n in range(12):
        group = [return_N[m] for m in range(12) if group_N[m] == group_N[n]]
        others = [return_N[m] for m in range(12) if group_N[m] == group_N[n] and m != n]
        mean = sum(group) / len(group)
        std = math.sqrt(sum((x - mean) ** 2 for x in group) / (len(group) - 1))
        base = {"none": 0.0, "mean": mean, "loo": sum(others) / len(others)}[baseline]
        expected.append((return_N[n] - base) / (std + 0.01 if scale == "group_std" else 1.0))
    got = group_advantage(return_N, group_N, baseline=baseline, scale=scale, ddof=1, eps=0.01)
    assert_allclose(got, expected)


def test_groups_may_be_named_by_text() -> None:
    assert group_advantage([1.0, 5.0, 0.0], ["b", "a", "b"]).tolist() == [0.5, 0.0, -0.5]


@pytest.mark.parametrize("ddof", [0, 1])
def test_standardizing_with_weights_counts_an_entry_that_often(ddof: int) -> None:
    value_N, weight_N = np.array([1.0, -2.0, 0.5, np.nan]), np.array([3, 1, 2, 0])
    repeated = np.repeat(value_N, weight_N)
    expected = (value_N[:3] - repeated.mean()) / repeated.std(ddof=ddof)
    got = standardize(value_N, ddof=ddof, eps=0.0, weight=weight_N)
    assert_allclose(got, [*expected, 0.0])


@pytest.mark.parametrize("unit", ["batch", "row", "traj", "prompt"])
@pytest.mark.parametrize("norm", ["tokens", "const", "none"])
@pytest.mark.parametrize("seed", SEEDS)
def test_weights_average_over_units_that_have_tokens(unit: Any, norm: Any, seed: int) -> None:
    rng = np.random.default_rng(seed)
    mask_BT = rng.random((7, 4)) < 0.5
    mask_BT[2] = False
    unit_B = {"batch": np.zeros(7, int), "row": np.arange(7)}.get(unit, rng.integers(0, 4, 7) * 10)
    loss_BT = rng.normal(size=(7, 4))
    means = []
    for u in set(unit_B.tolist()):
        tokens = [
            loss_BT[b, t] for b in range(7) for t in range(4) if unit_B[b] == u and mask_BT[b, t]
        ]
        if tokens:
            means.append(sum(tokens) / {"tokens": len(tokens), "const": 9.0, "none": 1.0}[norm])
    weight_BT = token_weights(mask_BT, unit=unit, norm=norm, unit_B=unit_B, const=9.0)
    assert_allclose((weight_BT * loss_BT).sum(), sum(means) / len(means))


@pytest.mark.parametrize("seed", SEEDS)
def test_token_gae_skips_what_the_environment_wrote(seed: int) -> None:
    rng = np.random.default_rng(seed)
    reward_BT, value_BT = rng.normal(size=(2, 3, 8))
    mask_BT = rng.random((3, 8)) < 0.6
    advantage_BT, target_BT = gae_tokens(reward_BT, value_BT, mask_BT, gamma=0.9, lam=0.8)
    for b in range(3):
        carried, next_value = 0.0, 0.0
        for t in reversed(range(8)):
            if not mask_BT[b, t]:
                assert advantage_BT[b, t] == 0.0
                continue
            delta = reward_BT[b, t] + 0.9 * next_value - value_BT[b, t]
            carried = delta + 0.9 * 0.8 * carried
            next_value = value_BT[b, t]
            assert advantage_BT[b, t] == pytest.approx(carried)
            assert target_BT[b, t] == pytest.approx(carried + value_BT[b, t])


def test_the_kl_reward_is_paid_per_token_and_the_return_at_the_last_trainable_one() -> None:
    mask_BT = [[1, 0, 1, 0], [0, 0, 0, 0]]
    old_BT, ref_BT = np.full((2, 4), -1.0), np.full((2, 4), -1.5)
    old_BT[0, 1] = np.nan
    got = kl_penalized_reward([2.0, 5.0], old_BT, ref_BT, mask_BT, coef=0.1)
    assert_allclose(got, [[-0.05, 0.0, 1.95, 0.0], [0.0, 0.0, 0.0, 0.0]])


@pytest.mark.parametrize("clip", [None, 0.2])
def test_the_value_loss_takes_the_worse_of_raw_and_clipped(clip: float | None) -> None:
    value, old, target = [1.0, 0.0, -0.6], [0.5, 0.1, 0.0], [0.9, 2.0, -1.0]
    expected = 0.0
    for v, o, y in zip(value, old, target, strict=True):
        held = v if clip is None else o + _clip(v - o, -clip, clip)
        expected += 0.5 * max((v - y) ** 2, (held - y) ** 2) / 3
    value_N, old_N, target_N = (torch.tensor(x) for x in (value, old, target))
    got = ValueLoss(coef=2.0, clip=clip)(value_N, old_N, target_N, weight_N=torch.full((3,), 1 / 3))
    assert got.item() == pytest.approx(2.0 * expected)


def test_entropy_is_the_mean_surprise() -> None:
    logits = [0.3, -1.0, 2.0]
    total = sum(math.exp(x) for x in logits)
    expected = -sum(math.exp(x) / total * math.log(math.exp(x) / total) for x in logits)
    got = entropy_from_logits(torch.tensor(logits, dtype=torch.float64))
    assert got.item() == pytest.approx(expected)


def test_the_covariances_of_the_tokens_sum_to_that_of_the_batch() -> None:
    logp, advantage = np.random.default_rng(3).normal(size=(2, 10))
    mask = torch.ones(1, 10, dtype=torch.bool)
    cov = token_covariance(torch.tensor(logp)[None], torch.tensor(advantage)[None], mask)
    assert cov.mean().item() == pytest.approx(np.cov(logp, advantage, ddof=0)[0, 1])
