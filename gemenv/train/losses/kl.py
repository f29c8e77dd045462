"""Estimators of the divergence from a reference policy, from sampled tokens.

Shapes: B rows, T token slots.
"""

from dataclasses import dataclass
from typing import Literal, get_args

import torch
from torch import Tensor

from gemenv.train.checks import require_setting
from gemenv.train.losses.log_ratio import log_ratio

KlKind = Literal["k1", "k2", "k3", "forward"]


def kl_terms(logp_BT: Tensor, ref_BT: Tensor, mask_BT: Tensor, *, kind: KlKind) -> Tensor:
    """Estimate the divergence token by token.

    With d = logp - ref:

    | kind | term | its expected value | its expected gradient, as a loss |
    |---|---|---|---|
    | k1 | d | KL(policy, ref) | 0: useless as a loss |
    | k2 | d^2 / 2 | near KL(policy, ref) | that of KL(policy, ref) |
    | k3 | exp(-d) - 1 + d | KL(policy, ref), never below 0 | that of KL(ref, policy) |
    | forward | 1 - exp(-d) (1 + d) | KL(ref, policy) | weighs each token by d exp(-d) |

    Args:
        logp_BT: [B, T] log-probs of the policy that sampled the tokens, with gradient.
        ref_BT: [B, T] log-probs of the reference, constants.
        mask_BT: [B, T] bool.
        kind: which estimator.

    Returns:
        [B, T], 0 where masked.

    Raises:
        ConfigError: if the kind is unknown.

    Example:
        >>> zero, yes = torch.zeros(1, 1), torch.tensor([[True]])
        >>> kl_terms(zero - 1.0, zero, yes, kind="k2").tolist()
        [[0.5]]

    Source: Schulman, "Approximating KL divergence" (2020); k3 as a loss: GRPO, arXiv:2402.03300.
    """
    require_setting(kind in get_args(KlKind), "kl.kind", f"one of {get_args(KlKind)}", kind)
    delta_BT = log_ratio(logp_BT, ref_BT, mask_BT)
    if kind == "k1":
        return delta_BT
    if kind == "k2":
        return 0.5 * delta_BT**2
    if kind == "k3":
        return torch.expm1(-delta_BT) + delta_BT
    return -delta_BT * torch.exp(-delta_BT) - torch.expm1(-delta_BT)


@dataclass(frozen=True, kw_only=True)
class KlPenalty:
    """A divergence from the reference that is added to the loss, weighted like the policy's term.

    Example:
        >>> KlPenalty(coef=0.04).kind
        'k3'
    """

    coef: float
    """Price of one nat; above 0 (for 0 leave the penalty out: no reference model is loaded)."""
    kind: KlKind = "k3"
    """The estimator; see `kl_terms`. k1 has no gradient here: pay it in the reward instead."""

    def __post_init__(self) -> None:
        require_setting(self.coef > 0, "kl.coef", "a number above 0", self.coef)
        kinds = tuple(kind for kind in get_args(KlKind) if kind != "k1")
        require_setting(self.kind in kinds, "kl.kind", f"one of {kinds}", self.kind)
