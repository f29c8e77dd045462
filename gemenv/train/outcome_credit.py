"""Credit that reads more than the return: correctness, length, the answer itself, the role played.

Shapes: N episodes, G episodes of one group.
"""

from collections.abc import Hashable, Mapping, Sequence
from typing import Literal

import numpy as np
import numpy.typing as npt

from gemenv.train.advantage import FloatArray, group_advantage, group_members
from gemenv.train.checks import require_same_shape, require_setting


def correctness_advantage(
    is_correct_N: npt.ArrayLike, *, positive: float, negative: float
) -> FloatArray:
    """Reinforce right answers by one weight and suppress wrong ones by another.

    Args:
        is_correct_N: [N] bool.
        positive: advantage of a correct episode, 0 or more.
        negative: what a wrong episode loses, 0 or more.

    Returns:
        [N] float64: `positive` or `-negative`.

    Example:
        >>> correctness_advantage([True, False], positive=0.1, negative=1.0).tolist()
        [0.1, -1.0]

    Source: arXiv:2506.01347: PSR is (1, 0), NSR is (0, 1), W-REINFORCE is (0.1, 1).
    """
    return np.where(np.asarray(is_correct_N).astype(bool), positive, 0.0 - negative)


def filtered_group_advantage(
    return_N: npt.ArrayLike,
    group_N: npt.ArrayLike,
    score_N: npt.ArrayLike,
    *,
    num_kept: int,
    ddof: int = 1,
    eps: float = 1e-6,
) -> FloatArray:
    """Keep the best-scored episodes of each group, compare them, and ignore the rest.

    Args:
        return_N: [N] undiscounted returns.
        group_N: [N] group labels.
        score_N: [N] what to keep by, higher first: minus the length, or the return per token.
        num_kept: how many stay in each group, at least 1; ties go to the earlier episode.
        ddof: of the kept episodes' standard deviation.
        eps: added to it.

    Returns:
        [N] float64: the GRPO advantage inside the kept set, 0 outside.

    Raises:
        ContractError: if the lengths differ.
        ConfigError: if `num_kept` is below 1.

    Example:
        >>> filtered_group_advantage([1, 0, 0], [0, 0, 0], [3, 2, 1], num_kept=2).round(3)
        array([ 0.707, -0.707,  0.   ])

    Source: GFPO, arXiv:2508.09726.
    """
    require_setting(num_kept >= 1, "num_kept", "1 or more", num_kept)
    return_N, score_N = np.asarray(return_N, np.float64), np.asarray(score_N, np.float64)
    group_N = np.asarray(group_N)
    require_same_shape(return_N=return_N, group_N=group_N, score_N=score_N)
    advantage_N = np.zeros_like(return_N)
    for members in group_members(group_N):
        kept = members[np.argsort(-score_N[members], kind="stable")[:num_kept]]
        advantage_N[kept] = group_advantage(
            return_N[kept], group_N[kept], scale="group_std", ddof=ddof, eps=eps
        )
    return advantage_N


def ema_baseline(
    return_N: npt.ArrayLike,
    key_N: Sequence[Hashable],
    baseline: Mapping[Hashable, float],
    *,
    decay: float = 0.95,
) -> tuple[FloatArray, dict[Hashable, float]]:
    """Subtract a running mean per key, such as (game, role) in self-play.

    Args:
        return_N: [N] undiscounted returns, in the order in which the baseline sees them.
        key_N: [N] whose baseline each episode uses.
        baseline: the running means so far; a key that is not there starts at 0.
        decay: how much of the old mean stays, 0 to 1.

    Returns:
        [N] float64 advantages, and new baselines as they stand after the last episode.

    Raises:
        ContractError: if the lengths differ.

    Example:
        >>> ema_baseline([1.0, 1.0], ["first", "first"], {}, decay=0.5)[0].tolist()
        [1.0, 0.5]

    Source: SPIRAL's role-conditioned advantage estimation, arXiv:2506.24119.
    """
    return_N = np.asarray(return_N, np.float64)
    require_same_shape(return_N=return_N, key_N=np.empty(len(key_N)))
    running = dict(baseline)
    advantage_N = np.empty_like(return_N)
    for n, key in enumerate(key_N):
        before = running.get(key, 0.0)
        advantage_N[n] = return_N[n] - before
        running[key] = decay * before + (1.0 - decay) * float(return_N[n])
    return advantage_N, running


def semantic_entropy(cluster_G: npt.ArrayLike, *, estimator: Literal["mc", "plugin"]) -> float:
    """Measure how much the answers to one question disagree, in nats.

    Args:
        cluster_G: [G] a label per answer; answers that mean the same share it.
        estimator: "mc" averages -log p over the distinct answers, "plugin" weighs it by p.

    Returns:
        0 where all answers agree.

    Example:
        >>> round(semantic_entropy([0, 0, 1, 1], estimator="plugin"), 4)
        0.6931

    Source: SEED-GRPO, arXiv:2505.12346.
    """
    require_setting(estimator in ("mc", "plugin"), "estimator", '"mc" or "plugin"', estimator)
    _, count_K = np.unique(np.asarray(cluster_G), return_counts=True)
    prob_K = count_K / count_K.sum()
    weight_K = prob_K if estimator == "plugin" else np.full(len(prob_K), 1.0 / len(prob_K))
    return float(-(weight_K * np.log(prob_K)).sum())


def uncertainty_scale(
    entropy: float, *, group_size: int, alpha: float = 0.02, shape: Literal["linear", "exp"]
) -> float:
    """Damp the advantages of a question whose answers disagree.

    Args:
        entropy: the question's `semantic_entropy`.
        group_size: number of answers; log(group_size) is the largest entropy.
        alpha: strength, 0 or more.
        shape: 1 - alpha x, or exp(-alpha x), with x the entropy over its largest value.

    Returns:
        The factor for this question's advantages; 1 for full agreement or a single answer.

    Example:
        >>> uncertainty_scale(0.0, group_size=8, shape="linear")
        1.0

    Source: SEED-GRPO, arXiv:2505.12346.
    """
    require_setting(shape in ("linear", "exp"), "shape", '"linear" or "exp"', shape)
    if group_size < 2:
        return 1.0
    damping = alpha * entropy / float(np.log(group_size))
    return 1.0 - damping if shape == "linear" else float(np.exp(-damping))
