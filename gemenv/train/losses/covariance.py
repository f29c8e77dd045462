"""Tokens that drive the entropy down: those where log-prob and advantage are high together.

The statistics are those of the batch that is passed in: pass a whole minibatch, not a micro-batch.
Shapes: B rows, T token slots.
"""

import torch
from torch import Tensor

from gemenv.train.losses.log_ratio import masked

# Stands where the mask is 0, below any covariance.
MASKED_COVARIANCE = -1e30


@torch.no_grad()
def token_covariance(logp_BT: Tensor, advantage_BT: Tensor, mask_BT: Tensor) -> Tensor:
    """Multiply each token's centred advantage by its centred log-prob.

    Args:
        logp_BT: [B, T] log-probs.
        advantage_BT: [B, T] advantages.
        mask_BT: [B, T] bool; only these tokens enter the means.

    Returns:
        [B, T] without gradient; -1e30 where masked.

    Example:
        >>> yes = torch.tensor([[True, True]])
        >>> token_covariance(torch.tensor([[-1.0, -3.0]]), torch.tensor([[1.0, 0.0]]), yes).tolist()
        [[0.5, 0.5]]

    Source: arXiv:2505.22617.
    """
    num_tokens = mask_BT.sum().clamp(min=1)
    centered_logp_BT = logp_BT - masked(logp_BT, mask_BT).sum() / num_tokens
    centered_advantage_BT = advantage_BT - masked(advantage_BT, mask_BT).sum() / num_tokens
    return torch.where(mask_BT, centered_advantage_BT * centered_logp_BT, MASKED_COVARIANCE)


@torch.no_grad()
def kl_cov_mask(covariance_BT: Tensor, mask_BT: Tensor, *, fraction: float) -> Tensor:
    """Select the tokens with the highest covariance, to be held back by a penalty |log r|.

    Args:
        covariance_BT: [B, T] from `token_covariance`.
        mask_BT: [B, T] bool.
        fraction: of the trainable tokens; at least one is selected if there is any.

    Returns:
        [B, T] bool.

    Example:
        >>> kl_cov_mask(torch.tensor([[3.0, 1.0]]), torch.tensor([[True, True]]), fraction=0.5)
        tensor([[ True, False]])

    Source: KL-Cov, arXiv:2505.22617 (0.0002 to 0.002 there).
    """
    num_tokens = int(mask_BT.sum())
    num_selected = min(max(int(fraction * num_tokens), 1), num_tokens)
    is_selected_BT = torch.zeros_like(mask_BT)
    is_selected_BT.view(-1)[covariance_BT.flatten().topk(num_selected).indices] = True
    return is_selected_BT


@torch.no_grad()
def clip_cov_mask(
    covariance_BT: Tensor,
    is_clipped_BT: Tensor,
    mask_BT: Tensor,
    *,
    generator: torch.Generator,
    low: float = 1.0,
    high: float = 5.0,
    fraction: float = 2e-4,
) -> Tensor:
    """Draw tokens of high covariance whose gradient is to be dropped.

    They stay in the denominators of the aggregation.

    Args:
        covariance_BT: [B, T] from `token_covariance`.
        is_clipped_BT: [B, T] bool, tokens that the ratio's clip has already stopped.
        mask_BT: [B, T] bool.
        generator: source of the draw.
        low: the covariance must be above this.
        high: and below this.
        fraction: of the trainable tokens; at least one is drawn if any qualifies.

    Returns:
        [B, T] bool, True for the tokens to drop.

    Example:
        >>> yes, no = torch.tensor([[True, True]]), torch.tensor([[False, False]])
        >>> draw = torch.Generator().manual_seed(0)
        >>> clip_cov_mask(torch.tensor([[2.0, 9.0]]), no, yes, generator=draw)
        tensor([[ True, False]])

    Source: Clip-Cov, arXiv:2505.22617.
    """
    is_candidate_BT = mask_BT & ~is_clipped_BT & (covariance_BT > low) & (covariance_BT < high)
    candidate_N = is_candidate_BT.flatten().nonzero().flatten()
    num_dropped = max(int(fraction * int(mask_BT.sum())), 1)
    order_N = torch.randperm(len(candidate_N), generator=generator).to(candidate_N.device)
    is_dropped_BT = torch.zeros_like(mask_BT)
    is_dropped_BT.view(-1)[candidate_N[order_N[:num_dropped]]] = True
    return is_dropped_BT
