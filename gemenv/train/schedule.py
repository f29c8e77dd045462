"""Values that change as training goes on: how long episodes may be, and the loss scale of fp16."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Self

from gemenv.train.checks import require_setting


def staged_horizon(step: int, *, stages: Sequence[int], steps_per_stage: int) -> int:
    """Allow more turns stage by stage.

    Args:
        step: updates done, counted from 0.
        stages: the turn limit of each stage, at least one; the last one stays.
        steps_per_stage: updates per stage.

    Returns:
        The turn limit at this step.

    Example:
        >>> [staged_horizon(s, stages=(6, 13, 20), steps_per_stage=100) for s in (0, 100, 999)]
        [6, 13, 20]

    Source: ScalingInter-RL, arXiv:2509.08755.
    """
    return stages[min(step // steps_per_stage, len(stages) - 1)]


def growing_horizon(iteration: int, *, first: int, last: int) -> int:
    """Allow as many turns again with each iteration, up to a limit.

    Args:
        iteration: counted from 1.
        first: the turn limit of iteration 1.
        last: the turn limit that stays.

    Returns:
        The turn limit of this iteration.

    Example:
        >>> [growing_horizon(i, first=10, last=30) for i in (1, 2, 3, 4)]
        [10, 20, 30, 30]

    Source: TTI, arXiv:2506.07976.
    """
    return min(last, first * iteration)


@dataclass(frozen=True, kw_only=True)
class LossScale:
    """The factor that keeps small fp16 gradients from vanishing, and its rule of change.

    Example:
        >>> LossScale(scale=8.0).after(found_inf=True).scale
        4.0

    Source: arXiv:1710.03740, section 3.2.
    """

    scale: float = 65536.0
    """What the loss is multiplied by, and the gradients divided by before clipping."""
    growth: float = 2.0
    """Factor after `interval` clean steps in a row; above 1."""
    backoff: float = 0.5
    """Factor after a step with an infinite or NaN gradient, which is skipped; 0 to 1."""
    interval: int = 2000
    """Clean steps before the scale grows."""
    num_clean: int = 0
    """Clean steps since the scale last changed."""

    def __post_init__(self) -> None:
        require_setting(self.scale > 0, "scale", "a number above 0", self.scale)
        require_setting(self.growth > 1, "growth", "a number above 1", self.growth)
        require_setting(0 < self.backoff < 1, "backoff", "a number between 0 and 1", self.backoff)
        require_setting(self.interval >= 1, "interval", "1 or more", self.interval)

    def after(self, *, found_inf: bool) -> Self:
        """Return the scale for the next step.

        Args:
            found_inf: whether any gradient of this step was infinite or NaN.

        Returns:
            A new `LossScale`.

        Example:
            >>> LossScale(scale=8.0, interval=1).after(found_inf=False).scale
            16.0
        """
        if found_inf:
            return replace(self, scale=self.scale * self.backoff, num_clean=0)
        if self.num_clean + 1 == self.interval:
            return replace(self, scale=self.scale * self.growth, num_clean=0)
        return replace(self, num_clean=self.num_clean + 1)
