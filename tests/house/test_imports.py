"""`import gemenv` is light and leaves the process as it was."""

import subprocess
import sys

_HEAVY = {"torch", "transformers", "ray", "vllm", "datasets", "sympy", "rich", "tyro", "aiohttp"}


def _run(code: str) -> str:
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=120
    )
    return done.stdout.strip()


def test_importing_gemenv_loads_nothing_heavy() -> None:
    loaded = _run("import sys, gemenv; print(*{m.partition('.')[0] for m in sys.modules})").split()
    assert "gymnasium" in loaded
    assert not _HEAVY & set(loaded)


def test_importing_gemenv_adds_no_log_handler() -> None:
    code = """
import logging
import gymnasium
def handlers():
    loggers = [logging.root, *logging.root.manager.loggerDict.values()]
    return sum(len(getattr(logger, "handlers", ())) for logger in loggers)
before = handlers(), logging.root.level
import gemenv
print((handlers(), logging.root.level) == before)
"""
    assert _run(code) == "True"


def test_importing_and_playing_touch_no_global_random_state() -> None:
    code = """
import random, pickle
import numpy as np
before = random.getstate(), pickle.dumps(np.random.get_state())
import gemenv
for spec in gemenv.list_envs("game"):
    env = spec.make()
    env.reset(seed=0)
    env.step(env.action_space.sample())
    env.reset()
print((random.getstate(), pickle.dumps(np.random.get_state())) == before)
"""
    assert _run(code) == "True"
