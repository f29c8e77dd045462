"""Reinforcement without a verifier: the reward is the policy's own probability of the answer.

Shapes: B rows, T token slots.
"""

from typing import NamedTuple

import numpy.typing as npt
import torch
from torch import Tensor

from gemenv.train.advantage import group_advantage
from gemenv.train.losses.log_ratio import masked


class VerifreeLoss(NamedTuple):
    """The loss, and what it was made of."""

    loss: Tensor
    """A scalar: the mean over rows."""
    reward_B: Tensor
    """[B] probability of the reference answer after each reasoning, without gradient."""
    advantage_B: Tensor
    """[B] reward less the mean of the group's others, without gradient."""


def verifree_loss(
    logp_BT: Tensor,
    reasoning_mask_BT: Tensor,
    answer_mask_BT: Tensor,
    group_B: npt.ArrayLike,
    *,
    is_finished_B: Tensor | None = None,
) -> VerifreeLoss:
    """Reinforce the reasoning by its advantage, and the reference answer by its probability.

    Args:
        logp_BT: [B, T] log-probs of the sampled reasoning and of the reference answer after it.
        reasoning_mask_BT: [B, T] bool, the sampled tokens.
        answer_mask_BT: [B, T] bool, the tokens of the reference answer, disjoint from the former.
        group_B: [B] rows of the same question share a label.
        is_finished_B: [B] bool; a reasoning that never came to an answer has reward 0.

    Returns:
        The loss with gradient, rewards and advantages.

    Example:
        >>> logp = torch.tensor([[-1.0, 0.0], [-1.0, -99.0]])  # answers of probability 1 and 0
        >>> think, answer = torch.tensor([[True, False]] * 2), torch.tensor([[False, True]] * 2)
        >>> verifree_loss(logp, think, answer, [0, 0]).advantage_B.tolist()
        [1.0, -1.0]

    Source: VeriFree, arXiv:2505.21493, eq. 5 to 7.
    """
    reasoning_logp_B = masked(logp_BT, reasoning_mask_BT).sum(dim=1)
    answer_logp_B = masked(logp_BT, answer_mask_BT).sum(dim=1)
    reward_B = answer_logp_B.detach().exp()
    if is_finished_B is not None:
        reward_B = masked(reward_B, is_finished_B)
    advantage = group_advantage(reward_B.double().cpu().numpy(), group_B, baseline="loo")
    advantage_B = torch.as_tensor(advantage).to(reward_B)
    loss = -(advantage_B * reasoning_logp_B + reward_B * answer_logp_B).mean()
    return VerifreeLoss(loss, reward_B, advantage_B)
