"""The critic's regression. Shapes: N transitions."""

from dataclasses import dataclass

import torch
from torch import Tensor

from gemenv.train.checks import require_same_shape, require_setting


@dataclass(frozen=True, kw_only=True)
class ValueLoss:
    """Half the squared error, the worse of the raw and the clipped value.

    Example:
        >>> one = torch.ones(1)
        >>> ValueLoss(clip=None)(3.0 * one, one, one, weight_N=one).item()
        2.0

    Source: PPO, arXiv:1707.06347, as in its reference code.
    """

    coef: float = 1.0
    """Factor of the critic's loss beside the policy's; above 0."""
    clip: float | None = 0.2
    """How far the value may move in an update, in units of return; above 0. None: freely."""

    def __post_init__(self) -> None:
        require_setting(self.coef > 0, "value.coef", "a number above 0", self.coef)
        is_valid = self.clip is None or self.clip > 0
        require_setting(is_valid, "value.clip", "None or a number above 0", self.clip)

    def __call__(
        self, value_N: Tensor, value_old_N: Tensor, target_N: Tensor, *, weight_N: Tensor
    ) -> Tensor:
        """Sum the weighted errors; over micro-batches, the sums add up.

        Args:
            value_N: [N] current values, with gradient.
            value_old_N: [N] values at the start of the update.
            target_N: [N] from `turn_advantages`.
            weight_N: [N] weights; 1 / N of the global batch makes it a mean.

        Returns:
            A scalar, times `coef`.

        Raises:
            ContractError: if the shapes differ (a [N, 1] against [N] would broadcast silently).
        """
        require_same_shape(
            value_N=value_N, value_old_N=value_old_N, target_N=target_N, weight_N=weight_N
        )
        error_N = (value_N - target_N) ** 2
        if self.clip is not None:
            held_N = value_old_N + (value_N - value_old_N).clamp(-self.clip, self.clip)
            error_N = torch.maximum(error_N, (held_N - target_N) ** 2)
        return self.coef * 0.5 * (weight_N * error_N).sum()
