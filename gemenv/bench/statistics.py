"""An average over episodes, and how far chance may have moved it.

Shapes: S seeds, B resamples at a time.
"""

from collections.abc import Sequence

import msgspec
import numpy as np
from numpy.typing import NDArray

from gemenv.core.seeding import Stream, make_generator
from gemenv.errors import ContractError

_NUM_RESAMPLES = 2000  # the ends of the interval then move by about 1 % of its width
_LEVELS = (0.025, 0.975)
_BLOCK = 2**20  # draws in memory at a time


class Estimate(msgspec.Struct, frozen=True):
    """A mean and its 95 % interval.

    Attributes:
        mean: over all episodes.
        low: the interval's lower end.
        high: its upper end.
    """

    mean: float
    low: float
    high: float


def estimate_ratio(
    total_S: Sequence[float], count_S: Sequence[float], *, seed: int = 0
) -> Estimate | None:
    """Estimate `sum(total) / sum(count)` with a 95 % bootstrap interval over seeds.

    Episodes from one seed share their initial state, so whole seeds are resampled. When all seeds
    agree the interval has no width; the true rate of what was never seen may still be up to 3 / S.

    Args:
        total_S: [S] what was added up at each seed, such as its returns.
        count_S: [S] over how many, 0 or more, such as its episodes.
        seed: of the resampling.

    Returns:
        The estimate, the same each time; None if there is nothing to divide by.

    Raises:
        ContractError: if the lengths differ.

    Example:
        >>> estimate_ratio([1.0, 0.0, 1.0, 1.0], [1, 1, 1, 1])
        Estimate(mean=0.75, low=0.25, high=1.0)

    Source: the percentile bootstrap (Efron and Tibshirani, 1993, chapters 13 and 16).
    """
    if len(total_S) != len(count_S):
        raise ContractError(
            problem="There must be one count for each total.",
            expected=f"{len(total_S)} counts",
            got=len(count_S),
            fix="pass one total and one count for each seed",
        )
    total = np.asarray(total_S, dtype=np.float64)
    count = np.asarray(count_S, dtype=np.float64)
    total, count = total[count > 0], count[count > 0]
    num_seeds = len(count)
    if not num_seeds:
        return None
    rng = make_generator(seed, Stream.CHECK)
    means: list[NDArray[np.float64]] = []
    for size in _block_sizes(num_seeds):
        drawn_BS = rng.integers(num_seeds, size=(size, num_seeds))
        means.append(total[drawn_BS].sum(axis=1) / count[drawn_BS].sum(axis=1))
    low, high = np.quantile(np.concatenate(means), _LEVELS)
    return Estimate(float(total.sum() / count.sum()), float(low), float(high))


def _block_sizes(num_seeds: int) -> list[int]:
    most = max(1, _BLOCK // num_seeds)
    whole, rest = divmod(_NUM_RESAMPLES, most)
    return [most] * whole + ([rest] if rest else [])
