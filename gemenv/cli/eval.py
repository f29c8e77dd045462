"""Evaluate a policy on an environment over many seeds.

Averages carry 95 % intervals over seeds. An episode that ended in an error is counted under its
outcome, and is in no average; if all did, the exit status is 1.

Examples:
    gemenv eval game:GuessTheNumber --policy expert
    gemenv eval game:GuessTheNumber --policy model:runs/mine/model --episodes 500 --seed 1000
    gemenv eval game:GuessTheNumber --policy chat:gpt-oss-20b --base-url http://localhost:8000/v1
    gemenv eval game:GuessTheNumber --json result.json --save-trajectories episodes.jsonl
"""

import asyncio
import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated

import msgspec
import tyro
from rich.console import Console
from rich.progress import Progress
from rich.table import Table

from gemenv.bench.evaluation import Evaluation, evaluate
from gemenv.bench.statistics import Estimate
from gemenv.cli.arguments import Keywords, parse
from gemenv.cli.output_file import check_output, write_output
from gemenv.cli.policy_option import PolicyOptions, open_policy
from gemenv.core.seeding import checked_seed
from gemenv.errors import ArgumentError
from gemenv.rollout import record
from gemenv.rollout.trajectory import Trajectory

_MAX_CONCURRENT = 128


@dataclass(frozen=True)
class Options:
    """What to evaluate, and how."""

    id: tyro.conf.Positional[str]
    """`family:Name[-vN][-variant]`."""
    player: Annotated[PolicyOptions, tyro.conf.arg(name="")] = field(default_factory=PolicyOptions)
    """The policy."""
    episodes: int = 100
    """From so many seeds, one episode each; 1 or more."""
    seed: int = 0
    """The first seed, 0 or more; the others follow it."""
    policy_seed: int = 0
    """From it the policy's choices are drawn; 0 or more."""
    kwargs: Keywords = field(default_factory=dict[str, object])
    """Keywords of the environment."""
    max_concurrent: int | None = None
    """The most episodes under way at once, 1 or more; if left out 128, or 1 where a person
    plays."""
    deadline_s: float | None = None
    """Wall seconds after which an episode ends in `timeout`; never if left out."""
    json: Path | None = None
    """Write the evaluation to this file."""
    save_trajectories: Path | None = None
    """Write the episodes to this file, one JSON object a line."""
    overwrite: bool = False
    """Replace files that exist."""

    def __post_init__(self) -> None:
        for name in ("episodes", "max_concurrent", "deadline_s"):
            value = getattr(self, name)
            if value is not None and not value > 0:
                raise ArgumentError(
                    problem=f"--{name.replace('_', '-')} is too small.",
                    expected="a number above 0",
                    got=value,
                    fix="leave it out for the default",
                )
        if self.player.is_person and self.max_concurrent not in (None, 1):
            raise ArgumentError(
                problem="A person plays one episode at a time.",
                expected="--max-concurrent 1",
                got=self.max_concurrent,
                fix="leave it out",
            )
        if self.json and self.save_trajectories and _are_same(self.json, self.save_trajectories):
            raise ArgumentError(
                problem="--json and --save-trajectories name the same file.",
                expected="two files",
                got=str(self.json),
                fix="name another file for one of them",
            )
        checked_seed(self.seed)
        checked_seed(self.policy_seed)


def _are_same(path: Path, other: Path) -> bool:
    return path.resolve() == other.resolve()


def run(argv: Sequence[str]) -> int:
    """Evaluate, print a table, and write the files that were asked for."""
    options = parse(Options, argv, command="gemenv eval", about=__doc__)
    for path in (options.json, options.save_trajectories):
        if path is not None:
            check_output(path, overwrite=options.overwrite)
    evaluation, episodes = asyncio.run(_evaluate(options))
    if options.json is not None:
        write_output(options.json, _json(evaluation))
    if options.save_trajectories is not None:
        lines = [record.encode(episode) + b"\n" for episode in episodes]
        write_output(options.save_trajectories, b"".join(lines))
    _print(evaluation)
    return 0 if evaluation.mean_return is not None else 1


async def _evaluate(options: Options) -> tuple[Evaluation, list[Trajectory]]:
    seeds = range(options.seed, options.seed + options.episodes)
    is_person = options.player.is_person
    console = Console(stderr=True)
    is_hidden = is_person or not console.is_terminal  # a bar would be drawn over what is typed
    with Progress(console=console, transient=True, disable=is_hidden) as progress:
        bar = progress.add_task("episodes", total=options.episodes)
        async with open_policy(options.player) as policy:
            return await evaluate(
                options.id,
                policy,
                seeds,
                policy_seed=options.policy_seed,
                env_kwargs=options.kwargs,
                max_concurrent=options.max_concurrent or (1 if is_person else _MAX_CONCURRENT),
                deadline_s=options.deadline_s,
                on_episode=lambda _: progress.advance(bar),
            )


def _json(evaluation: Evaluation) -> bytes:
    """Write it for people and programs; ASCII, so that any text of an error can be held."""
    return json.dumps(msgspec.to_builtins(evaluation), indent=2).encode() + b"\n"


def _print(evaluation: Evaluation) -> None:
    print(f"{evaluation.policy} on {evaluation.env_id}")
    outcomes = ", ".join(f"{count} {outcome}" for outcome, count in evaluation.outcomes.items())
    print(f"{evaluation.num_episodes} episodes: {outcomes}")
    if evaluation.first_failure is not None:
        print(f"first failure: {evaluation.first_failure}")
    if failures := evaluation.scale_failures:
        others = f" (and {len(failures) - 1} more like it)" if len(failures) > 1 else ""
        print(f"no normalised score, for want of a scale: {failures[0]}{others}")
    table = Table("", "mean", "95 % interval")
    for name in ("success_rate", "mean_return", "normalised_score", "mean_turns"):
        _add_row(table, name, getattr(evaluation, name))
    for name in ("format_error_rate", "invalid_action_rate"):
        _add_row(table, name, getattr(evaluation, name))
    Console().print(table)


def _add_row(table: Table, name: str, estimate: Estimate | None) -> None:
    title = name.replace("_", " ")
    if estimate is None:
        table.add_row(title, "-", "")
    else:
        table.add_row(title, f"{estimate.mean:.3f}", f"{estimate.low:.3f} to {estimate.high:.3f}")
