"""Time and memory of every registered environment, against a hand-written game.

    python tests/benchmarks/environments.py [FAMILY] [--seeds 300]

Thread CPU time. The floor is GuessTheNumber as a bare class with a regular expression: what a step
costs that reads text, decides and answers, without any contract. `x floor` is the ratio to it.
"""

import argparse
import random
import re
import statistics
import time
import tracemalloc
from collections.abc import Callable
from dataclasses import dataclass

import gemenv
from gemenv.core.seeding import Stream, make_generator
from gemenv.rollout.policies.text_policy import RandomPolicy

_INSTANCES = 300


class _Floor:
    def reset(self, seed: int) -> str:
        self.number = random.Random(seed).randint(1, 50)
        return f"Guess a number between 1 and {50}."

    def step(self, action: str) -> tuple[str, float, bool, bool, dict[str, int]]:
        found = re.findall(r"\\boxed\{(\d+)\}", action)
        guess = int(found[-1])
        hint = "higher" if guess < self.number else "lower"
        return f"The number is {hint} than {guess}.", 0.0, False, False, {"turn": 1}


@dataclass
class _Row:
    name: str
    make_us: float
    reset_us: float
    reset_p99_us: float
    step_us: float
    kib: float


def _cpu_us(function: Callable[[], object]) -> float:
    began = time.thread_time_ns()
    function()
    return (time.thread_time_ns() - began) / 1e3


def _floor_step_us() -> float:
    floor = _Floor()
    floor.reset(0)
    costs = [_cpu_us(lambda: [floor.step(r"\boxed{51}") for _ in range(100)]) for _ in range(50)]
    return statistics.median(costs) / 100


def _step_costs(env: gemenv.Env, seed: int) -> list[float]:
    """Play an episode at random (formatting the answers is not counted)."""
    env.reset(seed=seed)
    rng = make_generator(seed, Stream.POLICY)
    policy, costs, over = RandomPolicy(), [], False
    while not over and len(costs) < 30:
        action = policy.answer(env, (), rng)
        began = time.thread_time_ns()
        step = env.step(action)
        costs.append((time.thread_time_ns() - began) / 1e3)
        over = step.terminated or step.truncated
    return costs


def _kib(spec: gemenv.EnvSpec) -> float:
    spec.make().reset(seed=0)  # shared tables are loaded before counting
    tracemalloc.start()
    before = tracemalloc.get_traced_memory()[0]
    alive = [spec.make() for _ in range(_INSTANCES)]
    for seed, env in enumerate(alive):
        env.reset(seed=seed)
    after = tracemalloc.get_traced_memory()[0]
    tracemalloc.stop()
    return (after - before) / _INSTANCES / 1024


def _measured(spec: gemenv.EnvSpec, num_seeds: int) -> _Row:
    env = spec.make()
    env.reset(seed=0)
    makes = [_cpu_us(spec.make) for _ in range(50)]
    resets = sorted(_cpu_us(lambda seed=seed: env.reset(seed=seed)) for seed in range(num_seeds))
    steps = [cost for seed in range(min(num_seeds, 40)) for cost in _step_costs(env, seed)]
    return _Row(
        str(spec.id),
        statistics.median(makes),
        statistics.median(resets),
        resets[int(0.99 * (len(resets) - 1))],
        statistics.median(steps),
        _kib(spec),
    )


def main() -> None:
    """Print one row for each environment."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("family", nargs="?", default=None)
    parser.add_argument("--seeds", type=int, default=300)
    options = parser.parse_args()
    floor = _floor_step_us()
    print(f"floor: {floor:.2f} us a step")
    heads = ("make us", "reset us", "p99 us", "step us", "x floor", "KiB")
    print(f"{'id':38}" + "".join(f" {head:>8}" for head in heads))
    for spec in gemenv.list_envs(options.family):
        row = _measured(spec, options.seeds)
        print(
            f"{row.name:38} {row.make_us:8.0f} {row.reset_us:8.0f} {row.reset_p99_us:8.0f} "
            f"{row.step_us:8.1f} {row.step_us / floor:8.1f} {row.kib:8.1f}"
        )


if __name__ == "__main__":
    main()
