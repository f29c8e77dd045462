"""A batch that has everything: padding full of poison, an empty row, tool tokens inside a row."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import pytest
import torch

from gemenv.train.algorithms import Algorithm
from gemenv.train.policy_loss import TokenStreams

MAX_TOKENS = 7  # of the imaginary run that the batches come from


@dataclass(frozen=True)
class Batch:
    """Current log-probs and their streams; masked slots hold NaN, infinities and huge numbers."""

    logp_BT: torch.Tensor
    streams: TokenStreams


def _make_batch(
    algorithm: Algorithm, seed: int, *, num_rows: int = 6, dtype: torch.dtype = torch.float64
) -> Batch:
    rng = np.random.default_rng(seed)
    shape = (num_rows, MAX_TOKENS)
    mask_BT = rng.random(shape) < 0.6
    mask_BT[0] = True
    mask_BT[-1] = False  # an answer without a trainable token
    poison_BT = rng.choice([np.nan, np.inf, -np.inf, 1e30, -4000.0], shape)

    def stream(value_BT: np.ndarray) -> torch.Tensor:
        return torch.tensor(np.where(mask_BT, value_BT, poison_BT), dtype=dtype)

    logp_BT = -rng.gamma(1.5, 0.6, shape)
    advantage_BT = rng.normal(size=shape)
    if algorithm.rule.is_per_row:
        advantage_BT = np.repeat(advantage_BT[:, :1], MAX_TOKENS, axis=1)
    weight_BT = algorithm.aggregation.weights(
        mask_BT,
        episode_B=np.arange(num_rows) // 2,
        group_B=np.arange(num_rows) // 3,
        max_tokens=MAX_TOKENS,
    )
    streams = TokenStreams(
        mask_BT=torch.tensor(mask_BT),
        advantage_BT=stream(advantage_BT),
        weight_BT=stream(weight_BT),
        logp_old_BT=stream(logp_BT + rng.normal(0, 0.3, shape)),
        logp_sampler_BT=stream(logp_BT + rng.normal(0, 0.4, shape)),
        logp_ref_BT=stream(logp_BT + rng.normal(0, 0.5, shape)),
        entropy_BT=stream(rng.gamma(2.0, 0.5, shape)),
    )
    return Batch(stream(logp_BT).requires_grad_(), streams)


@pytest.fixture(scope="session")
def make_batch() -> Callable[..., Batch]:
    return _make_batch
