"""What a run reports: one JSON object a line in `metrics.jsonl`.

Each line has `phase` ("sft" or "rl") and `step`: warm-start steps or iterations done. The line of
iteration 0 tells only how good the policy was before.

| key | meaning |
|---|---|
| `loss`, `grad_norm` | mean over the optimizer steps; the norm before clipping |
| `learning_rate` | AdamW's |
| `rollout/success` | fraction of episodes that solved the task |
| `rollout/return`, `rollout/turns` | mean of an episode: undiscounted return, actions |
| `rollout/tokens` | mean number of sampled tokens of an episode |
| `rollout/tokens_success`, `rollout/tokens_failure` | the same, of either kind; absent if none |
| `rollout/format_errors`, `rollout/invalid_actions` | fraction of the actions |
| `rollout/length_stops` | fraction of the answers that were cut at `max_new_tokens` |
| `rollout/outcome/<name>` | episodes that ended so; those without a return are in no mean |
| `rollout/truncated/<reason>` | fraction of episodes that were cut for this reason |
| `rollout/equal_groups` | fraction of groups whose returns are all equal: they teach nothing |
| `rollout/pass_at_k` | fraction of groups with a success; k is the group size |
| `rollout/staleness` | the largest number of updates between sampling and learning |
| `num_tokens`, `entropy` | sampled tokens; nats per token under the policy that learns |
| `approx_kl` | how far the update moved the policy, nats per token |
| `clip_low`, `clip_high` | fraction of tokens whose ratio was clipped |
| `sampler_kl_v1`, `sampler_kl_v2`, `sampler_missing` | sampler against learner, per token |
| `ref_kl_k1`, `ref_kl_k2`, `ref_kl_k3` | divergence from the reference, with a KL penalty |
| `off_policy_weight`, `.._max`, `off_policy_ess` | weights of an off-policy correction |
| `value`, `explained_variance` | of a critic, before the update |
| `eval/<name>` | a field of `Scores`, on the held-out seeds |
| `collect_s`, `update_s`, `evaluate_s` | wall seconds; the only keys that differ in a rerun |
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import msgspec

from gemenv.rollout.trajectory import Trajectory
from gemenv.train.evaluation import mean

Metrics = Mapping[str, Any]


def rollout_metrics(trajectories: Sequence[Trajectory], version: int) -> dict[str, float]:
    """Describe the episodes of an iteration.

    Args:
        trajectories: all of them, those without a return included.
        version: of the weights that are about to learn.

    Returns:
        Metrics by name; see the table.
    """
    usable = [t for t in trajectories if t.has_return]
    turns = [turn for t in usable for turn in t.turns]
    errors = Counter(turn.info.get("action_error") for turn in turns)
    metrics = {
        "success": mean([t.success for t in usable]),
        "return": mean([t.episode_return for t in usable]),
        "turns": mean([len(t.turns) for t in usable]),
        "tokens": mean([t.num_sampled_tokens for t in usable]),
        "format_errors": errors["format"] / max(1, len(turns)),
        "invalid_actions": errors["invalid"] / max(1, len(turns)),
        "length_stops": mean([turn.stop_reason == "length" for turn in turns]),
        "staleness": max((version - turn.version for turn in turns), default=0),
    }
    for name, is_success in (("success", True), ("failure", False)):
        lengths = [t.num_sampled_tokens for t in usable if t.success == is_success]
        if lengths:
            metrics[f"tokens_{name}"] = mean(lengths)
    for outcome, count in Counter(t.outcome for t in trajectories).items():
        metrics[f"outcome/{outcome}"] = count
    reasons = Counter(t.truncation_reason for t in usable if t.outcome == "truncated")
    for reason, count in reasons.items():
        metrics[f"truncated/{reason}"] = count / len(usable)
    metrics |= _group_metrics(usable)
    return {f"rollout/{name}": value for name, value in metrics.items()}


def encode_line(metrics: Metrics) -> bytes:
    """Write one line; numbers that are not finite become null."""
    return msgspec.json.encode(metrics) + b"\n"


def read_lines(lines: Iterable[bytes]) -> list[dict[str, Any]]:
    """Read lines that `encode_line` wrote."""
    return [msgspec.json.decode(line) for line in lines]


def _group_metrics(usable: Sequence[Trajectory]) -> dict[str, float]:
    groups: dict[int, list[Trajectory]] = {}
    for trajectory in usable:
        groups.setdefault(trajectory.group, []).append(trajectory)
    compared = [group for group in groups.values() if len(group) > 1]
    if not compared:
        return {}
    num_equal = sum(len({t.episode_return for t in group}) == 1 for group in compared)
    num_solved = sum(any(t.success for t in group) for group in compared)
    return {"equal_groups": num_equal / len(compared), "pass_at_k": num_solved / len(compared)}
