"""One update: from a batch to better weights, for any algorithm.

The loss is a sum of terms weighted once on the global batch, so neither micro-batches nor ranks
can change the gradient. Only `PolicyOptimizer.clip` and `weight_sync` ask for anything whole, so a
network under FSDP2's `fully_shard` takes the same road.

Shapes: B rows of the batch, b of a micro-batch, T slots, N turns of the batch, S of a micro-batch,
F cut episodes.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import torch
from torch import Tensor

from gemenv.errors import TrainingError
from gemenv.train.advantage import FloatArray
from gemenv.train.algorithms import turn_advantages
from gemenv.train.batch import Batch, IntArray
from gemenv.train.config import RlConfig
from gemenv.train.losses.metrics import Metrics, merge_metrics, summarize_metrics
from gemenv.train.microbatch import DeviceBatch, Microbatch, microbatches
from gemenv.train.network import PolicyNetwork, no_positions
from gemenv.train.optimizer import PolicyOptimizer, is_finite
from gemenv.train.policy_loss import TokenStreams, policy_loss


class Learner:
    """Holds the network that is trained, and its optimizer.

    Args:
        network: what is trained; with a critic if the algorithm has one.
        config: of the phase.
        temperature: that of sampling.
        max_new_tokens: the run's generation limit: the divisor of the norm "const".
        microbatch_tokens: the most slots of one forward pass.
        failure_file: where the rows of an update that failed are written.
        reference: the policy that a KL penalty holds on to.
    """

    def __init__(
        self,
        network: PolicyNetwork,
        config: RlConfig,
        *,
        temperature: float,
        max_new_tokens: int,
        microbatch_tokens: int,
        failure_file: Path,
        reference: PolicyNetwork | None = None,
    ) -> None:
        self.network, self.reference = network, reference
        self.algorithm = config.make_algorithm()
        self.optimizer = PolicyOptimizer(network, config.optimizer, config.iterations)
        self._config, self._failure_file = config, failure_file
        self._temperature, self._max_new_tokens = temperature, max_new_tokens
        self._microbatch_tokens = microbatch_tokens
        self._device = network.device

    def update(
        self,
        batch: Batch,
        final_contexts: Mapping[int, Sequence[int]],
        iteration: int,
        rng: np.random.Generator,
    ) -> dict[str, float]:
        """Learn from one batch.

        Args:
            batch: everything that was collected.
            final_contexts: for a critic: the states in which episodes were cut, see `batch.py`.
            iteration: counted from 0; sets the learning rate.
            rng: draws the minibatches.

        Returns:
            Metrics by name.

        Raises:
            TrainingError: if the loss or a gradient is not finite: the step is not taken, and its
                rows are in the failure file.
        """
        rate = self.optimizer.set_progress(iteration)
        update = self._prepare(batch, final_contexts)
        losses: list[Tensor] = []
        norms: list[Tensor] = []
        parts: list[Metrics] = []
        for _ in range(self._config.epochs):
            order = rng.permutation(len(batch.ids_BT))
            for rows in np.array_split(order, update.num_minibatches):
                loss, norm, metrics = self._step(update, rows)
                losses.append(loss)
                norms.append(norm)
                parts.append(metrics)
        metrics = summarize_metrics(merge_metrics(parts))
        metrics["num_tokens"] /= self._config.epochs
        metrics["loss"] = float(torch.stack(losses).mean())
        metrics["grad_norm"] = float(torch.stack(norms).mean())
        return metrics | _critic_metrics(update) | {"learning_rate": rate}

    def _prepare(self, batch: Batch, final_contexts: Mapping[int, Sequence[int]]) -> "_Update":
        """Compute everything that stays constant during the update."""
        algorithm, turns = self.algorithm, batch.turns
        data = DeviceBatch(batch, self._device)
        old_BT = value_N = ref_BT = None
        if "logp_old_BT" in algorithm.required_streams or algorithm.value is not None:
            old_BT, value_N = self._score(self.network, data)
        if algorithm.value is not None and value_N is not None:
            bootstrap_value_N = self._bootstrap_values(len(value_N), final_contexts)
            turns = replace(
                turns, value_N=value_N.double().cpu().numpy(), bootstrap_value_N=bootstrap_value_N
            )
        if self.reference is not None:
            ref_BT, _ = self._score(self.reference, data)
        credit = turn_advantages(algorithm, turns)
        num_minibatches = min(self._config.minibatches, len(batch.ids_BT))
        weight_BT = algorithm.aggregation.weights(
            batch.mask_BT,
            episode_B=batch.episode_B,
            group_B=batch.group_B,
            max_tokens=self._max_new_tokens,
        )
        streams = TokenStreams(
            mask_BT=data.mask_BT,
            advantage_BT=self._tensor(batch.spread(credit.advantage_N)),
            # a step sees a part of the batch: scaled up, it estimates the gradient of the whole
            weight_BT=self._tensor(weight_BT) * num_minibatches,
            logp_old_BT=old_BT,
            logp_sampler_BT=self._tensor(batch.logp_sampler_BT),
            logp_ref_BT=ref_BT,
        )
        target_N = credit.value_target_N
        target = None if target_N is None else self._tensor(target_N)
        return _Update(data, streams, num_minibatches, value_N, target)

    def _step(self, update: "_Update", rows: IntArray) -> tuple[Tensor, Tensor, Metrics]:
        """Take one optimizer step on some rows, micro-batch by micro-batch."""
        self.optimizer.zero_grad()
        total = torch.zeros((), device=self._device)
        parts: list[Metrics] = []
        lengths = update.data.batch.length_B[rows]
        for part in microbatches(lengths, self._microbatch_tokens):
            loss, metrics = self._loss(update, rows[part])
            torch.autograd.backward(loss)
            total += loss.detach()
            parts.append(metrics)
        norm = self.optimizer.clip()
        if not is_finite(total, norm):
            raise self._non_finite(update, rows, total, norm)
        self.optimizer.step()
        return total, norm, merge_metrics(parts)

    def _loss(self, update: "_Update", rows: IntArray) -> tuple[Tensor, Metrics]:
        micro = Microbatch(update.data, rows)
        outputs = micro.run(self.network, self._temperature)
        entropy_bT = micro.spread(outputs.entropy_M)
        if self.algorithm.entropy_coef == 0:
            entropy_bT = entropy_bT.detach()
        streams = replace(update.streams.rows(micro.window), entropy_BT=entropy_bT)
        loss, metrics = policy_loss(self.algorithm, micro.spread(outputs.logp_M), streams)
        if self.algorithm.value is not None:
            assert update.value_N is not None, "an algorithm with a critic has values"
            assert update.target_N is not None, "credit by a critic gives it targets"
            value_S, turn_S = outputs.value_S, micro.turn_S
            weight_S = torch.full_like(value_S, update.num_minibatches / len(update.target_N))
            old_S, target_S = update.value_N[turn_S], update.target_N[turn_S]
            loss = loss + self.algorithm.value(value_S, old_S, target_S, weight_N=weight_S)
        return loss, metrics

    @torch.no_grad()
    def _score(self, network: PolicyNetwork, data: DeviceBatch) -> tuple[Tensor, Tensor | None]:
        """Return [B, T] log-probs and, from a critic, [N] values under the present weights."""
        logp_BT = torch.zeros(data.mask_BT.shape, device=self._device)
        value_N = torch.zeros(len(data.batch.state_row_N), device=self._device)
        for rows in microbatches(data.batch.length_B, self._microbatch_tokens):
            micro = Microbatch(data, rows)
            outputs = micro.run(network, self._temperature)
            logp_BT[micro.window] = micro.spread(outputs.logp_M)
            if network.has_critic:
                value_N[micro.turn_S] = outputs.value_S
        return logp_BT, value_N if network.has_critic else None

    @torch.no_grad()
    def _bootstrap_values(
        self, num_turns: int, contexts: Mapping[int, Sequence[int]]
    ) -> FloatArray:
        """Return [N] values of the states in which episodes were cut; 0 for all other turns."""
        value_N = np.zeros(num_turns)
        turn_F = np.array(list(contexts), np.int64)
        length_F = np.array([len(context) for context in contexts.values()], np.int64)
        for part in microbatches(length_F, self._microbatch_tokens):
            ids_bT = np.zeros((len(part), int(length_F[part].max())), np.int64)
            for row, turn in enumerate(turn_F[part].tolist()):
                ids_bT[row, : len(contexts[turn])] = contexts[turn]
            last_b = torch.tensor(length_F[part] - 1, device=self._device)
            states = torch.arange(len(part), device=self._device), last_b
            tokens = no_positions(self._device)
            ids = torch.tensor(ids_bT, device=self._device)
            outputs = self.network(ids, tokens, states, self._temperature)
            value_N[turn_F[part]] = outputs.value_S.double().cpu().numpy()
        return value_N

    def _tensor(self, values: FloatArray) -> Tensor:
        return torch.tensor(values, dtype=torch.float32, device=self._device)

    def _non_finite(
        self, update: "_Update", rows: IntArray, loss: Tensor, norm: Tensor
    ) -> TrainingError:
        self.optimizer.zero_grad()
        batch, advantage_BT = update.data.batch, update.streams.advantage_BT
        record = {
            "token_ids": [batch.ids_BT[row, : batch.length_B[row]].tolist() for row in rows],
            "episodes": batch.episode_B[rows].tolist(),
            "advantages": advantage_BT[torch.tensor(rows)].cpu().numpy().tolist(),
        }
        self._failure_file.write_text(json.dumps(record), encoding="utf-8")
        return TrainingError(
            problem="An update's loss or gradient is not finite; the step was not taken.",
            expected="finite numbers",
            got={"loss": float(loss), "grad_norm": float(norm)},
            fix=f"lower the learning rate; the rows of the step are in {self._failure_file}",
        )


@dataclass(frozen=True, eq=False)
class _Update:
    """What stays constant during an update."""

    data: DeviceBatch
    streams: TokenStreams
    num_minibatches: int
    value_N: Tensor | None
    target_N: Tensor | None


def _critic_metrics(update: _Update) -> dict[str, float]:
    """Say how well the critic knew the returns before the update."""
    if update.target_N is None or update.value_N is None:
        return {}
    residual, total = (update.target_N - update.value_N).var(), update.target_N.var()
    return {
        "value": float(update.value_N.mean()),
        "explained_variance": float(1 - residual / total) if total > 0 else 0.0,
    }
