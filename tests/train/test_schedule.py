"""Horizons and the loss scale."""

from typing import Any

import pytest

from gemenv.errors import ConfigError
from gemenv.train.schedule import LossScale, growing_horizon, staged_horizon


def test_a_stage_lasts_its_steps_and_the_last_one_stays() -> None:
    stages = [staged_horizon(step, stages=(6, 13), steps_per_stage=2) for step in range(6)]
    assert stages == [6, 6, 13, 13, 13, 13]


def test_the_growing_horizon_stops_at_its_limit() -> None:
    assert [growing_horizon(i, first=10, last=25) for i in (1, 2, 3)] == [10, 20, 25]


def test_an_overflow_restarts_the_count_of_clean_steps() -> None:
    scale, seen = LossScale(scale=8.0, interval=2), []
    for found_inf in (False, True, False, False):
        scale = scale.after(found_inf=found_inf)
        seen.append(scale.scale)
    assert seen == [8.0, 4.0, 4.0, 8.0]


@pytest.mark.parametrize(
    "settings", [{"scale": 0.0}, {"growth": 1.0}, {"backoff": 1.0}, {"interval": 0}]
)
def test_a_scale_that_cannot_work_is_refused(settings: dict[str, Any]) -> None:
    with pytest.raises(ConfigError):
        LossScale(**settings)
