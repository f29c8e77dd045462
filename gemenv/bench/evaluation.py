"""Evaluate a policy on an environment over many seeds.

An episode that ended in an error has no return: it is counted under its outcome, and it is in no
average.
"""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

import msgspec

from gemenv.bench.reference import ScoreScale, stored_scale
from gemenv.bench.score_scale import Measurement, measure_scale
from gemenv.bench.statistics import Estimate, estimate_ratio
from gemenv.core.registry import make, spec
from gemenv.errors import ContractError
from gemenv.rollout.collect import collect, group_starts
from gemenv.rollout.policy import Policy
from gemenv.rollout.trajectory import Outcome, Trajectory, Turn


class Evaluation(msgspec.Struct, frozen=True, kw_only=True):
    """What a policy reached, with 95 % intervals over seeds; None where no episode has a return.

    Attributes:
        env_id: the environment's full id.
        env_kwargs: the keywords beyond the id's own.
        policy: the policy's name.
        num_seeds: from how many seeds it played.
        num_episodes: how many episodes it played.
        outcomes: how many of them ended in each way; only `completed` and `truncated` ones are in
            the averages below.
        first_failure: the first of the others, in words.
        success_rate: episodes that were solved, from 0 to 1.
        mean_return: undiscounted return of an episode.
        normalised_score: the mean return on the scale random = 0, oracle = 1; None where the
            environment has no such scale.
        scale_failures: what went wrong while that scale was measured; there is no score then.
        mean_turns: actions of an episode.
        format_error_rate: actions in which none could be read, from 0 to 1.
        invalid_action_rate: actions that were read and not allowed, from 0 to 1.
    """

    env_id: str
    env_kwargs: dict[str, Any]
    policy: str
    num_seeds: int
    num_episodes: int
    outcomes: dict[Outcome, int]
    first_failure: str | None
    success_rate: Estimate | None
    mean_return: Estimate | None
    normalised_score: Estimate | None
    scale_failures: list[str]
    mean_turns: Estimate | None
    format_error_rate: Estimate | None
    invalid_action_rate: Estimate | None


def summarise(
    trajectories: Sequence[Trajectory],
    scale: ScoreScale | None = None,
    scale_failures: Sequence[str] = (),
) -> Evaluation:
    """Summarise the episodes of one policy on one environment.

    Args:
        trajectories: at least one.
        scale: for the normalised score.
        scale_failures: what went wrong while it was measured; if anything did, it is not used.

    Raises:
        ContractError: if there are none, or if they differ in environment or policy.
    """
    if len({(t.env_id, msgspec.json.encode(t.env_kwargs), t.policy) for t in trajectories}) != 1:
        raise ContractError(
            problem="An evaluation is of one policy on one environment.",
            expected="at least one trajectory, all with the same env_id, env_kwargs and policy",
            got=sorted({f"{t.policy} on {t.env_id}" for t in trajectories}),
            fix="evaluate each pair on its own",
        )
    first = trajectories[0]
    failed = [t for t in trajectories if not t.has_return]
    usable = _by_seed([t for t in trajectories if t.has_return])
    outcomes: Counter[Outcome] = Counter(t.outcome for t in trajectories)
    mean_return = _per_episode(usable, lambda t: t.episode_return)
    score = scale.normalise(mean_return) if scale and mean_return else None
    return Evaluation(
        env_id=first.env_id,
        env_kwargs=first.env_kwargs,
        policy=first.policy,
        num_seeds=len({t.seed for t in trajectories}),
        num_episodes=len(trajectories),
        outcomes=dict(outcomes),
        first_failure=_described(failed[0]) if failed else None,
        success_rate=_per_episode(usable, lambda t: t.success),
        mean_return=mean_return,
        normalised_score=None if scale_failures else score,
        scale_failures=list(scale_failures),
        mean_turns=_per_episode(usable, lambda t: len(t.turns)),
        format_error_rate=_per_turn(usable, lambda t: t.info.get("action_error") == "format"),
        invalid_action_rate=_per_turn(usable, lambda t: t.info.get("action_error") == "invalid"),
    )


async def evaluate(
    env_id: str,
    policy: Policy,
    seeds: Sequence[int],
    *,
    episodes_per_seed: int = 1,
    policy_seed: int = 0,
    env_kwargs: Mapping[str, Any] | None = None,
    max_concurrent: int = 256,
    deadline_s: float | None = None,
    on_episode: Callable[[Trajectory], None] | None = None,
) -> tuple[Evaluation, list[Trajectory]]:
    """Play a policy on an environment, and summarise.

    Args:
        env_id: see `gemenv.make`.
        policy: who plays.
        seeds: of the environment; the policy must not have been trained on them.
        episodes_per_seed: more than one shows how much the policy's own chance matters.
        policy_seed: from it the policy's choices are drawn.
        env_kwargs: for `gemenv.make`.
        max_concurrent: how many episodes run at once.
        deadline_s: wall seconds for each episode.
        on_episode: called with each record as it ends, for progress.

    Returns:
        The evaluation, and the episodes in the order of the seeds.

    Raises:
        UnknownEnvError, UnknownKeywordError, ArgumentError: see `gemenv.make`.

    Example:
        >>> import asyncio
        >>> from gemenv.rollout.policies.named import named_policy
        >>> job = evaluate("game:GuessTheNumber", named_policy("expert"), range(20))
        >>> evaluation, episodes = asyncio.run(job)
        >>> evaluation.success_rate.mean
        1.0
    """
    kwargs = dict(env_kwargs or {})
    measured = await _scale(env_id, kwargs, seeds)
    trajectories = await collect(
        partial(make, env_id, **kwargs),
        policy,
        group_starts(seeds, episodes_per_seed, policy_seed=policy_seed),
        max_concurrent=max_concurrent,
        deadline_s=deadline_s,
        on_episode=on_episode,
    )
    return summarise(trajectories, measured.scale, measured.failures), trajectories


async def _scale(env_id: str, kwargs: dict[str, Any], seeds: Sequence[int]) -> Measurement:
    """Return the stored scale, or measure one: an environment with other keywords is another."""
    stored = None if kwargs else stored_scale(spec(env_id).id)
    if stored is not None:
        return Measurement(stored, failures=[])
    make_env = partial(make, env_id, **kwargs)
    return await measure_scale(make_env, seeds, names=("random", "oracle"))


def _by_seed(trajectories: Sequence[Trajectory]) -> list[list[Trajectory]]:
    groups: dict[int, list[Trajectory]] = {}
    for trajectory in trajectories:
        groups.setdefault(trajectory.seed, []).append(trajectory)
    return list(groups.values())


def _per_episode(
    groups: Sequence[Sequence[Trajectory]], measure: Callable[[Trajectory], float]
) -> Estimate | None:
    totals = [sum(measure(t) for t in group) for group in groups]
    return estimate_ratio(totals, [len(group) for group in groups])


def _per_turn(
    groups: Sequence[Sequence[Trajectory]], holds: Callable[[Turn], bool]
) -> Estimate | None:
    totals = [sum(holds(turn) for t in group for turn in t.turns) for group in groups]
    return estimate_ratio(totals, [sum(len(t.turns) for t in group) for group in groups])


def _described(failed: Trajectory) -> str:
    return f"seed {failed.seed}: {failed.outcome}: {failed.error}"
