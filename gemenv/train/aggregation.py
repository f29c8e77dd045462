"""How token losses become one number: a weight per token, computed once on the global batch.

Weights are only ever summed afterwards, so micro-batches and ranks cannot change the gradient.
Shapes: B rows (training sequences), T token slots, U units.
"""

from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np
import numpy.typing as npt

from gemenv.errors import ContractError
from gemenv.train.advantage import FloatArray
from gemenv.train.checks import require_same_shape, require_setting

Unit = Literal["batch", "row", "traj", "prompt"]
Norm = Literal["tokens", "const", "none"]


@dataclass(frozen=True)
class Aggregation:
    """A mean over units of a sum over each unit's tokens, divided by `norm`.

    | unit / norm | known as |
    |---|---|
    | batch / tokens | token mean: every token of the batch counts alike |
    | row / tokens | GRPO, GSPO: the mean over rows of each row's token mean |
    | row / const | Dr. GRPO, GEM's code: token sums over a constant |
    | row / none | RLOO: the mean over rows of token sums |
    | traj / none | GEM, eq. 4: the mean over episodes of token sums, all turns together |
    | prompt / tokens | DAPO's equation, ScaleRL: the mean over groups of token means |
    | batch / none | a plain sum; the loss, and so the step, grows with the number of tokens |
    """

    unit: Unit
    """What is averaged: the whole batch is one unit, or each row, episode or group is."""
    norm: Norm
    """What divides a unit's token sum: its tokens, a constant of the run, or nothing."""

    def __post_init__(self) -> None:
        for name, got, kinds in (
            ("unit", self.unit, get_args(Unit)),
            ("norm", self.norm, get_args(Norm)),
        ):
            require_setting(got in kinds, f"aggregation.{name}", f"one of {kinds}", got)

    def weights(
        self,
        mask_BT: npt.ArrayLike,
        *,
        episode_B: npt.ArrayLike | None = None,
        group_B: npt.ArrayLike | None = None,
        max_tokens: float | None = None,
    ) -> FloatArray:
        """Weigh the tokens of the global batch, picking the ids that the unit asks for.

        Args:
            mask_BT: [B, T] 1 for trainable tokens, over all ranks and micro-batches.
            episode_B: [B] the episode of each row; read for the unit "traj".
            group_B: [B] the initial state of each row's episode; read for the unit "prompt".
            max_tokens: the generation limit of the run; read for the norm "const".

        Returns:
            [B, T] float64 weights, 0 where the mask is 0.

        Raises:
            ContractError: if what the unit or the norm asks for is missing.

        Example:
            >>> Aggregation("row", "const").weights([[1, 1], [1, 0]], max_tokens=10).tolist()
            [[0.05, 0.05], [0.05, 0.0]]
        """
        unit_B = {"traj": episode_B, "prompt": group_B}.get(self.unit)
        return token_weights(
            mask_BT, unit=self.unit, norm=self.norm, unit_B=unit_B, const=max_tokens
        )


def token_weights(
    mask_BT: npt.ArrayLike,
    *,
    unit: Unit,
    norm: Norm,
    unit_B: npt.ArrayLike | None = None,
    const: float | None = None,
) -> FloatArray:
    """Compute W, such that the loss is the sum of W times the token losses.

    Only units with at least one trainable token are counted. `const` must be a constant of the
    run, never the padded width of a batch.

    Args:
        mask_BT: [B, T] 1 for trainable tokens.
        unit: see `Aggregation`.
        norm: see `Aggregation`.
        unit_B: [B] the unit of each row; needed for the units "traj" and "prompt".
        const: the divisor of the norm "const", above 0.

    Returns:
        [B, T] float64; 0 where the mask is 0; sums to 1 for the norm "tokens".

    Raises:
        ContractError: if `unit_B` or `const` is missing, or the lengths differ.

    Example:
        >>> token_weights([[1, 1], [1, 0]], unit="row", norm="tokens").tolist()
        [[0.25, 0.25], [0.5, 0.0]]

    Source: ours; the table in `Aggregation` names what it covers.
    """
    mask_BT = np.asarray(mask_BT).astype(bool)
    label_U, unit_of_B = np.unique(_unit_labels(mask_BT, unit, unit_B), return_inverse=True)
    num_tokens_U = np.bincount(unit_of_B, mask_BT.sum(axis=1), minlength=len(label_U))
    num_units = max(np.count_nonzero(num_tokens_U), 1)
    if norm == "tokens":
        divisor_U = np.maximum(num_tokens_U, 1.0)
    else:
        divisor_U = np.full(len(label_U), 1.0 if norm == "none" else _divisor(const))
    return mask_BT / (num_units * divisor_U[unit_of_B])[:, None]


def _unit_labels(
    mask_BT: npt.NDArray[np.bool_], unit: Unit, unit_B: npt.ArrayLike | None
) -> npt.NDArray[np.generic]:
    if unit == "batch":
        return np.zeros(len(mask_BT), np.int64)
    if unit == "row":
        return np.arange(len(mask_BT))
    if unit_B is None:
        raise ContractError(
            problem=f"Averaging over the unit {unit!r} needs an id per row.",
            expected="[B] ids of the " + ("episodes" if unit == "traj" else "groups"),
            got=None,
            fix=f"pass {'episode_B' if unit == 'traj' else 'group_B'} to Aggregation.weights",
        )
    label_B = np.asarray(unit_B)
    require_same_shape(mask_B=mask_BT.any(axis=1), unit_B=label_B)
    return label_B


def _divisor(const: float | None) -> float:
    if const is None or not const > 0:
        raise ContractError(
            problem="The norm 'const' needs a constant to divide by.",
            expected="a number above 0, the same for every batch of the run",
            got=const,
            fix="pass the run's generation limit as max_tokens to Aggregation.weights",
        )
    return const
