"""Returns and advantages: pure numpy, float64, no state.

Shapes: N episodes or transitions, T steps of one episode, G episodes of one group.
"""

from collections.abc import Iterator
from typing import Any, Literal, get_args

import numpy as np
import numpy.typing as npt

from gemenv.train.checks import require_same_shape, require_setting

FloatArray = npt.NDArray[np.float64]

Baseline = Literal["none", "mean", "loo"]
Scale = Literal["none", "group_std", "batch_std"]
Singleton = Literal["zero", "raw"]

# A spread this far below the values is rounding (float64 carries 2e-16), not signal.
_CONSTANT_RTOL = 1e-8


def discounted_returns(
    reward_T: npt.ArrayLike, *, gamma: float, bootstrap_value: float = 0.0
) -> FloatArray:
    """Sum the discounted rewards that follow each step: G_t = r_t + gamma G_(t+1).

    Args:
        reward_T: [T] rewards of one episode, in order.
        gamma: discount per step, 0 to 1.
        bootstrap_value: the value of the state after the last step; 0 where the episode terminated.

    Returns:
        [T] float64 returns.

    Example:
        >>> discounted_returns([0.0, 0.0, 1.0], gamma=0.5).tolist()
        [0.25, 0.5, 1.0]

    Source: GEM, arXiv:2510.01051, eq. 1 (one step is one turn).
    """
    reward_T = np.asarray(reward_T, np.float64)
    return_T = np.empty_like(reward_T)
    following = bootstrap_value
    for t in reversed(range(len(reward_T))):
        following = reward_T[t] + gamma * following
        return_T[t] = following
    return return_T


def gae(
    reward_T: npt.ArrayLike,
    value_T: npt.ArrayLike,
    *,
    gamma: float,
    lam: float,
    is_terminated: bool,
    bootstrap_value: float = 0.0,
) -> tuple[FloatArray, FloatArray]:
    """Estimate the advantages of one episode by exponentially averaged temporal differences.

    Args:
        reward_T: [T] rewards, in order.
        value_T: [T] the critic's value of the state before each step.
        gamma: discount per step, 0 to 1.
        lam: 0 is the one-step difference, 1 is the return minus the value.
        is_terminated: whether the task ended; then `bootstrap_value` is not read.
        bootstrap_value: the critic's value of the state after the last step.

    Returns:
        [T] advantages and [T] value targets (advantage + value), both float64.

    Raises:
        ContractError: if the lengths differ.

    Example:
        >>> gae([0.0, 1.0], [0.5, 0.5], gamma=1.0, lam=1.0, is_terminated=True)[0].tolist()
        [0.5, 0.5]

    Source: arXiv:1506.02438, eq. 16.
    """
    reward_T, value_T = np.asarray(reward_T, np.float64), np.asarray(value_T, np.float64)
    require_same_shape(reward_T=reward_T, value_T=value_T)
    next_value_T = np.append(value_T[1:], 0.0 if is_terminated else bootstrap_value)[: len(value_T)]
    delta_T = reward_T + gamma * next_value_T - value_T
    advantage_T = discounted_returns(delta_T, gamma=gamma * lam)
    return advantage_T, advantage_T + value_T


def standardize(
    value: npt.ArrayLike,
    *,
    ddof: int = 0,
    eps: float = 1e-9,
    weight: npt.ArrayLike | None = None,
) -> FloatArray:
    """Shift to mean 0 and scale to standard deviation 1, in two passes.

    Over all transitions of a batch this is return batch normalisation (ReBN). With the number of
    tokens of each transition as weights it equals whitening over tokens.

    Args:
        value: any shape, float64.
        ddof: 0 divides the squares by the count, 1 by the count less one.
        eps: added to the standard deviation.
        weight: how often each entry counts; entries of weight 0 are not read, and get 0.

    Returns:
        float64 of the same shape; exactly 0 where all entries are equal or fewer than two count.

    Raises:
        ContractError: if the shapes differ.

    Example:
        >>> standardize([1.0, 3.0], eps=0.0).tolist()
        [-1.0, 1.0]
        >>> standardize([0.1, 0.1, 0.1]).tolist()
        [0.0, 0.0, 0.0]

    Source: GEM, arXiv:2510.01051 (ReBN).
    """
    value = np.asarray(value, np.float64)
    weight = np.ones_like(value) if weight is None else np.asarray(weight, np.float64)
    require_same_shape(value=value, weight=weight)
    value = np.where(weight > 0, value, 0.0)
    count = weight.sum()
    if count < 2:
        return np.zeros_like(value)
    mean = (weight * value).sum() / count
    centered = np.where(weight > 0, value - mean, 0.0)
    std = np.sqrt((weight * centered**2).sum() / (count - ddof))
    return np.zeros_like(value) if _is_rounding(std, mean) else centered / (std + eps)


def group_advantage(
    return_N: npt.ArrayLike,
    group_N: npt.ArrayLike,
    *,
    baseline: Baseline = "mean",
    scale: Scale = "none",
    ddof: int = 1,
    eps: float = 1e-6,
    singleton: Singleton = "zero",
) -> FloatArray:
    """Compare each episode with the others that started from the same state.

    Args:
        return_N: [N] undiscounted returns, one per episode.
        group_N: [N] which episodes share an initial state; any labels, in any order.
        baseline: what is subtracted: nothing, the group's mean, or the mean of the others.
        scale: what divides: nothing, the group's standard deviation, or that of the centred batch.
        ddof: 0 or 1, for either standard deviation.
        eps: added to the standard deviation.
        singleton: a group of one gets 0, or with "raw" keeps its return.

    Returns:
        [N] float64; exactly 0 in a group whose returns are all equal (unless nothing is subtracted
        and nothing divides).

    Raises:
        ContractError: if the lengths differ.
        ConfigError: if a setting is unknown.

    Example:
        >>> group_advantage([1.0, 0.0, 0.5], [7, 7, 8]).tolist()
        [0.5, -0.5, 0.0]

    Source: GRPO, arXiv:2402.03300 (mean, group_std); Dr. GRPO, arXiv:2503.20783 (mean, none);
        RLOO, arXiv:2402.14740 (loo, none).
    """
    require_group_settings(baseline, scale, ddof, singleton)
    return_N, group_N = np.asarray(return_N, np.float64), np.asarray(group_N)
    require_same_shape(return_N=return_N, group_N=group_N)
    advantage_N = np.zeros_like(return_N)
    for members in group_members(group_N):
        return_G = return_N[members]
        if len(members) == 1 and singleton == "raw":
            advantage_N[members] = return_G
        else:
            std_eps = eps if scale == "group_std" else None
            advantage_N[members] = _within_group(return_G, baseline, ddof, std_eps)
    return _over_batch_std(advantage_N, ddof, eps) if scale == "batch_std" else advantage_N


def group_members(group_N: npt.NDArray[Any]) -> Iterator[npt.NDArray[np.intp]]:
    """Yield, group by group, the positions that carry the same label, in their order.

    Args:
        group_N: [N] labels.

    Yields:
        [G] positions into `group_N`, ascending; groups in the order of their labels.

    Example:
        >>> [members.tolist() for members in group_members(np.array([5, 3, 5]))]
        [[1], [0, 2]]
    """
    if len(group_N):
        order = np.argsort(group_N, kind="stable")
        label_N = group_N[order]
        yield from np.split(order, np.flatnonzero(label_N[1:] != label_N[:-1]) + 1)


def _within_group(
    return_G: FloatArray, baseline: Baseline, ddof: int, std_eps: float | None
) -> FloatArray:
    size, mean = len(return_G), return_G.mean()
    if baseline == "none" and std_eps is None:
        return return_G
    std = return_G.std(ddof=ddof) if size > 1 else 0.0
    if _is_rounding(std, mean):
        return np.zeros_like(return_G)
    advantage_G = return_G if baseline == "none" else return_G - mean
    if baseline == "loo":  # leaving oneself out of the mean stretches the distance to it
        advantage_G = advantage_G * size / (size - 1)
    return advantage_G if std_eps is None else advantage_G / (std + std_eps)


def _over_batch_std(advantage_N: FloatArray, ddof: int, eps: float) -> FloatArray:
    if len(advantage_N) < 2:
        return np.zeros_like(advantage_N)
    std = advantage_N.std(ddof=ddof)
    if _is_rounding(std, advantage_N.mean()):
        return np.zeros_like(advantage_N)
    return advantage_N / (std + eps)


def _is_rounding(std: float, mean: float) -> bool:
    return bool(std <= _CONSTANT_RTOL * max(1.0, abs(mean)))


def require_group_settings(baseline: str, scale: str, ddof: int, singleton: str) -> None:
    """Refuse settings that `group_advantage` does not know.

    Args:
        baseline: see `group_advantage`, like the others.
        scale: what divides.
        ddof: of the standard deviation.
        singleton: what a group of one gets.

    Raises:
        ConfigError: naming the first unknown setting.
    """
    for name, got, kinds in (
        ("baseline", baseline, get_args(Baseline)),
        ("scale", scale, get_args(Scale)),
        ("singleton", singleton, get_args(Singleton)),
        ("ddof", ddof, (0, 1)),
    ):
        require_setting(got in kinds, name, f"one of {kinds}", got)
