"""Parts of a batch that one forward pass can hold.

Shapes: B rows of the batch, b of a micro-batch, T slots, N turns of the batch, S of a micro-batch,
M sampled tokens of a micro-batch.
"""

import numpy as np
import torch
from torch import Tensor

from gemenv.train.batch import Batch, IntArray
from gemenv.train.network import PolicyNetwork, TokenOutputs


class DeviceBatch:
    """A batch on the learner's device.

    Args:
        batch: as collected.
        device: where the network lives.
    """

    def __init__(self, batch: Batch, device: torch.device) -> None:
        self.batch, self.device = batch, device
        self.ids_BT = torch.tensor(batch.ids_BT, device=device)
        self.mask_BT = torch.tensor(batch.mask_BT, device=device)


class Microbatch:
    """Some rows, cut to the longest of them, with their tokens and the states of their turns.

    Args:
        data: the batch.
        rows: [b] positions of the rows.
    """

    def __init__(self, data: DeviceBatch, rows: IntArray) -> None:
        batch, device = data.batch, data.device
        width = int(batch.length_B[rows].max())
        self.window = torch.tensor(rows, device=device), slice(0, width)
        """Picks these rows, as far as they reach, from a [B, T] tensor."""
        self._ids_bT = data.ids_BT[self.window]
        row_M, slot_M = torch.nonzero(data.mask_BT[self.window]).T
        self._token_M = row_M, slot_M
        place_B = np.full(len(batch.ids_BT), -1)
        place_B[rows] = np.arange(len(rows))
        turn_S = np.flatnonzero(place_B[batch.state_row_N] >= 0)
        self.turn_S = torch.tensor(turn_S, device=device)
        """[S] the turns of these rows."""
        self._state_S = (
            torch.tensor(place_B[batch.state_row_N[turn_S]], device=device),
            torch.tensor(batch.state_slot_N[turn_S], device=device),
        )

    def run(self, network: PolicyNetwork, temperature: float) -> TokenOutputs:
        """Ask a network for all sampled tokens and all states of these rows."""
        return network(self._ids_bT, self._token_M, self._state_S, temperature)

    def spread(self, value_M: Tensor) -> Tensor:
        """Put one value a token into its slot, [b, T]; 0 elsewhere."""
        return value_M.new_zeros(self._ids_bT.shape).index_put(self._token_M, value_M)


def microbatches(length_B: IntArray, max_tokens: int) -> list[IntArray]:
    """Split rows into runs of like length that fit a budget; every row comes once.

    Args:
        length_B: [B] tokens of each row.
        max_tokens: of rows times the longest row; a single row may exceed it.

    Returns:
        Positions into `length_B`, longest rows first.

    Example:
        >>> [rows.tolist() for rows in microbatches(np.array([2, 9, 3, 8]), 18)]
        [[1, 3], [2, 0]]
    """
    parts: list[list[int]] = []
    capacity = 0
    for row in np.argsort(-length_B, kind="stable").tolist():
        if capacity == 0:
            capacity = max(1, max_tokens // max(1, int(length_B[row])))
            parts.append([])
        parts[-1].append(row)
        capacity -= 1
    return [np.array(part) for part in parts]
