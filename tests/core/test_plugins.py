"""Contributed packs: found by their entry point, loaded when needed, named when they fail."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

_ROOT = Path(__file__).parents[2]

_CATALOGUE = """
from gemenv import register
register("echo:Echo-v0", "echo_pack.echo:Echo", variants={"short": {}, "long": {"max_turns": 9}})
"""
_ECHO = '''
from dataclasses import dataclass
from gemenv import ActionForm, tag
from gemenv.envs.game.turn_game import Outcome, TurnGame

@dataclass(frozen=True)
class Say:
    """Say a word."""
    word: str

class Echo(TurnGame):
    """Say the word that is shown."""
    def __init__(self, *, max_turns: int = 2):
        super().__init__(ActionForm(Say, tag("say")), max_turns=max_turns)
    def deal(self, rng):
        return str(rng.choice(["ox", "yak", "gnu"]))
    def rules(self):
        return f"Say {self.state} as {self.actions.usage}."
    def play(self, move):
        return Outcome.won("Yes.") if move.word == self.state else Outcome.go("No.")
    def oracle(self):
        return Say(self.state)
'''


def _install(site: Path, package: str, entry_point: str, **modules: str) -> None:
    (site / package).mkdir()
    for name, text in {"__init__": "", **modules}.items():
        (site / package / f"{name}.py").write_text(text)
    info = site / f"{package}-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {package}\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text(f"[gemenv.envs]\n{entry_point}\n")


@pytest.fixture(scope="module")
def site(tmp_path_factory) -> Path:
    site = tmp_path_factory.mktemp("site")
    _install(site, "echo_pack", "echo = echo_pack.catalogue", catalogue=_CATALOGUE, echo=_ECHO)
    _install(site, "sick_pack", "sick = sick_pack.catalogue", catalogue="raise OSError('no disk')")
    return site


def _run(site: Path, code: str) -> str:
    path = os.pathsep.join([str(site), str(_ROOT)])
    done = subprocess.run(
        [sys.executable, "-c", code],
        env={**os.environ, "PYTHONPATH": path},
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def test_a_pack_is_loaded_when_its_family_is_asked_for_and_not_before(site) -> None:
    code = """
import sys
import gemenv
gemenv.make("game:GuessTheNumber")
print("echo_pack" in sys.modules)
gemenv.spec("echo:Echo")
print("echo_pack.catalogue" in sys.modules, "echo_pack.echo" in sys.modules)
env = gemenv.make("echo:Echo-long")
env.reset(seed=0)
print(env.env_id, env.max_turns, env.step(env.oracle_action()).info["success"])
print([str(spec.id) for spec in gemenv.list_envs("echo")])
"""
    assert _run(site, code).splitlines() == [
        "False",
        "True False",
        "echo:Echo-v0-long 9 True",
        "['echo:Echo-v0-short', 'echo:Echo-v0-long']",
    ]


def test_a_pack_s_environment_is_in_gymnasium_too(site) -> None:
    code = """
import gymnasium
env = gymnasium.make("echo_pack.catalogue:echo/Echo-v0")
env.reset(seed=0)
print(env.step(env.unwrapped.oracle_action())[2])
"""
    assert _run(site, code) == "True"


def test_a_pack_keeps_the_contract_in_other_processes_too(site) -> None:
    code = """
from gemenv.testing import check_env
report = check_env("echo:Echo", num_fuzz=50)
print([result.name for result in report.results if result.skipped])
"""
    assert _run(site, code) == "['check_expert', 'check_legal']"


def test_a_pack_that_fails_is_named_and_the_cause_is_chained(site) -> None:
    code = """
import gemenv
try:
    gemenv.make("sick:Anything")
except gemenv.errors.RegistrationError as error:
    print(error.problem, "|", error.fix, "|", repr(error.__cause__))
"""
    assert _run(site, code) == (
        "The environment family 'sick' failed to load: no disk. | "
        "mend or uninstall the package that provides 'sick' | OSError('no disk')"
    )


def test_a_pack_that_fails_is_left_out_of_the_list_with_a_warning(site) -> None:
    code = """
import warnings
import gemenv
with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    families = {spec.id.family for spec in gemenv.list_envs()}
print("echo" in families, "game" in families, "sick" in families)
print(len(caught), "'sick' failed to load" in str(caught[0].message), caught[0].category.__name__)
"""
    assert _run(site, code).splitlines() == ["True True False", "1 True RuntimeWarning"]
