"""What a loss reports beside its value, in a form that adds up over micro-batches and ranks.

The rule is in the name: a part named `sum/x` is added, a part named `max/x` is the largest. Only
`summarize_metrics` divides, once, so no mean of means is ever taken.
Shapes: B rows, T token slots.
"""

from collections.abc import Iterable, Mapping

import torch
from torch import Tensor

from gemenv.errors import ContractError
from gemenv.train.losses.kl import kl_terms
from gemenv.train.losses.log_ratio import masked
from gemenv.train.losses.surrogate import Surrogate

Metrics = dict[str, Tensor]

_NUM_TOKENS = "sum/num_tokens"


def surrogate_metrics(surrogate: Surrogate, mask_BT: Tensor) -> Metrics:
    """Count the tokens, and those whose ratio was clipped.

    Args:
        surrogate: from a ratio rule.
        mask_BT: [B, T] bool.

    Returns:
        `num_tokens`, `clip_low` and `clip_high` (fractions of tokens once summarised).
    """
    return {
        _NUM_TOKENS: mask_BT.sum(),
        "sum/clip_low": surrogate.is_clipped_low_BT.sum(),
        "sum/clip_high": surrogate.is_clipped_high_BT.sum(),
    }


def reference_metrics(logp_BT: Tensor, ref_BT: Tensor, mask_BT: Tensor) -> Metrics:
    """Estimate the divergence from the reference in three ways.

    Args:
        logp_BT: [B, T] current log-probs.
        ref_BT: [B, T] log-probs of the reference.
        mask_BT: [B, T] bool.

    Returns:
        `ref_kl_k1`, `ref_kl_k2` and `ref_kl_k3`, in nats per token.
    """
    return {
        f"sum/ref_kl_{kind}": kl_terms(logp_BT, ref_BT, mask_BT, kind=kind).sum()
        for kind in ("k1", "k2", "k3")
    }


def update_metrics(logp_BT: Tensor, old_BT: Tensor, mask_BT: Tensor) -> Metrics:
    """Estimate how far the update has moved the policy.

    Args:
        logp_BT: [B, T] current log-probs.
        old_BT: [B, T] log-probs at the start of the update.
        mask_BT: [B, T] bool.

    Returns:
        `approx_kl`: k3 of KL(old, current), in nats per token.
    """
    return {"sum/approx_kl": kl_terms(old_BT, logp_BT, mask_BT, kind="k3").sum()}


def sampler_metrics(trainer_BT: Tensor, sampler_BT: Tensor, mask_BT: Tensor) -> Metrics:
    """Estimate how far the engine that sampled is from the trainer's policy.

    Args:
        trainer_BT: [B, T] log-probs of the trainer at the start of the update.
        sampler_BT: [B, T] log-probs that the engine reported; NaN where it reported none.
        mask_BT: [B, T] bool.

    Returns:
        `sampler_kl_v1` (mean difference) and `sampler_kl_v2` (half the mean square), in nats per
        token, and `sampler_missing`, the fraction of tokens that came without a log-prob.

    Source: arXiv:2510.26788.
    """
    is_missing_BT = mask_BT & sampler_BT.isnan()
    delta_BT = masked(sampler_BT - trainer_BT, mask_BT & ~is_missing_BT)
    return {
        "sum/sampler_kl_v1": delta_BT.sum(),
        "sum/sampler_kl_v2": 0.5 * (delta_BT**2).sum(),
        "sum/sampler_missing": is_missing_BT.sum(),
    }


def off_policy_metrics(weight_BT: Tensor) -> Metrics:
    """Describe the off-policy weights; masked slots weigh 0.

    Args:
        weight_BT: [B, T] from `OffPolicy.weights`.

    Returns:
        `off_policy_weight` (mean), `off_policy_weight_max` and, once summarised,
        `off_policy_ess`: the effective sample size as a fraction of the tokens.
    """
    return {
        "sum/off_policy_weight": weight_BT.sum(),
        "sum/off_policy_weight_squared": (weight_BT**2).sum(),
        "max/off_policy_weight_max": weight_BT.max(),
    }


def merge_metrics(parts: Iterable[Mapping[str, Tensor]]) -> Metrics:
    """Combine the parts of micro-batches or ranks; the result is again such a part.

    Args:
        parts: metrics with the same names.

    Returns:
        Sums of the `sum/` entries, maxima of the `max/` entries.

    Raises:
        ContractError: if the names differ.

    Example:
        >>> parts = [{"sum/x": torch.tensor(1.0)}, {"sum/x": torch.tensor(2.0)}]
        >>> merge_metrics(parts)
        {'sum/x': tensor(3.)}
    """
    first, *others = parts
    merged = dict(first)
    for part in others:
        if part.keys() != merged.keys():
            raise ContractError(
                problem="Micro-batches report different metrics, so their sums would lie.",
                expected=f"the names {sorted(merged)}",
                got=sorted(part),
                fix="give every micro-batch of an update the same optional streams",
            )
        for name, value in part.items():
            is_sum = name.startswith("sum/")
            merged[name] = merged[name] + value if is_sum else torch.maximum(merged[name], value)
    return merged


def summarize_metrics(total: Mapping[str, Tensor]) -> dict[str, float]:
    """Divide the sums of a whole update by its tokens.

    Args:
        total: what `merge_metrics` gave.

    Returns:
        Plain numbers by name without the prefix: means per token, maxima, `num_tokens` and, with
        off-policy weights, `off_policy_ess`.

    Raises:
        ContractError: if there was no trainable token.

    Example:
        >>> total = {"sum/num_tokens": torch.tensor(4), "sum/entropy": torch.tensor(2.0)}
        >>> summarize_metrics(total)
        {'num_tokens': 4.0, 'entropy': 0.5}
    """
    value = {name: float(part) for name, part in total.items()}
    num_tokens = value[_NUM_TOKENS]
    if num_tokens == 0:
        raise ContractError(
            problem="There is no trainable token to take a mean over.",
            expected="at least one slot with mask 1 in the update",
            got=num_tokens,
            fix="check that the batch has policy tokens before the update",
        )
    summary = {
        name[4:]: v / num_tokens if name.startswith("sum/") else v for name, v in value.items()
    }
    summary["num_tokens"] = num_tokens
    if (mean_square := summary.pop("off_policy_weight_squared", None)) is not None:
        mean = summary["off_policy_weight"]
        summary["off_policy_ess"] = mean**2 / mean_square if mean_square > 0 else 0.0
    return summary
