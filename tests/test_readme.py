"""Every code block of the README and the docs runs."""

import re
import shlex
import shutil
import subprocess
import sys
import types
from pathlib import Path

import pytest

from gemenv.core import registry

_ROOT = Path(__file__).parents[1]
_PAGES = [_ROOT / "README.md", *sorted((_ROOT / "docs").glob("*.md"))]
_BLOCK = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_INSTALLS = ("pip install", "git clone", "make demo", "make test")


def _blocks(language: str) -> list[tuple[Path, list[str]]]:
    pages = [(page, _BLOCK.findall(page.read_text())) for page in _PAGES]
    found = [(page, [text for kind, text in all_ if kind == language]) for page, all_ in pages]
    return [(page, texts) for page, texts in found if texts]


@pytest.mark.parametrize(
    ("page", "blocks"), _blocks("python"), ids=lambda v: getattr(v, "name", "")
)
def test_python_blocks_run_in_order(page: Path, blocks: list[str], monkeypatch) -> None:
    monkeypatch.setattr(registry, "_specs", dict(registry._specs))
    monkeypatch.setattr(registry, "_by_alias", dict(registry._by_alias))
    module = types.ModuleType("a_page")  # what is pickled must be found again by its module
    monkeypatch.setitem(sys.modules, module.__name__, module)
    for block in blocks:
        exec(compile(block, str(page), "exec"), vars(module))


def _commands() -> list[str]:
    lines = [line for _, texts in _blocks("bash") for text in texts for line in text.splitlines()]
    return sorted({line.partition("#")[0].strip() for line in lines} - {""})


@pytest.mark.parametrize("command", [c for c in _commands() if c.startswith("gemenv")])
def test_gemenv_commands_run(command: str, tmp_path: Path) -> None:
    words = shlex.split(command)
    if words[1] == "play" and "--policy" not in words:
        words += ["--policy", "random"]
    if words[1] == "train":  # the demo itself is tested in tests/examples
        words = [*words[:3], "--help"]
    program = Path(sys.executable).with_name("gemenv")
    done = subprocess.run(
        [program, *words[1:]], cwd=_ROOT, capture_output=True, text=True, timeout=300
    )
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("command", [c for c in _commands() if c.startswith("make")])
def test_make_targets_exist(command: str) -> None:
    assert shutil.which("make")
    done = subprocess.run(
        ["make", "-n", *shlex.split(command)[1:]], cwd=_ROOT, capture_output=True, timeout=60
    )
    assert done.returncode == 0, done.stderr


def test_every_command_of_the_readme_is_known_to_these_tests() -> None:
    known = ("gemenv", "make", *_INSTALLS)
    assert [c for c in _commands() if not c.startswith(known)] == []
