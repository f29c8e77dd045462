"""Laws that hold for every algorithm and any data."""

from collections.abc import Callable
from dataclasses import fields, replace
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from gemenv.train.advantage import discounted_returns, gae, group_advantage, standardize
from gemenv.train.aggregation import Aggregation
from gemenv.train.algorithms import turn_advantages
from gemenv.train.losses.covariance import clip_cov_mask, kl_cov_mask, token_covariance
from gemenv.train.losses.log_ratio import masked
from gemenv.train.losses.metrics import merge_metrics, summarize_metrics
from gemenv.train.losses.surrogate import Cispo, Gmpo, Gspo, ImportanceSampling, Ppo, Reinforce
from gemenv.train.policy_loss import TokenStreams, policy_loss
from gemenv.train.presets import ALGORITHMS, make_algorithm, reinforce_pp_baseline, rloo
from gemenv.train.turn_table import TurnTable

every_algorithm = pytest.mark.parametrize("name", ALGORITHMS)
seeds = st.integers(0, 2**32 - 1)
quick = settings(max_examples=25, deadline=None)

# Multiples of 1/16 are exact in binary, so that two of them are equal or clearly different.
rewards = st.integers(-1600, 1600).map(lambda n: n / 16)
episodes = st.lists(rewards, min_size=1, max_size=12)


def loss_and_grad(algorithm: Any, batch: Any) -> tuple[torch.Tensor, torch.Tensor, Any]:
    loss, metrics = policy_loss(algorithm, batch.logp_BT, batch.streams)
    return loss, torch.autograd.grad(loss, batch.logp_BT)[0], metrics


def random_table(seed: int, *, with_values: bool = True) -> TurnTable:
    rng = np.random.default_rng(seed)
    lengths = rng.integers(1, 5, size=6)
    total = lengths.sum()
    episode_N = np.repeat(rng.permutation(100)[:6], lengths)
    turn_N = np.concatenate([np.arange(n) for n in lengths])
    is_last_N = np.concatenate([np.arange(n) == n - 1 for n in lengths])
    is_cut_N = np.repeat(rng.random(6) < 0.5, lengths)
    return TurnTable(
        reward_N=rng.normal(size=total),
        episode_N=episode_N,
        turn_N=turn_N,
        group_N=np.repeat([4, 9, 4, 9, 9, 4], lengths),
        is_terminated_N=is_last_N & ~is_cut_N,
        is_truncated_N=is_last_N & is_cut_N,
        num_tokens_N=rng.integers(1, 9, size=total),
        value_N=rng.normal(size=total) if with_values else None,
        bootstrap_value_N=rng.normal(size=total) if with_values else None,
    )


def permuted(table: TurnTable, order: np.ndarray) -> TurnTable:
    return TurnTable(**{f.name: getattr(table, f.name)[order] for f in fields(table)})


@every_algorithm
@given(seed=seeds)
@quick
def test_the_order_of_turns_in_the_table_does_not_matter(name: str, seed: int) -> None:
    algorithm, table = make_algorithm(name), random_table(seed)
    order = np.random.default_rng(seed).permutation(len(table.reward_N))
    before, after = (turn_advantages(algorithm, t) for t in (table, permuted(table, order)))
    assert_allclose(after.advantage_N, before.advantage_N[order], rtol=1e-9, atol=1e-12)
    if before.value_target_N is not None:
        assert_allclose(after.value_target_N, before.value_target_N[order])


@every_algorithm
@given(seed=seeds)
@quick
def test_padding_and_its_poison_change_nothing(
    name: str, seed: int, make_batch: Callable[..., Any]
) -> None:
    algorithm = make_algorithm(name)
    batch = make_batch(algorithm, seed)
    loss, grad_BT, _ = loss_and_grad(algorithm, batch)
    mask_BT = batch.streams.mask_BT
    clean = {
        f.name: getattr(batch.streams, f.name).masked_fill(~mask_BT, 0.0)
        for f in fields(TokenStreams)
        if f.name != "mask_BT"
    }
    clean_batch = replace(
        batch,
        logp_BT=batch.logp_BT.detach().masked_fill(~mask_BT, 0.0).requires_grad_(),
        streams=TokenStreams(mask_BT=mask_BT, **clean),
    )
    clean_loss, clean_grad_BT, _ = loss_and_grad(algorithm, clean_batch)
    assert torch.equal(loss, clean_loss)
    assert torch.equal(grad_BT, clean_grad_BT)
    assert not grad_BT[~mask_BT].any()


@every_algorithm
@given(seed=seeds, num_parts=st.integers(1, 6))
@quick
def test_micro_batches_add_up_to_the_batch(
    name: str, seed: int, num_parts: int, make_batch: Callable[..., Any]
) -> None:
    algorithm = make_algorithm(name)
    batch = make_batch(algorithm, seed)
    loss, grad_BT, metrics = loss_and_grad(algorithm, batch)
    order = torch.tensor(np.random.default_rng(seed).permutation(len(grad_BT)))
    total, parts = torch.zeros_like(loss), []
    for rows in order.tensor_split(num_parts):
        part, part_metrics = policy_loss(algorithm, batch.logp_BT[rows], batch.streams.rows(rows))
        total, parts = total + part, [*parts, part_metrics]
    torch.testing.assert_close(total, loss, rtol=1e-10, atol=1e-12)
    (summed_grad_BT,) = torch.autograd.grad(total, batch.logp_BT)
    torch.testing.assert_close(summed_grad_BT, grad_BT, rtol=1e-10, atol=1e-12)
    assert summarize_metrics(merge_metrics(parts)) == pytest.approx(summarize_metrics(metrics))


@every_algorithm
def test_two_ranks_that_average_gradients_give_the_gradient_of_one(
    name: str, make_batch: Callable[..., Any]
) -> None:
    algorithm = make_algorithm(name)
    batch = make_batch(algorithm, 11)
    _, grad_BT, _ = loss_and_grad(algorithm, batch)
    num_ranks, averaged_BT = 2, torch.zeros_like(grad_BT)
    for rows in (slice(0, 2), slice(2, None)):
        local, _ = policy_loss(algorithm, batch.logp_BT[rows], batch.streams.rows(rows))
        averaged_BT += torch.autograd.grad(num_ranks * local, batch.logp_BT)[0] / num_ranks
    torch.testing.assert_close(averaged_BT, grad_BT, rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize("name", [name for name in ALGORITHMS if name != "cispo"])
@pytest.mark.parametrize("seed", range(3))
def test_the_gradient_is_that_of_finite_differences(
    name: str, seed: int, make_batch: Callable[..., Any]
) -> None:
    algorithm = make_algorithm(name)
    batch = make_batch(algorithm, seed)
    mask_BT, logp_BT = batch.streams.mask_BT, batch.logp_BT.detach()

    def loss_of(token_N: torch.Tensor) -> torch.Tensor:
        full_BT = torch.where(mask_BT, torch.zeros_like(logp_BT), logp_BT)
        full_BT = full_BT.masked_scatter(mask_BT, token_N)
        return policy_loss(algorithm, full_BT, batch.streams)[0]

    assert torch.autograd.gradcheck(loss_of, logp_BT[mask_BT].requires_grad_())


def test_the_gradient_of_cispo_holds_its_ratio_constant(make_batch: Callable[..., Any]) -> None:
    algorithm = make_algorithm("cispo", cap_high=1.1)
    batch = make_batch(algorithm, 0)
    mask_BT, streams = batch.streams.mask_BT, batch.streams
    _, grad_BT, metrics = loss_and_grad(algorithm, batch)
    ratio_BT = (batch.logp_BT - streams.logp_old_BT).exp()
    expected_BT = -streams.weight_BT * ratio_BT.clamp(max=1.1) * streams.advantage_BT
    torch.testing.assert_close(grad_BT[mask_BT], expected_BT[mask_BT])
    assert metrics["sum/clip_high"] == (ratio_BT > 1.1)[mask_BT].sum() > 0


@every_algorithm
def test_float32_stays_float32_and_near_float64(name: str, make_batch: Callable[..., Any]) -> None:
    algorithm = make_algorithm(name)
    exact, _, _ = loss_and_grad(algorithm, make_batch(algorithm, 5))
    loss, grad_BT, _ = loss_and_grad(algorithm, make_batch(algorithm, 5, dtype=torch.float32))
    assert loss.dtype == grad_BT.dtype == torch.float32
    assert loss.item() == pytest.approx(exact.item(), rel=1e-4, abs=1e-6)


RULES = [Reinforce(), ImportanceSampling(), Ppo(), Ppo(dual_clip=3.0), Gspo(), Gmpo(), Cispo()]


@pytest.mark.parametrize("rule", RULES, ids=repr)
def test_on_policy_every_rule_is_the_policy_gradient(
    rule: Any, make_batch: Callable[..., Any]
) -> None:
    algorithm = replace(rloo(), rule=Gspo(), aggregation=Aggregation("row", "tokens"))
    batch = make_batch(algorithm, 0)
    streams, logp_BT = batch.streams, batch.logp_BT
    on_policy = (logp_BT, logp_BT.detach(), streams.advantage_BT, streams.mask_BT)
    surrogate = rule(*on_policy)
    weight_BT = masked(streams.weight_BT, streams.mask_BT)
    (grad_BT,) = torch.autograd.grad((weight_BT * surrogate.loss_BT).sum(), logp_BT)
    advantage_BT = masked(streams.advantage_BT, streams.mask_BT)
    torch.testing.assert_close(grad_BT, -weight_BT * advantage_BT)
    assert not surrogate.is_clipped_low_BT.any()
    assert not surrogate.is_clipped_high_BT.any()


@given(st.lists(st.sampled_from([0.1, 0.3, 0.729, 1e6, -1e-3]), min_size=1, max_size=4), st.data())
@quick
def test_a_constant_group_gets_exactly_zero(levels: list[float], data: st.DataObject) -> None:
    sizes = data.draw(st.lists(st.integers(1, 9), min_size=len(levels), max_size=len(levels)))
    return_N, group_N = np.repeat(levels, sizes), np.repeat(np.arange(len(levels)), sizes)
    for baseline in ("mean", "loo"):
        for scale in ("none", "group_std", "batch_std"):
            got = group_advantage(return_N, group_N, baseline=baseline, scale=scale)
            assert_array_equal(got, np.zeros(len(return_N)))


@given(episodes, st.data())
@quick
def test_group_advantages_ignore_labels_order_and_level(
    values: list[float], data: st.DataObject
) -> None:
    size = len(values)
    group_N = np.array(data.draw(st.lists(st.integers(0, 3), min_size=size, max_size=size)))
    order = np.array(data.draw(st.permutations(range(size))))
    return_N = np.array(values)
    before = group_advantage(return_N, group_N)
    assert_allclose(group_advantage(return_N[order], 7 - group_N[order]), before[order])
    shifted = group_advantage(return_N + 10.0 * group_N, group_N)
    assert_allclose(shifted, before, atol=1e-9)
    for label in set(group_N.tolist()):
        assert before[group_N == label].sum() == pytest.approx(0.0, abs=1e-9)


@given(st.lists(rewards, min_size=2, max_size=9))
@quick
def test_leaving_oneself_out_stretches_the_distance_to_the_mean(values: list[float]) -> None:
    group_N, size = np.zeros(len(values)), len(values)
    loo, mean = (group_advantage(values, group_N, baseline=b) for b in ("loo", "mean"))
    assert_allclose(loo, size / (size - 1) * mean)


@given(st.lists(rewards, min_size=2, max_size=20))
@quick
def test_standardized_values_have_mean_0_and_deviation_1_or_are_all_0(values: list[float]) -> None:
    got = standardize(values, eps=0.0)
    if got.any():
        assert got.mean() == pytest.approx(0.0, abs=1e-6)
        assert got.std() == pytest.approx(1.0, rel=1e-6)
    else:
        assert len(set(values)) == 1


@pytest.mark.parametrize("ddof", [0, 1])
def test_a_single_value_standardizes_to_0(ddof: int) -> None:
    assert standardize([5.0], ddof=ddof).tolist() == [0.0]


@pytest.mark.parametrize(("value", "num"), [(0.1, 16), (0.729, 128), (1e9, 3), (-3.3, 7)])
def test_equal_returns_standardize_to_exactly_0(value: float, num: int) -> None:
    assert_array_equal(standardize(np.full(num, value)), np.zeros(num))


@given(episodes, st.floats(0, 1))
@quick
def test_gae_without_a_critic_is_the_return(reward_T: list[float], gamma: float) -> None:
    zero_T = np.zeros(len(reward_T))
    advantage_T, _ = gae(reward_T, zero_T, gamma=gamma, lam=1.0, is_terminated=True)
    assert_allclose(advantage_T, discounted_returns(reward_T, gamma=gamma))


def test_an_end_ignores_the_bootstrap_and_a_cut_uses_it() -> None:
    def last(is_terminated: bool, bootstrap_value: float) -> float:
        advantage_T, _ = gae(
            [1.0],
            [0.5],
            gamma=0.9,
            lam=0.9,
            is_terminated=is_terminated,
            bootstrap_value=bootstrap_value,
        )
        return float(advantage_T[0])

    assert last(True, 100.0) == last(True, 0.0) == pytest.approx(0.5)
    assert last(False, 1.0) == pytest.approx(1.4)


@given(seeds)
@quick
def test_standardizing_over_tokens_is_whitening_of_the_token_matrix(seed: int) -> None:
    table = random_table(seed)
    num_tokens_N = table.num_tokens_N
    assert num_tokens_N is not None
    algorithm = reinforce_pp_baseline()
    plain_N = turn_advantages(replace(algorithm, standardize=None), table).advantage_N
    mask_NT = np.arange(9) < num_tokens_N[:, None]
    whitened_NT = standardize(
        np.where(mask_NT, plain_N[:, None], np.nan), ddof=1, eps=0.0, weight=mask_NT
    )
    got_N = turn_advantages(algorithm, table).advantage_N
    assert_allclose(whitened_NT, np.where(mask_NT, got_N[:, None], 0.0), atol=1e-12)


@given(seeds)
@quick
def test_covariance_masks_select_trainable_tokens_only(seed: int) -> None:
    rng = np.random.default_rng(seed)
    mask = torch.tensor(rng.random((3, 20)) < rng.random())
    cov = token_covariance(torch.tensor(rng.normal(size=(3, 20))), torch.ones(3, 20), mask)
    selected = kl_cov_mask(cov, mask, fraction=0.1)
    num_tokens = int(mask.sum())
    assert not (selected & ~mask).any()
    assert int(selected.sum()) == min(max(int(0.1 * num_tokens), 1), num_tokens)
    unselected = mask & ~selected
    if unselected.any() and selected.any():
        assert cov[selected].min() >= cov[unselected].max()


def test_clip_cov_drops_only_candidates_and_draws_them_by_the_generator() -> None:
    cov = torch.linspace(0.0, 6.0, 100)[None]
    mask, is_clipped = torch.ones(1, 100, dtype=torch.bool), cov > 4.0

    def drop(seed: int) -> torch.Tensor:
        draw = torch.Generator().manual_seed(seed)
        return clip_cov_mask(cov, is_clipped, mask, generator=draw, fraction=0.05)

    assert int(drop(0).sum()) == 5
    assert ((cov[drop(0)] > 1.0) & (cov[drop(0)] <= 4.0)).all()
    assert torch.equal(drop(0), drop(0))
    assert not torch.equal(drop(0), drop(1))
