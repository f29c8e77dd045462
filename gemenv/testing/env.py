"""The conformance suite of environments: every promise of `gemenv.Env`, tried out."""

import copy
import functools
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from unittest import SkipTest

from gemenv.core.env import Env
from gemenv.core.registry import make
from gemenv.errors import ArgumentError
from gemenv.testing.check import Factory
from gemenv.testing.contract import (
    check_action_type,
    check_actions,
    check_close,
    check_flags,
    check_gymnasium,
    check_info,
    check_observations,
    check_reset_first,
    check_rewards,
    check_step_after_end,
    check_turns,
)
from gemenv.testing.determinism import (
    check_global_state,
    check_processes,
    check_reading,
    check_same_seed,
    check_seed_variety,
    check_siblings,
    check_threads,
)
from gemenv.testing.fuzz import NUM_ACTIONS, check_fuzz
from gemenv.testing.hidden import check_expert, check_secrets
from gemenv.testing.reference import check_injections, check_legal, check_oracle, check_random
from gemenv.testing.snapshots import check_fork, check_pickle, check_snapshot

CHECKS = (
    check_reset_first,
    check_step_after_end,
    check_action_type,
    check_close,
    check_flags,
    check_rewards,
    check_info,
    check_turns,
    check_observations,
    check_actions,
    check_gymnasium,
    check_same_seed,
    check_seed_variety,
    check_reading,
    check_global_state,
    check_snapshot,
    check_pickle,
    check_fork,
    check_siblings,
    check_threads,
    check_processes,
    check_oracle,
    check_expert,
    check_legal,
    check_random,
    check_injections,
    check_secrets,
    check_fuzz,
)
"""Every check, `check_xxx(make: Callable[[], Env], seed: int) -> None`, in the order they run.

A check raises ConformanceError if its promise is broken and `unittest.SkipTest` if it does not
apply, so each is a test of its own:

    @pytest.mark.parametrize("check", gemenv.testing.CHECKS, ids=lambda check: check.__name__)
    def test_my_env(check):
        check(MyEnv, seed=0)
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckResult:
    """One check that was kept, or did not apply.

    Args:
        name: of the check.
        duration_s: wall seconds, for all seeds together.
        skipped: why it did not apply, for no seed; None if it was kept.
    """

    name: str
    duration_s: float
    skipped: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """What `check_env` found; `str` of it is a table.

    Args:
        env: which environment.
        results: one for each check, in the order of `CHECKS`.
    """

    env: str
    results: tuple[CheckResult, ...]

    @property
    def num_kept(self) -> int:
        """How many checks were kept; the others did not apply."""
        return sum(result.skipped is None for result in self.results)

    def __str__(self) -> str:
        duration_s = sum(result.duration_s for result in self.results)
        lines = [f"{self.env}: {self.num_kept} checks kept in {duration_s:.1f} s"]
        for result in self.results:
            outcome = "kept" if result.skipped is None else f"skipped: {result.skipped}"
            lines.append(f"  {result.name:<24}{result.duration_s:>7.2f} s  {outcome}")
        return "\n".join(lines)


def check_env(
    env: str | Env | Factory,
    *,
    seeds: Sequence[int] = (0,),
    num_fuzz: int = NUM_ACTIONS,
    skip: Mapping[str, str] | None = None,
) -> Report:
    """Try every promise of the environment contract.

    Args:
        env: an id, a class or another function that makes one, or an instance that was not reset
            yet (it is copied, and stays as it is).
        seeds: where the checks begin; each plays a few episodes from there on.
        num_fuzz: how many strange actions to try; a tenth of it where steps wait on something.
        skip: reasons by name of check, for promises that are not to be kept.

    Returns:
        Which checks were kept, and which did not apply.

    Raises:
        ConformanceError: at the first broken promise; it names the check and the seed.
        ArgumentError: if `skip` names no check.

    Example:
        >>> report = check_env("game:GuessTheNumber", num_fuzz=100)
        >>> report.num_kept
        28
    """
    make_one, reasons = _factory(env), dict(skip or {})
    unknown = sorted(reasons.keys() - {check.__name__ for check in CHECKS})
    if unknown:
        raise ArgumentError(
            problem="There is no such check to skip.",
            expected="names of gemenv.testing.CHECKS",
            got=unknown,
            fix="leave it out",
        )
    options = {"check_fuzz": {"num_actions": num_fuzz}}
    results = tuple(
        _result(check, make_one, seeds, reasons.get(check.__name__), options.get(check.__name__))
        for check in CHECKS
    )
    return Report(env=repr(make_one()), results=results)


def _result(
    check: Callable[..., None],
    make_one: Factory,
    seeds: Sequence[int],
    reason: str | None,
    options: dict[str, Any] | None,
) -> CheckResult:
    name = check.__name__
    if reason is not None:
        return CheckResult(name=name, duration_s=0.0, skipped=reason)
    began = time.perf_counter()
    num_kept, skipped = 0, None
    for seed in seeds:
        try:
            check(make_one, seed, **(options or {}))
            num_kept += 1
        except SkipTest as why:
            skipped = str(why)
    return CheckResult(
        name=name,
        duration_s=time.perf_counter() - began,
        skipped=None if num_kept else skipped,
    )


def _factory(env: str | Env | Factory) -> Factory:
    if isinstance(env, str):
        return functools.partial(make, env)
    if isinstance(env, Env):
        return functools.partial(copy.deepcopy, env)
    return env
