"""The one loss: from token streams to a scalar and its metrics, for any algorithm.

    L = sum of W * (w_off * rule + beta * kl - c * entropy)

W, w_off and the advantages are constants. Shapes: B rows, T token slots. Every stream holds, in
slot t, what belongs to the token in slot t; masked slots may hold anything.
"""

from dataclasses import dataclass, replace
from typing import Any, Self

import torch
from torch import Tensor

from gemenv.errors import ContractError
from gemenv.train.algorithms import Algorithm
from gemenv.train.checks import require_same_shape
from gemenv.train.losses.kl import kl_terms
from gemenv.train.losses.log_ratio import masked
from gemenv.train.losses.metrics import (
    Metrics,
    off_policy_metrics,
    reference_metrics,
    sampler_metrics,
    surrogate_metrics,
    update_metrics,
)
from gemenv.train.losses.surrogate import Base


@dataclass(frozen=True, kw_only=True, eq=False)
class TokenStreams:
    """What is known of each token of a micro-batch, beside its current log-prob.

    An algorithm's `required_streams` says which optional ones it needs; the others only feed
    metrics. All but `entropy_BT` are constants.
    """

    mask_BT: Tensor
    """[B, T] bool: True for tokens that the policy sampled and that may be trained on."""
    advantage_BT: Tensor
    """[B, T] the advantage of the token's turn."""
    weight_BT: Tensor
    """[B, T] W, computed once on the global batch: `algorithm.aggregation.weights`."""
    logp_old_BT: Tensor | None = None
    """[B, T] log-probs of the trainer's weights at the start of the update."""
    logp_sampler_BT: Tensor | None = None
    """[B, T] log-probs that the engine reported at the sampling temperature; NaN where missing."""
    logp_ref_BT: Tensor | None = None
    """[B, T] log-probs of the reference policy."""
    entropy_BT: Tensor | None = None
    """[B, T] entropy of the current policy at this slot, with gradient if it is rewarded."""

    def __post_init__(self) -> None:
        require_same_shape(**vars(self))
        if self.mask_BT.dtype != torch.bool:
            raise ContractError(
                problem="The mask is not boolean.",
                expected="mask_BT of dtype torch.bool",
                got=self.mask_BT.dtype,
                fix="pass mask_BT.bool()",
            )

    def rows(self, index: Any) -> Self:
        """Take some rows, for a micro-batch.

        Args:
            index: a slice, or a [b] index or bool tensor.

        Returns:
            The same streams with b rows.
        """
        taken = {name: None if v is None else v[index] for name, v in vars(self).items()}
        return replace(self, **taken)

    def needed(self, name: str) -> Tensor:
        """Return an optional stream that an algorithm cannot do without.

        Args:
            name: the field.

        Returns:
            [B, T] the stream.

        Raises:
            ContractError: if it is None.
        """
        stream: Tensor | None = getattr(self, name)
        if stream is None:
            raise ContractError(
                problem=f"The algorithm needs the stream {name}, which is missing.",
                expected=f"a [B, T] tensor as {name}",
                got=None,
                fix="compute every stream in algorithm.required_streams",
            )
        return stream

    def sampler_or(self, fallback_BT: Tensor) -> Tensor:
        """Return the sampler's log-probs; where none was reported the ratio will be 1.

        Args:
            fallback_BT: [B, T] the other side of the ratio.

        Returns:
            [B, T] without NaN from the sampler; `sampler_missing` in the metrics counts them.

        Raises:
            ContractError: if the whole stream is missing.
        """
        sampler_BT = self.needed("logp_sampler_BT")
        return torch.where(sampler_BT.isnan(), fallback_BT, sampler_BT)


def policy_loss(
    algorithm: Algorithm, logp_BT: Tensor, streams: TokenStreams
) -> tuple[Tensor, Metrics]:
    """Compute the loss of a micro-batch; summed over micro-batches it is the loss of the batch.

    Where gradients are averaged over ranks, multiply by the number of ranks.

    Args:
        algorithm: its rule, correction, KL and entropy terms are read.
        logp_BT: [B, T] log-probs of the current policy, with gradient.
        streams: the other streams of the same rows.

    Returns:
        A scalar to minimise, and detached metrics to be combined by `merge_metrics`.

    Raises:
        ContractError: if a required stream is missing, or the shapes differ.

    Example:
        >>> from gemenv.train.presets import rloo
        >>> logp = torch.tensor([[-1.0, -2.0]], requires_grad=True)
        >>> streams = TokenStreams(
        ...     mask_BT=torch.tensor([[True, True]]), advantage_BT=torch.full((1, 2), 0.5),
        ...     weight_BT=torch.ones(1, 2))
        >>> loss, metrics = policy_loss(rloo(), logp, streams)
        >>> loss.item()
        1.5

    Source: each part's own; the decoupled objective: AReaL, arXiv:2505.24298, eq. 5.
    """
    require_same_shape(mask_BT=streams.mask_BT, logp_BT=logp_BT)
    mask_BT, rule, off_policy = streams.mask_BT, algorithm.rule, algorithm.off_policy
    base_BT = _base_logp(rule.base, logp_BT, streams)
    surrogate = rule(logp_BT, base_BT, streams.advantage_BT, mask_BT)
    metrics = _stream_metrics(logp_BT, streams) | surrogate_metrics(surrogate, mask_BT)
    token_loss_BT = surrogate.loss_BT
    if off_policy is not None:
        numerator_BT = _base_logp(off_policy.numerator, logp_BT, streams)
        w_off_BT = off_policy.weights(numerator_BT, streams.sampler_or(numerator_BT), mask_BT)
        token_loss_BT = w_off_BT * token_loss_BT
        metrics |= off_policy_metrics(w_off_BT)
    if algorithm.kl is not None:
        ref_BT = streams.needed("logp_ref_BT")
        kl_BT = kl_terms(logp_BT, ref_BT, mask_BT, kind=algorithm.kl.kind)
        token_loss_BT = token_loss_BT + algorithm.kl.coef * kl_BT
    if algorithm.entropy_coef > 0:
        entropy_BT = masked(streams.needed("entropy_BT"), mask_BT)
        token_loss_BT = token_loss_BT - algorithm.entropy_coef * entropy_BT
    loss = (masked(streams.weight_BT, mask_BT) * token_loss_BT).sum()
    return loss, {name: value.double() for name, value in metrics.items()}


def _base_logp(base: Base, logp_BT: Tensor, streams: TokenStreams) -> Tensor:
    if base == "old":
        return streams.needed("logp_old_BT")
    current_BT = logp_BT.detach()
    return current_BT if base == "current" else streams.sampler_or(current_BT)


@torch.no_grad()
def _stream_metrics(logp_BT: Tensor, streams: TokenStreams) -> Metrics:
    mask_BT, old_BT = streams.mask_BT, streams.logp_old_BT
    metrics: Metrics = {}
    if streams.entropy_BT is not None:
        metrics["sum/entropy"] = masked(streams.entropy_BT, mask_BT).sum()
    if streams.logp_ref_BT is not None:
        metrics |= reference_metrics(logp_BT, streams.logp_ref_BT, mask_BT)
    if old_BT is not None:
        metrics |= update_metrics(logp_BT, old_BT, mask_BT)
    if streams.logp_sampler_BT is not None:
        trainer_BT = logp_BT if old_BT is None else old_BT
        metrics |= sampler_metrics(trainer_BT, streams.logp_sampler_BT, mask_BT)
    return metrics
