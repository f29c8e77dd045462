import pytest
from gymnasium.envs import registration

import gemenv
from gemenv.core import registry
from tests.bench.solvable import registered
from tests.cli.console import Console
from tests.rollout.toys import Counter


@pytest.fixture
def console(capsys: pytest.CaptureFixture[str]) -> Console:
    return Console(capsys)


class Faulty(Counter):
    """Has no oracle, and pays more than it says."""

    reward_range = (0.0, 0.1)


@pytest.fixture
def faulty(monkeypatch: pytest.MonkeyPatch) -> str:
    """Register an environment with faults, for one test only."""
    monkeypatch.setattr(registry, "_specs", dict(registry._specs))
    monkeypatch.setattr(registry, "_by_alias", dict(registry._by_alias))
    monkeypatch.setattr(registration, "registry", dict(registration.registry))
    gemenv.register("toy:Faulty-v0", Faulty)
    return "toy:Faulty-v0"


@pytest.fixture
def unsolvable(monkeypatch: pytest.MonkeyPatch) -> str:
    """Register an environment whose oracle raises on seeds 1 to 3, for one test only."""
    return registered(monkeypatch, broken=(1, 2, 3))
