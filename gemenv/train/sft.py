"""The warm start: supervised fine-tuning on the episodes of any policy.

Shapes: B rows, b of a micro-batch, T slots, M tokens that have a weight.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch

from gemenv.core.message import Message
from gemenv.errors import TrainingError
from gemenv.rollout.renderer import Renderer
from gemenv.rollout.trajectory import Trajectory
from gemenv.train.advantage import FloatArray
from gemenv.train.batch import IntArray
from gemenv.train.microbatch import microbatches
from gemenv.train.model import LanguageModel
from gemenv.train.network import PolicyNetwork, no_positions
from gemenv.train.optimizer import PolicyOptimizer, is_finite


@dataclass(frozen=True, kw_only=True, eq=False)
class Demonstrations:
    """Episodes as rows of tokens, just as the model would have seen and sampled them."""

    ids_BT: IntArray
    """[B, T] token ids; 0 beyond a row's length."""
    weight_BT: FloatArray
    """[B, T] loss weight of each token: 1 where the policy wrote it; 0 beyond a row's length."""
    length_B: IntArray
    """[B] tokens of each row."""


def make_demonstrations(
    trajectories: Sequence[Trajectory],
    model: LanguageModel,
    renderer: Renderer,
    *,
    observation_weight: float = 0.0,
    max_tokens: int,
) -> Demonstrations:
    """Write episodes down as tokens.

    Args:
        trajectories: of any policy; those without a return are left out.
        model: its tokenizer encodes what the policy wrote.
        renderer: puts it into turns, as in a rollout.
        observation_weight: loss weight of all other tokens, 0 or more.
        max_tokens: the model's context: the turns that do not fit are left out.

    Returns:
        The rows.

    Raises:
        TrainingError: if no turn of any episode fits.
    """
    rows: list[_Row] = []
    for trajectory in trajectories:
        if trajectory.has_return:
            rows += [r for r in _rows(trajectory, model, renderer) if r.cut(max_tokens)]
    if not rows:
        raise TrainingError(
            problem="There is nothing to imitate.",
            expected=f"episodes with turns that fit {max_tokens} tokens",
            got=[trajectory.error or trajectory.outcome for trajectory in trajectories[:3]],
            fix="choose another sft.policy, or a longer model.context_tokens",
        )
    shape = len(rows), max(len(row.ids) for row in rows)
    ids_BT, weight_BT = np.zeros(shape, np.int64), np.zeros(shape)
    for b, row in enumerate(rows):
        ids_BT[b, : len(row.ids)] = row.ids
        weight_BT[b, 1 : len(row.ids)] = observation_weight  # nothing predicts the first token
        for start, end in row.spans:
            weight_BT[b, start:end] = 1.0
    lengths = np.array([len(row.ids) for row in rows])
    return Demonstrations(ids_BT=ids_BT, weight_BT=weight_BT, length_B=lengths)


def imitate(
    network: PolicyNetwork,
    optimizer: PolicyOptimizer,
    data: Demonstrations,
    chosen: IntArray,
    *,
    microbatch_tokens: int,
) -> dict[str, float]:
    """Take one step towards what the policy wrote.

    Args:
        network: what is trained.
        optimizer: its optimizer, with the learning rate of this step.
        data: all rows.
        chosen: [b] which rows; one may come twice.
        microbatch_tokens: the most slots of one forward pass.

    Returns:
        `loss`: the weighted mean of minus log-probs, in nats; `grad_norm`.

    Raises:
        TrainingError: if the loss or a gradient is not finite; the step is not taken.
    """
    optimizer.zero_grad()
    device = network.device
    total_weight = data.weight_BT[chosen].sum()
    total = torch.zeros((), device=device)
    for part in microbatches(data.length_B[chosen], microbatch_tokens):
        rows = chosen[part]
        width = int(data.length_B[rows].max())
        weight_bT = torch.tensor(data.weight_BT[rows, :width], device=device).float()
        row_M, slot_M = torch.nonzero(weight_bT).T
        ids_bT = torch.tensor(data.ids_BT[rows, :width], device=device)
        outputs = network(ids_bT, (row_M, slot_M), no_positions(device), 1.0)
        loss = -(weight_bT[row_M, slot_M] * outputs.logp_M).sum() / total_weight
        torch.autograd.backward(loss)
        total += loss.detach()
    norm = optimizer.clip()
    if not is_finite(total, norm):
        raise TrainingError(
            problem="The loss or a gradient of the warm start is not finite.",
            expected="finite numbers",
            got={"loss": float(total), "grad_norm": float(norm)},
            fix="lower sft.optimizer.learning_rate",
        )
    optimizer.step()
    return {"loss": float(total), "grad_norm": float(norm)}


@dataclass
class _Row:
    """Tokens of turns that extend each other, and which of them the policy wrote."""

    ids: list[int]
    spans: list[tuple[int, int]]

    def cut(self, max_tokens: int) -> bool:
        """Drop the turns beyond a length; tell whether any is left."""
        self.spans = [span for span in self.spans if span[1] <= max_tokens]
        del self.ids[self.spans[-1][1] if self.spans else 0 :]
        return bool(self.spans)


def _rows(trajectory: Trajectory, model: LanguageModel, renderer: Renderer) -> list[_Row]:
    """Replay an episode as a model would have played it that sampled these very answers."""
    rows: list[_Row] = []
    conversation: list[Message] = []
    written: list[int] = []
    for turn in trajectory.turns:
        conversation += turn.messages
        following = None
        if rows:
            context = rows[-1].ids[: rows[-1].spans[-1][0]]
            following = renderer.extend(context, written, "stop", turn.messages)
        if following is None:
            rows.append(_Row(renderer.start(conversation), []))
        else:
            rows[-1].ids += following
        written = [*model.encode(turn.action), renderer.stop_token_ids[0]]
        start = len(rows[-1].ids)
        rows[-1].ids += written
        rows[-1].spans.append((start, start + len(written)))
        conversation.append(Message(role="assistant", content=turn.action))
    return rows
