"""Weights that correct for data that the policy being trained did not sample itself.

Shapes: B rows, T token slots.
"""

from dataclasses import dataclass
from typing import Literal, get_args

import torch
from torch import Tensor

from gemenv.train.checks import require_setting
from gemenv.train.losses.log_ratio import log_ratio, masked, sequence_log_ratio

Level = Literal["token", "seq", "geo"]
Mode = Literal["truncate", "mask"]
Numerator = Literal["old", "current"]


@dataclass(frozen=True, kw_only=True)
class OffPolicy:
    """Multiply the policy loss by a bounded ratio of the trainer's policy to the sampler's.

    | level, mode, bounds | known as |
    |---|---|
    | token, truncate, high 2 | TIS: truncated importance sampling |
    | seq, truncate, high 3 | sequence TIS |
    | seq, mask, high 3 | MIS: masked importance sampling |
    | token, mask, 0.5 to 5 | IcePop |

    A rejected token weighs 0 and stays in the denominators of the aggregation.
    """

    level: Level
    """One ratio per token, per row (the product), or per row (the geometric mean)."""
    mode: Mode
    """Outside the bounds: move the ratio to the bound, or put 0."""
    high: float
    """Upper bound; above `low`."""
    low: float = 0.0
    """Lower bound, 0 or more."""
    numerator: Numerator = "old"
    """The policy at the start of the update, or the current one (as a constant)."""

    def __post_init__(self) -> None:
        for name, got, kinds in (
            ("level", self.level, get_args(Level)),
            ("mode", self.mode, get_args(Mode)),
            ("numerator", self.numerator, get_args(Numerator)),
        ):
            require_setting(got in kinds, f"off_policy.{name}", f"one of {kinds}", got)
        require_setting(self.low >= 0, "off_policy.low", "a number of 0 or more", self.low)
        require_setting(self.high > self.low, "off_policy.high", "a number above low", self.high)

    @torch.no_grad()
    def weights(self, numerator_BT: Tensor, sampler_BT: Tensor, mask_BT: Tensor) -> Tensor:
        """Compute the weights, which carry no gradient.

        Args:
            numerator_BT: [B, T] log-probs of the policy that `numerator` names.
            sampler_BT: [B, T] log-probs that the sampler reported, at the same temperature.
            mask_BT: [B, T] bool.

        Returns:
            [B, T], 0 where masked.

        Example:
            >>> tis = OffPolicy(level="token", mode="truncate", high=2.0)
            >>> tis.weights(torch.zeros(1, 2), -torch.ones(1, 2), torch.tensor([[True, False]]))
            tensor([[2., 0.]])

        Source: TIS: Yao et al. 2025; MIS and sequence TIS: arXiv:2510.26788; IcePop: Ring-1T,
            arXiv:2510.18855; the two-ratio objective: AReaL, arXiv:2505.24298, eq. 5.
        """
        if self.level == "token":
            ratio_BT = log_ratio(numerator_BT, sampler_BT, mask_BT).exp()
        else:
            is_mean = self.level == "geo"
            ratio_B1 = sequence_log_ratio(numerator_BT, sampler_BT, mask_BT, is_mean=is_mean).exp()
            ratio_BT = ratio_B1.expand_as(numerator_BT)
        if self.mode == "truncate":
            bounded_BT = ratio_BT.clamp(self.low, self.high)
        else:
            is_kept_BT = (ratio_BT >= self.low) & (ratio_BT <= self.high)
            bounded_BT = masked(ratio_BT, is_kept_BT)
        return masked(bounded_BT, mask_BT)
