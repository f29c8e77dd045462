"""How good a policy is: scores on seeds that training never sees."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from gemenv.rollout.trajectory import Trajectory


@dataclass(frozen=True, kw_only=True)
class Scores:
    """What the episodes of one policy came to.

    Episodes that ended in an error have no return: they are counted, and left out of the means.
    All means are NaN where no episode has a return.
    """

    policy: str
    """The policy's name."""
    episodes: int
    """How many were played."""
    errors: int
    """How many of them ended in an error."""
    success: float
    """Fraction that solved the task, 0 to 1."""
    mean_return: float
    """Undiscounted."""
    turns: float
    """Mean number of actions."""


def scores(policy: str, trajectories: Sequence[Trajectory]) -> Scores:
    """Summarise episodes.

    Args:
        policy: what the table calls it.
        trajectories: its episodes, at least one.

    Example:
        >>> lost = Trajectory(env_id="game:Toy-v0", outcome="completed")
        >>> broken = Trajectory(env_id="game:Toy-v0", outcome="env_error")
        >>> result = scores("toy", [lost, broken])
        >>> result.success, result.errors
        (0.0, 1)
    """
    usable = [t for t in trajectories if t.has_return]
    return Scores(
        policy=policy,
        episodes=len(trajectories),
        errors=len(trajectories) - len(usable),
        success=mean([t.success for t in usable]),
        mean_return=mean([t.episode_return for t in usable]),
        turns=mean([len(t.turns) for t in usable]),
    )


def mean(values: Sequence[float]) -> float:
    """Return the mean, or NaN of nothing (without numpy's warning)."""
    return float(np.mean(values)) if values else float("nan")
