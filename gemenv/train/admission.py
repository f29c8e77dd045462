"""Which rollouts may start, and which may be trained on.

Shapes: N episodes, B rows.
"""

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from gemenv.train.advantage import FloatArray, group_members
from gemenv.train.checks import require_same_shape


def staleness_capacity(
    *, max_staleness: int, version: int, batch_size: int, num_started: int
) -> int:
    """Count the rollouts that may start now without any ending up too old to train on.

    Args:
        max_staleness: how many updates a rollout may lag behind; 0 is synchronous.
        version: number of updates done.
        batch_size: rollouts per update.
        num_started: rollouts accepted so far plus those running.

    Returns:
        How many may start; 0 or less means none (negative after `max_staleness` was lowered).

    Example:
        >>> staleness_capacity(max_staleness=1, version=0, batch_size=8, num_started=10)
        6

    Source: AReaL, arXiv:2505.24298, eq. 3.
    """
    return (max_staleness + version + 1) * batch_size - num_started


def row_staleness(version_B: Sequence[Sequence[int]], *, current: int) -> npt.NDArray[np.int64]:
    """Measure how many updates lie between a row's oldest token and now.

    Args:
        version_B: for each row, the policy version of each of its sampled tokens (or turns).
        current: the learner's version.

    Returns:
        [B] int64; a row is fresh enough where this is at most the allowed staleness.

    Example:
        >>> row_staleness([[3, 3, 4], [6]], current=6).tolist()
        [3, 0]

    Source: AReaL, arXiv:2505.24298 (rollouts that span several versions).
    """
    return np.array([current - min(version_T) for version_T in version_B], np.int64)


def is_in_mixed_group(
    is_success_N: npt.ArrayLike, group_N: npt.ArrayLike, *, low: float = 0.0, high: float = 1.0
) -> npt.NDArray[np.bool_]:
    """Find the episodes whose group has something to teach: neither all right nor all wrong.

    Args:
        is_success_N: [N] bool.
        group_N: [N] group labels.
        low: a group stays if its success rate is above this, 0 to 1.
        high: and below this, 0 to 1.

    Returns:
        [N] bool; the same for all episodes of a group.

    Raises:
        ContractError: if the lengths differ.

    Example:
        >>> is_in_mixed_group([1, 0, 1, 1], [7, 7, 8, 8]).tolist()
        [True, True, False, False]

    Source: DAPO's dynamic sampling, arXiv:2503.14476.
    """
    is_success_N, group_N = np.asarray(is_success_N).astype(bool), np.asarray(group_N)
    require_same_shape(is_success_N=is_success_N, group_N=group_N)
    is_kept_N = np.zeros(len(group_N), bool)
    for members in group_members(group_N):
        is_kept_N[members] = low < is_success_N[members].mean() < high
    return is_kept_N


def unsolved_first_probs(success_rate_N: npt.ArrayLike) -> FloatArray:
    """Draw tasks in proportion to how often they are still failed.

    Args:
        success_rate_N: [N] success rate of each task, 0 to 1.

    Returns:
        [N] float64 probabilities, summing to 1; uniform where every task is solved.

    Example:
        >>> unsolved_first_probs([1.0, 0.5, 0.0]).round(3).tolist()
        [0.0, 0.333, 0.667]

    Source: Kimi k1.5, arXiv:2501.12599 (prioritised sampling).
    """
    failure_rate_N = 1.0 - np.asarray(success_rate_N, np.float64)
    total = failure_rate_N.sum()
    if total == 0:
        return np.full(len(failure_rate_N), 1.0 / len(failure_rate_N))
    return failure_rate_N / total
