"""How weights follow gradients: AdamW, or Muon on the matrices of the layers."""

from typing import Any

import torch
from torch import Tensor, nn
from torch.distributed.tensor import DTensor
from torch.optim import AdamW, Muon, Optimizer

from gemenv.train.config import OptimizerConfig
from gemenv.train.network import PolicyNetwork


class PolicyOptimizer:
    """One step for all weights of a network, whichever optimizer holds them.

    Args:
        network: what is trained.
        config: rates and the rest.
        num_steps: length of the phase, in the unit of `set_progress`.

    Source: AdamW: arXiv:1711.05101; Muon: Jordan et al. 2024.
    """

    def __init__(self, network: PolicyNetwork, config: OptimizerConfig, num_steps: int) -> None:
        self._parameters = [p for p in network.parameters() if p.requires_grad]
        self._config, self._num_steps = config, num_steps
        matrices = _layer_matrices(network) if config.matrices == "muon" else []
        is_matrix = {id(p) for p in matrices}
        others = [p for p in self._parameters if id(p) not in is_matrix]
        decay = config.weight_decay
        self._peaks = [config.learning_rate]
        self._parts: list[Optimizer] = [
            AdamW(others, lr=config.learning_rate, betas=(0.9, 0.95), weight_decay=decay)
        ]
        if matrices:
            self._peaks.append(config.muon_learning_rate)
            self._parts.append(Muon(matrices, lr=config.muon_learning_rate, weight_decay=decay))

    def set_progress(self, step: int) -> float:
        """Set the learning rates of a step.

        Args:
            step: counted from 0.

        Returns:
            AdamW's learning rate.
        """
        factor = rate_factor(self._config, step, self._num_steps)
        for peak, part in zip(self._peaks, self._parts, strict=True):
            for group in part.param_groups:
                group["lr"] = peak * factor
        return self._peaks[0] * factor

    def clip(self) -> Tensor:
        """Scale the gradients down to the norm that is allowed.

        Returns:
            The norm before, a scalar; non-finite if any gradient is.
        """
        norm = nn.utils.clip_grad_norm_(self._parameters, self._config.max_grad_norm)
        return norm.full_tensor() if isinstance(norm, DTensor) else norm

    def step(self) -> None:
        """Change the weights."""
        for part in self._parts:
            part.step()

    def zero_grad(self) -> None:
        """Forget the gradients."""
        for part in self._parts:
            part.zero_grad(set_to_none=True)

    def state_dict(self) -> list[dict[str, Any]]:
        """Return all that a resumed run needs."""
        return [part.state_dict() for part in self._parts]

    def load_state_dict(self, state: list[dict[str, Any]]) -> None:
        """Go on from a saved state."""
        for part, saved in zip(self._parts, state, strict=True):
            part.load_state_dict(saved)


def rate_factor(config: OptimizerConfig, step: int, num_steps: int) -> float:
    """Say by how much the peak learning rate is multiplied.

    Args:
        config: its `warmup` and `decay` are read.
        step: counted from 0.
        num_steps: length of the phase.

    Returns:
        0 to 1.

    Example:
        >>> config = OptimizerConfig(warmup=2)
        >>> [rate_factor(config, step, 6) for step in range(6)]
        [0.5, 1.0, 1.0, 0.75, 0.5, 0.25]
    """
    if step < config.warmup:
        return (step + 1) / config.warmup
    if config.decay == "constant":
        return 1.0
    return (num_steps - step) / max(1, num_steps - config.warmup)


def _layer_matrices(network: PolicyNetwork) -> list[nn.Parameter]:
    """Return the 2-D weights, but for embeddings, the head over tokens and the critic."""
    ends = [network.model.get_input_embeddings(), network.model.get_output_embeddings()]
    kept_out = {id(p) for module in ends for p in module.parameters()}
    return [
        p
        for p in network.model.parameters()
        if p.requires_grad and p.ndim == 2 and id(p) not in kept_out
    ]


def is_finite(*values: Tensor) -> bool:
    """Tell whether all of these numbers are finite."""
    return all(bool(torch.isfinite(value).all()) for value in values)
