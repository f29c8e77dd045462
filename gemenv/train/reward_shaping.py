"""Rewards that depend on length.

Shape rewards before any group statistic is taken. Shapes: N episodes, G
episodes of one group.
"""

import numpy as np
import numpy.typing as npt

from gemenv.train.advantage import FloatArray
from gemenv.train.checks import require_same_shape, require_setting


def overlong_penalty(
    num_tokens_N: npt.ArrayLike, *, max_tokens: int, buffer_tokens: int
) -> FloatArray:
    """Charge answers that run into the last stretch before the limit.

    Args:
        num_tokens_N: [N] response lengths.
        max_tokens: the limit; beyond it the penalty is -1.
        buffer_tokens: length of the stretch before the limit, over which it falls from 0 to -1.

    Returns:
        [N] float64 between -1 and 0, to be added to the reward.

    Raises:
        ConfigError: if the buffer is not between 1 and the limit.

    Example:
        >>> overlong_penalty([50, 90, 200], max_tokens=100, buffer_tokens=20).tolist()
        [0.0, -0.5, -1.0]

    Source: DAPO, arXiv:2503.14476 (soft overlong punishment; 20,480 and 4,096 there).
    """
    domain = "from 1 to max_tokens"
    require_setting(1 <= buffer_tokens <= max_tokens, "buffer_tokens", domain, buffer_tokens)
    num_tokens_N = np.asarray(num_tokens_N, np.float64)
    into_buffer_N = num_tokens_N - (max_tokens - buffer_tokens)
    return -np.clip(into_buffer_N / buffer_tokens, 0.0, 1.0) + 0.0


def relative_length_reward(is_correct_G: npt.ArrayLike, num_tokens_G: npt.ArrayLike) -> FloatArray:
    """Prefer the short answers among those to one question; never reward a wrong one.

    Args:
        is_correct_G: [G] bool.
        num_tokens_G: [G] response lengths.

    Returns:
        [G] float64 from 0.5 (shortest) to -0.5 (longest), at most 0 where wrong; 0 where all
        lengths are equal.

    Raises:
        ContractError: if the lengths differ.

    Example:
        >>> relative_length_reward([True, False, True], [10, 10, 30]).tolist()
        [0.5, 0.0, -0.5]

    Source: Kimi k1.5, arXiv:2501.12599 (added with a weight that is 0 during warm-up).
    """
    is_correct_G = np.asarray(is_correct_G).astype(bool)
    num_tokens_G = np.asarray(num_tokens_G, np.float64)
    require_same_shape(is_correct_G=is_correct_G, num_tokens_G=num_tokens_G)
    spread = num_tokens_G.max() - num_tokens_G.min()
    if spread == 0:
        return np.zeros_like(num_tokens_G)
    reward_G = 0.5 - (num_tokens_G - num_tokens_G.min()) / spread
    return np.where(is_correct_G | (reward_G < 0), reward_G, 0.0)


def target_length_penalty(
    num_tokens_N: npt.ArrayLike, target_tokens_N: npt.ArrayLike, *, alpha: float = 0.0003
) -> FloatArray:
    """Charge the distance to a length that the prompt asked for.

    Args:
        num_tokens_N: [N] response lengths.
        target_tokens_N: [N] requested lengths.
        alpha: penalty per token.

    Returns:
        [N] float64, 0 or less, to be added to the reward.

    Example:
        >>> target_length_penalty([90], [100], alpha=0.01).tolist()
        [-0.1]

    Source: L1, arXiv:2503.04697.
    """
    distance_N = np.asarray(num_tokens_N, np.float64) - np.asarray(target_tokens_N, np.float64)
    return -alpha * np.abs(distance_N)
