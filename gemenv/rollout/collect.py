"""Many episodes at once: one task group, one limit on how many run."""

import asyncio
import warnings
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import Executor

from gemenv.core.env import Env
from gemenv.core.seeding import Stream, make_generator
from gemenv.errors import ArgumentError
from gemenv.rollout.episode import Episode, Start, described, empty_record
from gemenv.rollout.policy import Policy
from gemenv.rollout.trajectory import Trajectory


async def collect(
    make_env: Callable[[], Env],
    policy: Policy,
    starts: Sequence[Start],
    *,
    max_concurrent: int = 256,
    deadline_s: float | None = None,
    system_prompt: str | None = None,
    executor: Executor | None = None,
    on_episode: Callable[[Trajectory], None] | None = None,
) -> list[Trajectory]:
    """Play one episode per start, all of them to their end, and return them in that order.

    Every episode that is started is finished: long ones are not thrown away, so the collected
    lengths are those of the policy.

    Args:
        make_env: makes an environment; at most `max_concurrent` are made, then reused. What the
            first call raises is raised as it is, before any episode starts.
        policy: plays all episodes.
        starts: where each episode starts; see `group_starts`.
        max_concurrent: how many episodes run at once.
        deadline_s: wall seconds for each episode; those that miss it end in `timeout`.
        system_prompt: a first message for each episode.
        executor: where steps of `blocking` environments run.
        on_episode: called with each record as it ends, for progress.

    Raises:
        ArgumentError: if `max_concurrent` is below 1.
    """
    if max_concurrent < 1:
        raise ArgumentError(
            problem="At least one episode must run at a time.",
            expected="max_concurrent >= 1",
            got=max_concurrent,
            fix="leave max_concurrent out for the default",
        )
    limit = asyncio.Semaphore(max_concurrent)
    idle: list[Env] = [make_env()] if starts else []
    first = idle[:]
    records: list[Trajectory | None] = [None] * len(starts)

    async def play(position: int) -> None:
        async with limit:
            start = starts[position]
            try:
                env = idle.pop() if idle else make_env()
            except Exception as error:  # the boundary: what cannot be made fails this episode only
                record = empty_record(first[0], policy, start)
                record.outcome, record.error = "env_error", described(error)
            else:
                record = await _played(Episode(env, policy, start, executor))
            records[position] = record
            if on_episode is not None:
                on_episode(record)

    async def _played(episode: Episode) -> Trajectory:
        is_usable = False
        try:
            record = await episode.run(deadline_s, system_prompt)
            is_usable = record.has_return
        finally:
            if is_usable:
                idle.append(episode.env)
            else:  # whatever failed may have broken it
                _close_when_done(episode)
        return record

    try:
        async with asyncio.TaskGroup() as group:
            for position in range(len(starts)):
                group.create_task(play(position))
    finally:
        for env in idle:
            _close(env)
    return [record for record in records if record is not None]


def group_starts(seeds: Iterable[int], group_size: int = 1, *, policy_seed: int = 0) -> list[Start]:
    """Return `group_size` starts for each seed: one group, one initial state.

    Args:
        seeds: the environment's seed of each group.
        group_size: how many episodes start from each.
        policy_seed: from it each episode's own policy seed is drawn.

    Example:
        >>> [(start.seed, start.group) for start in group_starts([5, 6], 2)]
        [(5, 0), (5, 0), (6, 1), (6, 1)]
    """
    members = [(seed, g) for g, seed in enumerate(seeds) for _ in range(group_size)]
    draws = make_generator(policy_seed, Stream.POLICY).integers(2**63, size=len(members))
    return [
        Start(seed=seed, group=group, policy_seed=int(draw))
        for (seed, group), draw in zip(members, draws, strict=True)
    ]


def _close_when_done(episode: Episode) -> None:
    call = episode.blocking_call
    if call is None or call.done():
        _close(episode.env)
    else:  # a thread is still in it
        call.add_done_callback(lambda _: _close(episode.env))


def _close(env: Env) -> None:
    try:
        env.close()
    except Exception as error:  # the boundary again: the episodes are worth more than this
        warnings.warn(f"{env!r} could not be closed: {error!r}", RuntimeWarning, stacklevel=2)
