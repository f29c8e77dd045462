"""Low-rank adapters: train two thin matrices beside each frozen one."""

import torch
from torch import Tensor, nn

from gemenv.train.checks import require_setting


class LoraLinear(nn.Module):
    """A frozen linear layer plus (alpha / rank) times a low-rank product, which starts at 0.

    Args:
        base: the layer to adapt; its parameters are frozen.
        rank: width of the bottleneck, 1 or more; 1 is enough for RL.
        alpha: strength of the adapter, above 0.
        generator: source of the initial values of A.

    Example:
        >>> base = nn.Linear(4, 3)
        >>> layer = LoraLinear(base, rank=1, alpha=32.0, generator=torch.Generator().manual_seed(0))
        >>> torch.equal(layer(torch.ones(4)), base(torch.ones(4)))  # B is 0
        True

    Source: arXiv:2106.09685; learning rates near ten times those of full training: Schulman et
        al., "LoRA Without Regret" (2025).
    """

    def __init__(
        self, base: nn.Linear, *, rank: int, alpha: float = 32.0, generator: torch.Generator
    ) -> None:
        super().__init__()
        require_setting(rank >= 1, "lora.rank", "1 or more", rank)
        require_setting(alpha > 0, "lora.alpha", "a number above 0", alpha)
        self.base = base.requires_grad_(False)
        self.scale = alpha / rank
        weight = base.weight
        bound = base.in_features**-0.5
        start = torch.rand(rank, base.in_features, generator=generator) * 2 * bound - bound
        self.lora_a = nn.Parameter(start.to(weight))
        self.lora_b = nn.Parameter(weight.new_zeros(base.out_features, rank))

    def forward(self, x: Tensor) -> Tensor:
        """Apply the layer and its adapter to [..., in_features]."""
        return self.base(x) + self.scale * (x @ self.lora_a.T @ self.lora_b.T)

    def merged_weight(self) -> Tensor:
        """Return the one matrix [out_features, in_features] that does the same, for an engine."""
        return self.base.weight + self.scale * (self.lora_b @ self.lora_a)
