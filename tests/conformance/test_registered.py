"""Every registered environment keeps every promise."""

import pytest

import gemenv
from gemenv.testing import check_env

_SKIPS = {
    "check_expert": "no hidden fields",
    "check_legal": "no list of legal actions",
    "check_seed_variety": "nothing is drawn at random",  # a tower has one start
}
_IDS = [str(spec.id) for spec in gemenv.list_envs()]


def test_the_registry_is_not_empty() -> None:
    assert len(_IDS) >= 43


@pytest.mark.parametrize("env_id", _IDS)
def test_it_conforms(env_id: str) -> None:
    report = check_env(env_id)
    for result in report.results:
        if result.skipped is not None:
            assert _SKIPS[result.name] in result.skipped
