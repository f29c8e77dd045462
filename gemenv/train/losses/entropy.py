"""Entropy of the next-token distribution. Shapes: B rows, T token slots, V vocabulary."""

import torch
from torch import Tensor


def entropy_from_logits(logit_BTV: Tensor) -> Tensor:
    """Compute the entropy of the softmax over the last axis, in nats.

    Args:
        logit_BTV: [..., V] logits at the temperature of training; -inf for excluded tokens.

    Returns:
        [...] entropies, between 0 and log V, with gradient.

    Example:
        >>> entropy_from_logits(torch.tensor([0.0, 0.0, float("-inf")])).item()  # log 2
        0.6931471824645996

    Source: Shannon 1948.
    """
    logp_BTV = logit_BTV.log_softmax(dim=-1)
    finite_BTV = logp_BTV.masked_fill(logp_BTV == -torch.inf, 0.0)  # 0 log 0 is 0, not NaN
    return -(logp_BTV.exp() * finite_BTV).sum(dim=-1)
