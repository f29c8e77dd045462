"""Same inputs, same bytes: alone, beside others, in threads, in other processes."""

import contextlib
import importlib.util
import os
import pickle
import random
import subprocess
import sys
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from typing import Any, cast
from unittest import SkipTest

import numpy as np

from gemenv.core.env import Env
from gemenv.core.seeding import Stream, make_generator
from gemenv.errors import NoReferenceError
from gemenv.testing.check import Factory, check, require
from gemenv.testing.play import (
    affordable,
    explore,
    follow,
    innermost,
    is_over,
    oracle_answer,
    replay,
    require_same,
    sample,
)

_NUM_EPISODES = 3
_NUM_SEEDS = 16
_NUM_SIBLINGS = 8
_PROCESS_TIMEOUT_S = 300
_DRAW_FROM_OWN = "draw from self.np_random only, and keep what changes in self.state"


@check
def check_same_seed(make: Factory, seed: int) -> None:
    """The same seed and actions give the same episode: again, in a new instance, in a used one."""
    env, used = make(), make()
    for each in range(seed, seed + _NUM_EPISODES):
        actions = explore(env, each)
        expected = _revealed(env, each, actions)
        replay(used, each + 1000, actions)
        used.reset()
        for where, other in (("again", env), ("in a new one", make()), ("in a used one", used)):
            problem = f"The same seed and actions gave another episode {where}"
            require_same(expected, _revealed(other, each, actions), problem, fix=_DRAW_FROM_OWN)


@check
def check_seed_variety(make: Factory, seed: int) -> None:
    """Different seeds give different episodes."""
    env = make()
    actions, num = explore(env, seed), affordable(env, _NUM_SEEDS)
    episodes: set[str] = set()
    is_random = False
    for each in range(seed, seed + num):
        episodes.add(repr(_revealed(env, each, actions)))
        untouched = make_generator(each, Stream.EPISODE).bit_generator.state
        is_random = is_random or env.np_random.bit_generator.state != untouched
    if not is_random and len(episodes) == 1:
        raise SkipTest("nothing is drawn at random: every seed is the same episode")
    require(
        len(episodes) > 1,
        "Different seeds gave the same episode.",
        expected="episodes that depend on the seed",
        got=f"{num} equal episodes from {num} seeds",
        fix="draw the task from self.np_random, not from a generator with a seed of its own",
    )


@check
def check_siblings(make: Factory, seed: int) -> None:
    """Eight instances that are stepped by turns play as each of them does alone."""
    _require_undisturbed(make, seed, map, "other instances were stepped between its turns")


@check
def check_threads(make: Factory, seed: int) -> None:
    """So do eight instances in eight threads, and each turn may come in another thread."""
    with ThreadPoolExecutor(_NUM_SIBLINGS) as threads:
        _require_undisturbed(make, seed, threads.map, "threads played it, and others beside it")


def _require_undisturbed(
    make: Factory, seed: int, run: Callable[..., Iterable[list[str]]], why: str
) -> None:
    seeds = range(seed, seed + _NUM_SIBLINGS)
    plays = [explore(make(), each) for each in seeds]
    expected = [replay(make(), each, play) for each, play in zip(seeds, plays, strict=True)]
    envs = [make() for _ in seeds]
    seen = list(run(replay, envs, seeds, [[]] * len(seeds)))  # the resets
    for turn in range(max(map(len, plays))):
        now = [play[turn : turn + 1] for play in plays]
        for episode, events in zip(seen, list(run(follow, envs, now)), strict=True):
            episode += events
    for one, other in zip(expected, seen, strict=True):
        problem = f"An episode changed because {why}"
        require_same(one, other, problem, fix="share nothing that changes between instances")


@check
def check_processes(make: Factory, seed: int) -> None:
    """Two new processes, whose string hashes differ, play the same episode.

    They are plain interpreters rather than `multiprocessing`'s, which would run the caller's main
    module again.
    """
    env = make()
    _require_importable(env)
    actions = explore(make(), seed)
    task = pickle.dumps((env, seed, actions))
    children = [_start_child(hash_seed) for hash_seed in (1, 2)]
    try:
        answers = [child.communicate(task, _PROCESS_TIMEOUT_S) for child in children]
    finally:
        for child in children:
            child.kill()  # in case that it hangs
    expected = _revealed(env, seed, actions)
    for child, (output, errors) in zip(children, answers, strict=True):
        require(
            child.returncode == 0,
            "The environment could not be played in another process.",
            expected="that it can be pickled, and unpickled elsewhere",
            got=errors.decode(errors="replace").strip().rpartition("\n")[2],
            fix="define its classes in an importable module, and let them hold nothing local",
        )
        problem = "The same seed and actions gave another episode in another process"
        fix = "sort sets before choosing from them; do not depend on hash(), id() or the clock"
        require_same(expected, pickle.loads(output), problem, fix=fix)


def replay_from_stdin() -> None:
    """Play what `check_processes` sends: the child's side of it."""
    output, sys.stdout = sys.stdout.buffer, sys.stderr  # prints must not end up in the answer
    env, seed, actions = pickle.load(sys.stdin.buffer)
    output.write(pickle.dumps(_revealed(env, seed, actions)))


@check
def check_global_state(make: Factory, seed: int) -> None:
    """Nothing reads or writes the random state of the whole process."""

    def play_and_ask() -> None:
        env = make()
        replay(env, seed, explore(env, seed))
        env.reset(seed=seed)
        _read_everything(env)
        env.close()

    before = _global_random_state()
    play_and_ask()
    require(
        _global_random_state() == before,
        "The global random state was touched.",
        expected="random and numpy.random as they were",
        got="another state after make, reset, step, oracle, expert and close",
        fix="replace random.* and numpy.random.* by self.np_random",
    )


@check
def check_reading(make: Factory, seed: int) -> None:
    """Asking for references, spaces and snapshots, and changing what came back, changes nothing."""
    env = make()
    for each in range(seed, seed + _NUM_EPISODES):
        actions = explore(env, each)
        expected = replay(env, each, actions)
        observation, info = env.reset(seed=each)
        seen = [repr((observation, info))]
        for action in actions:
            _read_everything(env)
            step = env.step(action)
            seen.append(repr(tuple(step)))
            _spoil([step.observation, step.info])
            if is_over(step):
                break
        problem = "The episode went on differently because somebody looked at it"
        fix = "let oracle, expert and legal_actions only read; hand out new dicts and lists"
        require_same(expected, seen, problem, fix=fix)


def _revealed(env: Env, seed: int, actions: list[str]) -> list[str]:
    """Replay an episode, and add what is hidden at its start: the oracle's first answer."""
    seen = replay(env, seed, actions)
    env.reset(seed=seed)
    return [*seen, oracle_answer(env) or ""]


def _spoil(returned: Any) -> None:
    """Empty every list and dict in what an environment has handed out."""
    if isinstance(returned, list | dict):
        container = cast(dict[Any, Any], returned)
        for item in list(container.values() if isinstance(returned, dict) else container):
            _spoil(item)
        container.clear()


def _read_everything(env: Env) -> None:
    asked: list[Callable[[], Any]] = [env.oracle_action, env.expert_action, env.legal_actions]
    for ask in [*asked, env.snapshot]:
        with contextlib.suppress(NoReferenceError, NotImplementedError):
            ask()
    sample(env, make_generator(0, Stream.CHECK))
    env.action_space.sample()
    repr(env)


def _global_random_state() -> bytes:
    return pickle.dumps((random.getstate(), np.random.get_state()))


def _require_importable(env: Env) -> None:
    module = type(innermost(env)).__module__
    try:
        found = module != "__main__" and importlib.util.find_spec(module) is not None
    except ValueError:  # a module that was made by hand has no spec
        found = False
    if not found:
        raise SkipTest(f"its class is defined in {module}, which other processes cannot import")


def _start_child(hash_seed: int) -> subprocess.Popen[bytes]:
    path = os.pathsep.join(entry or os.getcwd() for entry in sys.path)
    return subprocess.Popen(
        [sys.executable, "-c", f"from {__name__} import replay_from_stdin as play; play()"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env={**os.environ, "PYTHONPATH": path, "PYTHONHASHSEED": str(hash_seed)},
    )
