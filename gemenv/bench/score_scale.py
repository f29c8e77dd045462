"""Measure the score scales of a family: what random, constant, expert and oracle reach.

    python -m gemenv.bench.score_scale game
    python -m gemenv.bench.score_scale game --ids game:GuessTheNumber-v0-easy --again

Each id is written to the family's `scores.json` as soon as it is measured; ids that are there
already are skipped, so a run that was cut off goes on where it was. An id on which something
failed, or on which the oracle did not win, is listed with its seeds and left out; the exit status
is then 1.
"""

import argparse
import asyncio
import math
import multiprocessing
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import dataclass
from functools import partial
from statistics import fmean

from gemenv.bench.reference import (
    REFERENCES,
    Reference,
    ScoreScale,
    read_scales,
    scores_path,
    write_scales,
)
from gemenv.core.env import Env
from gemenv.core.registry import list_envs, make, spec
from gemenv.errors import ArgumentError, GemenvError, NoReferenceError
from gemenv.rollout.collect import collect, group_starts
from gemenv.rollout.policies.named import named_policy
from gemenv.rollout.trajectory import Trajectory

_BATCH = 50  # episodes between two looks at the clock
_DECIMALS = 4  # of what is stored: stable in version control
_SEEDS_SHOWN = 10  # of one failure: enough to find its cause


@dataclass(frozen=True)
class Measurement:
    """A measured scale, and what went wrong on the way.

    Args:
        scale: its references are None where no episode has a return.
        failures: one sentence for each kind of failure, with the seeds, ten at most; if there are
            any, the scale is not to be relied on.
    """

    scale: ScoreScale
    failures: list[str]


async def measure_scale(
    make_env: Callable[[], Env],
    seeds: Sequence[int],
    *,
    names: Sequence[str] = REFERENCES,
    budget_s: float = math.inf,
) -> Measurement:
    """Play the reference policies on an environment.

    Args:
        make_env: makes it.
        seeds: one episode of each policy for each of them.
        names: which reference policies; those that the environment does not have are left out.
        budget_s: wall seconds. Each policy plays its first 50 seeds; of the time that is left all
            have an even share, and what one leaves over goes to those after it, the oracle last.
    """
    starts = group_starts(seeds)
    end = time.monotonic() + budget_s
    played_by: dict[str, list[Trajectory]] = {}
    for name in names:
        played = await collect(make_env, named_policy(name), starts[:_BATCH])
        if not _is_undeclared(played):
            played_by[name] = played
    references: dict[str, Reference] = {}
    failures: list[str] = []
    for num_left, (name, played) in zip(
        range(len(played_by), 0, -1), played_by.items(), strict=True
    ):
        now = time.monotonic()
        deadline = now + (end - now) / num_left
        while len(played) < len(starts) and time.monotonic() < deadline:
            batch = starts[len(played) : len(played) + _BATCH]
            played += await collect(make_env, named_policy(name), batch)
        failures += _failures(name, played)
        if usable := [episode for episode in played if episode.has_return]:
            references[name] = _reference(usable)
    return Measurement(ScoreScale(**references), failures)


def _is_undeclared(played: Sequence[Trajectory]) -> bool:
    """Tell whether the environment has no such reference; any other error is a failure of it."""
    told = f"{NoReferenceError.__name__}: "
    return all((episode.error or "").startswith(told) for episode in played)


def _reference(played: Sequence[Trajectory]) -> Reference:
    return Reference(
        mean_return=round(fmean(episode.episode_return for episode in played), _DECIMALS),
        success_rate=round(fmean(episode.success for episode in played), _DECIMALS),
        mean_turns=round(fmean(len(episode.turns) for episode in played), _DECIMALS),
        num_episodes=len(played),
    )


def _failures(name: str, played: Sequence[Trajectory]) -> list[str]:
    seeds_by_problem: dict[str, list[int]] = {}
    for episode in played:
        if not episode.has_return:
            problem = f"{episode.outcome} ({episode.error})"
        elif name == "oracle" and not episode.success:
            problem = "did not win"
        else:
            continue
        seeds_by_problem.setdefault(problem, []).append(episode.seed)
    return [
        f"{name}: {problem} on seeds {_listed(seeds)}"
        for problem, seeds in seeds_by_problem.items()
    ]


def _listed(seeds: Sequence[int]) -> str:
    shown = ", ".join(map(str, seeds[:_SEEDS_SHOWN]))
    num_more = len(seeds) - _SEEDS_SHOWN
    return f"{shown} and {num_more} more" if num_more > 0 else shown


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command; see the module's text.

    Returns:
        The exit status: 0, 1 if something failed, 2 for bad input.
    """
    options = _options(argv)
    try:
        ids = _chosen(options.family, options.ids, again=options.again)
    except GemenvError as error:
        sys.stderr.write(f"{error}\n")
        return 2
    path, status = scores_path(options.family), 0
    for env_id, measurement in _measure_each(ids, options.episodes, options.budget_s):
        if measurement.failures:
            status = 1
            sys.stderr.write("".join(f"{env_id} {line}\n" for line in measurement.failures))
        else:
            write_scales(path, {**read_scales(path), env_id: measurement.scale})
            sys.stdout.write(f"{env_id} {_line(measurement.scale)}\n")
            sys.stdout.flush()
    return status


def _options(argv: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m gemenv.bench.score_scale", description="Measure score scales."
    )
    parser.add_argument("family", help="such as game")
    parser.add_argument("--ids", nargs="+", default=[], help="only these (default: all)")
    parser.add_argument("--episodes", type=int, default=1000, help="for each policy (1000)")
    parser.add_argument("--budget-s", type=float, default=120.0, help="wall seconds an id (120)")
    parser.add_argument("--again", action="store_true", help="also what is measured already")
    options = parser.parse_args(argv)
    if options.episodes < 1:
        parser.error("--episodes must be 1 or more")
    return options


def _chosen(family: str, ids: Sequence[str], *, again: bool) -> list[str]:
    measured = {} if again else read_scales(scores_path(family))
    specs = [spec(env_id) for env_id in ids] or list_envs(family)
    if foreign := [str(s.id) for s in specs if s.id.family != family]:
        raise ArgumentError(
            problem=f"These ids are not of the family {family!r}.",
            expected=f"ids that begin with {family!r}",
            got=foreign,
            fix="measure each family on its own",
        )
    return [str(s.id) for s in specs if str(s.id) not in measured]


def _measure_each(
    ids: Sequence[str], num_episodes: int, budget_s: float
) -> Iterator[tuple[str, Measurement]]:
    """Measure ids in two processes; each comes as it ends."""
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(max_workers=2, mp_context=context) as pool:
        jobs = {pool.submit(_measured, env_id, num_episodes, budget_s): env_id for env_id in ids}
        for job in as_completed(jobs):
            yield jobs[job], job.result()


def _measured(env_id: str, num_episodes: int, budget_s: float) -> Measurement:
    job = measure_scale(partial(make, env_id), range(num_episodes), budget_s=budget_s)
    return asyncio.run(job)


def _line(scale: ScoreScale) -> str:
    return ", ".join(
        f"{name} {reference.mean_return:.3f} ({reference.success_rate:.1%} of "
        f"{reference.num_episodes})"
        for name, reference in scale.references.items()
    )


if __name__ == "__main__":
    sys.exit(main())
