"""Run the conformance suite on environments: does each keep what the contract promises?

A check is kept, skipped (it does not apply) or broken; if one is broken, the exit status is 1.

Examples:
    gemenv check game:GuessTheNumber
    gemenv check game:GuessTheNumber-v0-easy game:GuessTheNumber-v0-hard --seeds 0 1 2
"""

import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from unittest import SkipTest

import tyro

from gemenv.cli.arguments import parse
from gemenv.core.registry import make, spec
from gemenv.core.seeding import checked_seed
from gemenv.errors import ArgumentError, ConformanceError
from gemenv.testing import CHECKS
from gemenv.testing.check import Factory

Check = Callable[[Factory, int], None]


@dataclass(frozen=True)
class Options:
    """What to check."""

    ids: tyro.conf.Positional[tuple[str, ...]]
    """`family:Name[-vN][-variant]`, one or more."""
    seeds: tuple[int, ...] = (0,)
    """Where the checks begin; each plays a few episodes from there on."""

    def __post_init__(self) -> None:
        for seed in self.seeds:
            checked_seed(seed)
        if not self.ids or not self.seeds:
            raise ArgumentError(
                problem="There is nothing to check.",
                expected="at least one id, and at least one seed",
                got=(self.ids, self.seeds),
                fix="name an environment: gemenv check game:GuessTheNumber",
            )


def run(argv: Sequence[str]) -> int:
    """Check every environment, and print a line for each check."""
    options = parse(Options, argv, command="gemenv check", about=__doc__)
    specs = [spec(env_id) for env_id in options.ids]  # all ids, before any of the work
    num_broken = sum(_check(str(found.id), options.seeds) for found in specs)
    return 1 if num_broken else 0


def _check(env_id: str, seeds: Sequence[int]) -> int:
    """Check one environment; return how many checks it breaks."""
    print(env_id)
    num_broken = 0
    for check in CHECKS:
        began = time.perf_counter()
        result, error = _result(check, partial(make, env_id), seeds)
        print(f"  {check.__name__:<22} {time.perf_counter() - began:6.2f} s  {result}", flush=True)
        if error is not None:
            num_broken += 1
            print(error, file=sys.stderr)
    print(f"  {num_broken} of {len(CHECKS)} checks broken" if num_broken else "  all is well")
    return num_broken


def _result(
    check: Check, make_env: Factory, seeds: Sequence[int]
) -> tuple[str, ConformanceError | None]:
    reason = None
    num_kept = 0
    for seed in seeds:
        try:
            check(make_env, seed)
            num_kept += 1
        except SkipTest as skipped:
            reason = skipped
        except ConformanceError as error:
            return f"broken with seed {seed}", error
    return "kept" if num_kept else f"skipped: {reason}", None
