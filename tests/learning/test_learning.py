"""Every algorithm learns, and credit per turn learns faster than credit per episode."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from gemenv.train.credit import GroupRelative
from gemenv.train.presets import reinforce_rebn_prox
from tests.learning.toys import reinforce, warm_start

SEEDS = (0, 1, 2)
RANDOM_RETURN = 0.5  # two rooms, one door of four
ONE_STEP: dict[str, Any] = {"rate": 3e-3, "iterations": 60}
FOUR_STEPS: dict[str, Any] = {"rate": 3e-3, "iterations": 35, "minibatches": 4}
GROUPS: dict[str, Any] = {"settings": {"group_size": 8}}

ALGORITHMS: dict[str, dict[str, Any]] = {
    "reinforce": ONE_STEP,
    "reinforce_rebn": ONE_STEP,
    "reinforce_rebn_prox": FOUR_STEPS,
    "grpo": FOUR_STEPS | GROUPS,
    "dr_grpo": FOUR_STEPS | GROUPS,
    "rloo": ONE_STEP | GROUPS,
    "ppo": FOUR_STEPS,
}

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def warm(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str, int], Path]:
    """Models that know the format and nothing else, by variant and seed; each is made once."""
    folder = tmp_path_factory.mktemp("warm")

    def model(variant: str, seed: int) -> Path:
        run = folder / f"{variant}-{seed}"
        return run / "model" if run.exists() else warm_start(run, variant, seed)

    return model


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_every_algorithm_learns(
    algorithm: str, seed: int, warm: Callable[[str, int], Path], tmp_path: Path
):
    settings = ALGORITHMS[algorithm]
    result = reinforce(
        tmp_path / "run", warm("plain", seed), "plain", seed, algorithm=algorithm, **settings
    )
    assert result.before.mean_return < RANDOM_RETURN + 0.25
    assert result.after.mean_return > RANDOM_RETURN + 0.7


def test_credit_per_turn_beats_credit_per_episode(warm: Callable[[str, int], Path], tmp_path: Path):
    per_turn = reinforce_rebn_prox()
    per_episode = replace(per_turn, credit=GroupRelative(baseline="none"))  # nothing else differs

    def success(name: str, seed: int) -> float:
        algorithm = {"turn": per_turn, "episode": per_episode}[name]
        settings: dict[str, Any] = {"iterations": 25, "minibatches": 4, "algorithm": algorithm}
        folder, model = tmp_path / f"{name}-{seed}", warm("lottery", seed)
        return reinforce(folder, model, "lottery", seed, **settings).after.success

    found = [(success("turn", seed), success("episode", seed)) for seed in SEEDS]
    turn, episode = np.mean(found, axis=0)
    assert turn > 0.75, found
    assert turn > episode + 0.15, found
