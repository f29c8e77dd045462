"""Differences of log-probs that can be exponentiated: masked first, then clamped.

Shapes: B rows, T token slots. Slot t holds the log-prob of the token in slot t.
"""

import torch
from torch import Tensor

# exp(20) is 5e8: beyond it a ratio says only "far apart", and float32 nears its limits.
LOG_RATIO_CAP = 20.0


def masked(value_BT: Tensor, mask_BT: Tensor) -> Tensor:
    """Put 0 where the mask is 0, whatever stood there, and let no gradient through.

    Args:
        value_BT: [B, T]; masked slots may hold anything, NaN included.
        mask_BT: [B, T] bool.

    Returns:
        [B, T] of the same dtype.

    Example:
        >>> masked(torch.tensor([[1.0, float("nan")]]), torch.tensor([[True, False]])).tolist()
        [[1.0, 0.0]]
    """
    return torch.where(mask_BT, value_BT, torch.zeros_like(value_BT))


def log_ratio(logp_BT: Tensor, base_BT: Tensor, mask_BT: Tensor) -> Tensor:
    """Subtract two log-probs token by token, safe to exponentiate.

    Args:
        logp_BT: [B, T] log-probs of the numerator.
        base_BT: [B, T] log-probs of the denominator.
        mask_BT: [B, T] bool, True for trainable tokens.

    Returns:
        [B, T] clamped to +-20 (gradient 0 outside), 0 where masked.

    Example:
        >>> far, near = torch.tensor([[0.0, -1.0]]), torch.tensor([[-50.0, -1.5]])
        >>> log_ratio(far, near, torch.tensor([[True, True]])).tolist()
        [[20.0, 0.5]]
    """
    return masked(logp_BT - base_BT, mask_BT).clamp(-LOG_RATIO_CAP, LOG_RATIO_CAP)


def sequence_log_ratio(
    logp_BT: Tensor, base_BT: Tensor, mask_BT: Tensor, *, is_mean: bool
) -> Tensor:
    """Sum or average the log ratios of each row's tokens, safe to exponentiate.

    Tokens are not clamped one by one, so that the ratio is that of the whole sequence.

    Args:
        logp_BT: [B, T] log-probs of the numerator.
        base_BT: [B, T] log-probs of the denominator.
        mask_BT: [B, T] bool, True for trainable tokens.
        is_mean: True for the geometric mean of the ratios, False for their product.

    Returns:
        [B, 1] clamped to +-20 (gradient 0 outside); 0 for a row without trainable tokens.

    Example:
        >>> logp, base = torch.tensor([[-1.0, -1.0]]), torch.tensor([[-2.0, -4.0]])
        >>> sequence_log_ratio(logp, base, torch.tensor([[True, True]]), is_mean=True).tolist()
        [[2.0]]

    Source: GSPO, arXiv:2507.18071 (the geometric mean).
    """
    total_B1 = masked(logp_BT - base_BT, mask_BT).sum(dim=1, keepdim=True)
    if is_mean:
        total_B1 = total_B1 / mask_BT.sum(dim=1, keepdim=True).clamp(min=1)
    return total_B1.clamp(-LOG_RATIO_CAP, LOG_RATIO_CAP)
