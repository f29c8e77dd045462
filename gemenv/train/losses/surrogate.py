"""Ratio rules: how an advantage pushes a token's log-prob.

A rule is called with the current log-probs, those of its base policy, the advantages and the mask,
and gives each token's loss before weighting. `base` names the policy in the ratio's denominator.
Shapes: B rows, T token slots.
"""

from dataclasses import dataclass
from typing import ClassVar, Literal, NamedTuple, Protocol

import torch
from torch import Tensor

from gemenv.train.checks import require_setting
from gemenv.train.losses.log_ratio import LOG_RATIO_CAP, log_ratio, masked, sequence_log_ratio

Base = Literal["current", "old", "sampler"]


class Surrogate(NamedTuple):
    """What a rule says about each token."""

    loss_BT: Tensor
    """[B, T] the loss before weighting, with gradient; 0 where masked."""
    is_clipped_low_BT: Tensor
    """[B, T] bool: the ratio is below its bound and the gradient was cut."""
    is_clipped_high_BT: Tensor
    """[B, T] bool: the ratio is above its bound and the gradient was cut or bounded."""


class Rule(Protocol):
    """A frozen set of bounds that can be called."""

    base: ClassVar[Base]
    """Whose log-probs are the denominator: none (the current policy), the one at the start of the
    update (the proximal policy), or the engine that sampled."""
    is_per_row: ClassVar[bool]
    """Whether one ratio serves a whole row; then a row's tokens must share one advantage."""

    def __call__(
        self, logp_BT: Tensor, base_BT: Tensor, advantage_BT: Tensor, mask_BT: Tensor
    ) -> Surrogate:
        """Give each token's loss.

        Args:
            logp_BT: [B, T] current log-probs, with gradient.
            base_BT: [B, T] log-probs of the base policy, constants.
            advantage_BT: [B, T] constants.
            mask_BT: [B, T] bool; masked slots may hold anything.

        Returns:
            The loss of each token, and where it was clipped.
        """
        ...


@dataclass(frozen=True, kw_only=True)
class Reinforce:
    """Minus A log p: the plain policy gradient, for data of the current policy.

    Example:
        >>> one, yes = torch.ones(1, 1), torch.tensor([[True]])
        >>> Reinforce()(-2.0 * one, one, one, yes).loss_BT.tolist()
        [[2.0]]

    Source: Williams 1992.
    """

    base: ClassVar[Base] = "current"
    is_per_row: ClassVar[bool] = False

    def __call__(
        self, logp_BT: Tensor, base_BT: Tensor, advantage_BT: Tensor, mask_BT: Tensor
    ) -> Surrogate:
        """Weigh log-probs by advantages; `base_BT` is not read."""
        return _unclipped(-masked(advantage_BT, mask_BT) * masked(logp_BT, mask_BT))


@dataclass(frozen=True, kw_only=True)
class ImportanceSampling:
    """Minus A r, with r the ratio to the engine that sampled, unclipped.

    Example:
        >>> one, yes = torch.ones(1, 1), torch.tensor([[True]])
        >>> ImportanceSampling()(-one, -one, 3.0 * one, yes).loss_BT.tolist()
        [[-3.0]]

    Source: the `importance_sampling` loss of the Tinker API.
    """

    base: ClassVar[Base] = "sampler"
    is_per_row: ClassVar[bool] = False

    def __call__(
        self, logp_BT: Tensor, base_BT: Tensor, advantage_BT: Tensor, mask_BT: Tensor
    ) -> Surrogate:
        """Weigh ratios by advantages."""
        ratio_BT = log_ratio(logp_BT, base_BT, mask_BT).exp()
        return _unclipped(-masked(advantage_BT, mask_BT) * ratio_BT)


@dataclass(frozen=True, kw_only=True)
class Ppo:
    """The pessimistic clip: no reward for leaving [1 - clip_low, 1 + clip_high].

    Example:
        >>> one, yes = torch.ones(1, 1), torch.tensor([[True]])
        >>> rule = Ppo(clip_low=0.2, clip_high=0.5)
        >>> rule(0.0 * one, -one, one, yes).loss_BT.tolist()  # ratio e, held at 1.5
        [[-1.5]]

    Source: PPO, arXiv:1707.06347, eq. 7; two bounds: DAPO, arXiv:2503.14476; the dual clip:
        arXiv:1912.09729.
    """

    base: ClassVar[Base] = "old"
    is_per_row: ClassVar[bool] = False

    clip_low: float = 0.2
    """How far the ratio may fall below 1; 0 to 1."""
    clip_high: float = 0.2
    """How far the ratio may rise above 1; above 0."""
    dual_clip: float | None = None
    """Where A < 0, the loss is at most -A times this; above 1. None leaves it unbounded."""

    def __post_init__(self) -> None:
        _require_ratio_clips(self.clip_low, self.clip_high)
        is_valid = self.dual_clip is None or self.dual_clip > 1
        require_setting(is_valid, "dual_clip", "None or a number above 1", self.dual_clip)

    def __call__(
        self, logp_BT: Tensor, base_BT: Tensor, advantage_BT: Tensor, mask_BT: Tensor
    ) -> Surrogate:
        """Take the worse of the raw and the clipped ratio."""
        advantage_BT = masked(advantage_BT, mask_BT)
        ratio_BT = log_ratio(logp_BT, base_BT, mask_BT).exp()
        surrogate = _pessimistic(ratio_BT, advantage_BT, self.clip_low, self.clip_high)
        if self.dual_clip is None:
            return surrogate
        ceiling_BT = torch.where(advantage_BT < 0, -self.dual_clip * advantage_BT, torch.inf)
        return surrogate._replace(
            loss_BT=torch.minimum(surrogate.loss_BT, ceiling_BT),
            is_clipped_high_BT=surrogate.is_clipped_high_BT | (surrogate.loss_BT > ceiling_BT),
        )


@dataclass(frozen=True, kw_only=True)
class Gspo:
    """PPO's clip on one ratio per row: the geometric mean over its tokens.

    Example:
        >>> one, yes = torch.ones(1, 2), torch.tensor([[True, True]])
        >>> Gspo()(-one, -one, one, yes).loss_BT.tolist()
        [[-1.0, -1.0]]

    Source: arXiv:2507.18071, eq. 5 and 7.
    """

    base: ClassVar[Base] = "old"
    is_per_row: ClassVar[bool] = True

    clip_low: float = 3e-4
    """How far the row's ratio may fall below 1; 0 to 1."""
    clip_high: float = 4e-4
    """How far it may rise above 1; above 0."""

    def __post_init__(self) -> None:
        _require_ratio_clips(self.clip_low, self.clip_high)

    def __call__(
        self, logp_BT: Tensor, base_BT: Tensor, advantage_BT: Tensor, mask_BT: Tensor
    ) -> Surrogate:
        """Give all tokens of a row the row's clipped loss."""
        ratio_B1 = sequence_log_ratio(logp_BT, base_BT, mask_BT, is_mean=True).exp()
        return _pessimistic(ratio_B1, masked(advantage_BT, mask_BT), self.clip_low, self.clip_high)


@dataclass(frozen=True, kw_only=True)
class Gmpo:
    """One geometric-mean ratio per row, its tokens clipped pessimistically in log space.

    Example:
        >>> one, yes = torch.ones(1, 2), torch.tensor([[True, True]])
        >>> Gmpo()(-one, -one, one, yes).loss_BT.tolist()
        [[-1.0, -1.0]]

    Source: arXiv:2507.20673.
    """

    base: ClassVar[Base] = "old"
    is_per_row: ClassVar[bool] = True

    clip_low: float = 0.4
    """How far a token's log ratio may fall below 0, in nats; above 0."""
    clip_high: float = 0.4
    """How far it may rise above 0, in nats; above 0."""

    def __post_init__(self) -> None:
        for name, got in (("clip_low", self.clip_low), ("clip_high", self.clip_high)):
            require_setting(got > 0, name, "a number of nats above 0", got)

    def __call__(
        self, logp_BT: Tensor, base_BT: Tensor, advantage_BT: Tensor, mask_BT: Tensor
    ) -> Surrogate:
        """Give all tokens of a row the row's loss."""
        advantage_BT = masked(advantage_BT, mask_BT)
        delta_BT = masked(logp_BT - base_BT, mask_BT)  # the mean is clamped, not each token
        bounded_BT = delta_BT.clamp(-self.clip_low, self.clip_high)
        is_high_BT = (advantage_BT > 0) & (delta_BT > self.clip_high)
        is_low_BT = (advantage_BT < 0) & (delta_BT < -self.clip_low)
        pessimistic_BT = torch.where(is_high_BT | is_low_BT, bounded_BT, delta_BT)
        num_tokens_B1 = mask_BT.sum(dim=1, keepdim=True).clamp(min=1)
        mean_B1 = pessimistic_BT.sum(dim=1, keepdim=True) / num_tokens_B1
        ratio_B1 = mean_B1.clamp(-LOG_RATIO_CAP, LOG_RATIO_CAP).exp()
        return Surrogate(-advantage_BT * ratio_B1, is_low_BT, is_high_BT)


@dataclass(frozen=True, kw_only=True)
class Cispo:
    """REINFORCE weighted by a capped ratio that carries no gradient: no token is ever dropped.

    Example:
        >>> one, yes = torch.ones(1, 1), torch.tensor([[True]])
        >>> Cispo(cap_high=2.0)(-one, -3.0 * one, one, yes).loss_BT.tolist()  # ratio e^2, held at 2
        [[2.0]]

    Source: MiniMax-M1, arXiv:2506.13585; the range of caps: ScaleRL, arXiv:2510.13786.
    """

    base: ClassVar[Base] = "old"
    is_per_row: ClassVar[bool] = False

    cap_high: float = 4.0
    """The largest ratio, as such (not as a distance from 1); above 0."""

    def __post_init__(self) -> None:
        require_setting(self.cap_high > 0, "cap_high", "a number above 0", self.cap_high)

    def __call__(
        self, logp_BT: Tensor, base_BT: Tensor, advantage_BT: Tensor, mask_BT: Tensor
    ) -> Surrogate:
        """Weigh log-probs by advantages and capped ratios."""
        ratio_BT = log_ratio(logp_BT.detach(), base_BT, mask_BT).exp()
        weighted_BT = ratio_BT.clamp(max=self.cap_high) * masked(advantage_BT, mask_BT)
        is_capped_BT = ratio_BT > self.cap_high
        loss_BT = -weighted_BT * masked(logp_BT, mask_BT)
        return Surrogate(loss_BT, torch.zeros_like(is_capped_BT), is_capped_BT)


def _unclipped(loss_BT: Tensor) -> Surrogate:
    never_BT = torch.zeros_like(loss_BT, dtype=torch.bool)
    return Surrogate(loss_BT, never_BT, never_BT)


def _pessimistic(
    ratio: Tensor, advantage_BT: Tensor, clip_low: float, clip_high: float
) -> Surrogate:
    """Clip a ratio per token [B, T] or per row [B, 1]; masked slots have advantage 0."""
    bounded = ratio.clamp(1.0 - clip_low, 1.0 + clip_high)
    return Surrogate(
        loss_BT=torch.maximum(-ratio * advantage_BT, -bounded * advantage_BT),
        is_clipped_low_BT=(advantage_BT < 0) & (ratio < 1.0 - clip_low),
        is_clipped_high_BT=(advantage_BT > 0) & (ratio > 1.0 + clip_high),
    )


def _require_ratio_clips(clip_low: float, clip_high: float) -> None:
    require_setting(0 < clip_low <= 1, "clip_low", "a number above 0, at most 1", clip_low)
    require_setting(clip_high > 0, "clip_high", "a number above 0", clip_high)
