"""Credit per token rather than per turn. Shapes: B rows, T token slots.

REINFORCE++ is `kl_penalized_reward`, then `gae_tokens` with values 0 and gamma = lam = 1, then
`standardize` with the mask as weight.
"""

import numpy as np
import numpy.typing as npt

from gemenv.train.advantage import FloatArray, gae
from gemenv.train.checks import require_same_shape


def kl_penalized_reward(
    reward_B: npt.ArrayLike,
    logp_old_BT: npt.ArrayLike,
    logp_ref_BT: npt.ArrayLike,
    mask_BT: npt.ArrayLike,
    *,
    coef: float,
) -> FloatArray:
    """Charge each token its k1 divergence, and pay the row's reward on its last trainable token.

    Args:
        reward_B: [B] reward of each row.
        logp_old_BT: [B, T] log-probs of the sampling policy; only read where the mask is 1.
        logp_ref_BT: [B, T] log-probs of the reference; only read where the mask is 1.
        mask_BT: [B, T] 1 for trainable tokens.
        coef: price of one nat.

    Returns:
        [B, T] float64, 0 where the mask is 0; constants, so that no gradient flows through them.

    Raises:
        ContractError: if the shapes differ.

    Example:
        >>> kl_penalized_reward([1.0], [[-1., -1., 0.]], [[-1., -2., 0.]], [[1, 1, 0]], coef=0.5)
        array([[0. , 0.5, 0. ]])

    Source: REINFORCE++, arXiv:2501.03262.
    """
    mask_BT = np.asarray(mask_BT).astype(bool)
    old_BT, ref_BT = np.asarray(logp_old_BT, np.float64), np.asarray(logp_ref_BT, np.float64)
    require_same_shape(mask_BT=mask_BT, logp_old_BT=old_BT, logp_ref_BT=ref_BT)
    reward_BT = np.zeros(mask_BT.shape)
    reward_BT[mask_BT] = -coef * (old_BT[mask_BT] - ref_BT[mask_BT])
    for mask_T, reward_T, reward in zip(mask_BT, reward_BT, np.asarray(reward_B), strict=True):
        if mask_T.any():
            reward_T[np.flatnonzero(mask_T)[-1]] += reward
    return reward_BT + 0.0  # no -0.0


def gae_tokens(
    reward_BT: npt.ArrayLike,
    value_BT: npt.ArrayLike,
    mask_BT: npt.ArrayLike,
    *,
    gamma: float,
    lam: float,
) -> tuple[FloatArray, FloatArray]:
    """Estimate token-level advantages, as if the environment's tokens were not there.

    Slots with mask 0 are skipped: no discount is paid for them and nothing is bootstrapped from
    them. Each row is taken to end after its last trainable token.

    Args:
        reward_BT: [B, T] reward of each token; only read where the mask is 1.
        value_BT: [B, T] value before each token; only read where the mask is 1.
        mask_BT: [B, T] 1 for tokens that the policy sampled.
        gamma: discount per token, 0 to 1.
        lam: as in `gae`; below 1 it favours the end of long answers.

    Returns:
        [B, T] advantages and [B, T] value targets, float64, 0 where the mask is 0.

    Raises:
        ContractError: if the shapes differ.

    Example:
        >>> gae_tokens([[0., 9., 1.]], [[0., 9., 0.]], [[1, 0, 1]], gamma=0.5, lam=1.0)[0].tolist()
        [[0.5, 0.0, 1.0]]

    Source: arXiv:1506.02438 over policy tokens; gamma = lam = 1 in arXiv:2503.24290.
    """
    reward_BT, value_BT = np.asarray(reward_BT, np.float64), np.asarray(value_BT, np.float64)
    mask_BT = np.asarray(mask_BT).astype(bool)
    require_same_shape(reward_BT=reward_BT, value_BT=value_BT, mask_BT=mask_BT)
    advantage_BT, target_BT = np.zeros_like(reward_BT), np.zeros_like(reward_BT)
    for b, mask_T in enumerate(mask_BT):
        advantage_BT[b, mask_T], target_BT[b, mask_T] = gae(
            reward_BT[b, mask_T], value_BT[b, mask_T], gamma=gamma, lam=lam, is_terminated=True
        )
    return advantage_BT, target_BT
