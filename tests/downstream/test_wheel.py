"""What a stranger installs: the built wheel, beside a pack of theirs."""

import os
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

_ROOT = Path(__file__).parents[2]
_PACK = {
    "pyproject.toml": """
[build-system]
requires = ["hatchling"]
build-backend = "hatchling.build"
[project]
name = "gemenv-echo"
version = "0.1"
[project.entry-points."gemenv.envs"]
echo = "gemenv_echo.catalogue"
[tool.hatch.build.targets.wheel]
packages = ["gemenv_echo"]
""",
    "gemenv_echo/__init__.py": "",
    "gemenv_echo/catalogue.py": """
from gemenv import register
register("echo:Echo-v0", "gemenv_echo.echo:Echo")
""",
    "gemenv_echo/echo.py": """
from dataclasses import dataclass
from gemenv import ActionForm, tag
from gemenv.envs.game.turn_game import Outcome, TurnGame

@dataclass(frozen=True)
class Say:
    "Say a word."
    word: str

class Echo(TurnGame[str]):
    "Say the word back."
    def __init__(self):
        super().__init__(ActionForm(Say, tag("say")), max_turns=1)
    def deal(self, rng):
        return str(rng.choice(["ox", "yak"]))
    def rules(self):
        return f"Say {self.state} as {self.actions.usage}."
    def play(self, move):
        return Outcome.won("Yes.") if move.word == self.state else Outcome.lost("No.")
    def oracle(self):
        return Say(self.state)
""",
}


def _wheel(source: Path, out: Path) -> Path:
    command = [sys.executable, "-m", "build", "--wheel", "--no-isolation", "-o", str(out), source]
    subprocess.run(command, check=True, capture_output=True, timeout=300)
    (wheel,) = out.glob("*.whl")
    return wheel


@pytest.fixture(scope="module")
def wheels(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    pack = tmp_path_factory.mktemp("pack")
    for name, text in _PACK.items():
        (pack / name).parent.mkdir(exist_ok=True)
        (pack / name).write_text(text)
    out = tmp_path_factory.mktemp("wheels")
    return [_wheel(_ROOT, out / "ours"), _wheel(pack, out / "pack")]


def test_the_wheel_holds_the_code_the_data_and_the_type_marker(wheels: list[Path]) -> None:
    names = set(zipfile.ZipFile(wheels[0]).namelist())
    assert {"gemenv/py.typed", "gemenv/envs/game/scores.json"} <= names
    assert not [name for name in names if name.startswith(("tests/", "examples/"))]


def test_a_pack_is_found_and_made_by_its_id(wheels: list[Path], tmp_path: Path) -> None:
    site = tmp_path / "site"
    install = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--no-index"]
    options = ["--target", str(site), "--disable-pip-version-check"]
    subprocess.run([*install, *options, *map(str, wheels)], check=True, timeout=300)
    code = """
import gemenv
assert gemenv.__file__.startswith({site!r}), gemenv.__file__
env = gemenv.make("echo:Echo")
env.reset(seed=0)
print(env.step(env.oracle_action()).info["success"], [str(s.id) for s in gemenv.list_envs("echo")])
"""
    done = subprocess.run(
        [sys.executable, "-c", code.format(site=str(site))],
        env={**os.environ, "PYTHONPATH": str(site)},
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.stdout.strip() == "True ['echo:Echo-v0']", done.stderr
