import importlib.util
import os
import signal
import subprocess
import sys

import pytest

import gemenv
from gemenv.cli import app
from gemenv.cli.app import COMMANDS, main
from gemenv.errors import ConformanceError, TrainingError
from tests.cli.console import Console, assert_four_lines


def test_without_a_command_all_are_listed(console: Console):
    for words in ([], ["--help"], ["-h"]):
        ran = console.run(*words)
        assert ran.status == 0
        assert all(f"\n  {name}" in ran.out for name in COMMANDS)


def test_the_version_is_that_of_the_package(console: Console):
    assert console.run("--version").out == f"{gemenv.__version__}\n"


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_has_help_with_examples(console: Console, name: str):
    ran = console.run(name, "--help")
    assert ran.status == 0
    assert ran.out.startswith(f"usage: gemenv {name}")
    assert f"Examples:\n    gemenv {name}" in ran.out


def test_an_unknown_command_suggests_the_nearest(console: Console):
    ran = console.run("lst")
    assert_four_lines(ran, "There is no command 'lst'.")
    assert "did you mean `gemenv list`?" in ran.err


@pytest.mark.parametrize("name", ["info", "play", "check", "eval", "train"])
def test_a_missing_argument_is_told_in_four_lines(console: Console, name: str):
    assert_four_lines(console.run(name), "")


@pytest.mark.parametrize("name", ["list", "info", "play", "check", "eval"])
def test_an_unknown_flag_is_told_in_four_lines(console: Console, name: str):
    assert_four_lines(console.run(name, "game", "--colour", "red"), "--colour")


@pytest.mark.parametrize("name", ["info", "play", "check", "eval"])
def test_an_unknown_id_is_told_in_four_lines(console: Console, name: str):
    ran = console.run(name, "game:GuessTheNumbre")
    assert_four_lines(ran, "No environment is registered as 'game:GuessTheNumbre'.")
    assert "did you mean 'game:GuessTheNumber'?" in ran.err


def test_a_flag_that_is_nearly_right_is_suggested(console: Console):
    ran = console.run("eval", "game:GuessTheNumber", "--episods", 3)
    assert "did you mean --episodes?" in ran.err


def test_a_missing_extra_says_what_to_install(console: Console, monkeypatch: pytest.MonkeyPatch):
    find = importlib.util.find_spec
    monkeypatch.setattr(
        importlib.util, "find_spec", lambda name: None if name == "tyro" else find(name)
    )
    ran = console.run("list")
    assert_four_lines(ran, "This command needs tyro")
    assert 'pip install "gemenv[cli]"' in ran.err


class _Raising:
    def __init__(self, error: BaseException) -> None:
        self.error = error

    def __call__(self, name: str) -> None:
        raise self.error


@pytest.mark.parametrize("kind", [TrainingError, ConformanceError])
def test_work_that_failed_is_status_1_and_no_traceback(
    console: Console, monkeypatch: pytest.MonkeyPatch, kind: type[TrainingError]
):
    error = kind(problem="Not finite.", expected="a number", got=None, fix="lower the rate")
    monkeypatch.setattr(app, "_command", _Raising(error))
    ran = console.run("train")
    assert (ran.status, ran.err) == (1, f"{error}\n")


def test_an_internal_error_keeps_its_traceback(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(app, "_command", _Raising(ZeroDivisionError("a fault of ours")))
    with pytest.raises(ZeroDivisionError):
        main(["list"])


def test_an_internal_error_is_status_1():
    code = (
        "from gemenv.cli import app\n"
        "app._command = lambda name: lambda argv: 1 // 0\n"
        "raise SystemExit(app.main(['list']))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120)
    assert done.returncode == 1
    assert done.stderr.startswith("Traceback")
    assert "ZeroDivisionError" in done.stderr


def test_listing_loads_nothing_heavy():
    code = (
        "import sys\n"
        "from gemenv.cli.app import main\n"
        "status = main(['list', 'game'])\n"
        "print(*{name.partition('.')[0] for name in sys.modules}, file=sys.stderr)\n"
        "sys.exit(status)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0
    loaded = set(done.stderr.split())
    assert "gymnasium" in loaded
    assert not {"torch", "transformers", "tokenizers", "aiohttp"} & loaded


@pytest.mark.parametrize("unbuffered", ["", "1"])
def test_a_reader_that_goes_away_is_no_traceback(unbuffered: str):
    code = (
        "import time; time.sleep(0.3)\n"
        "from gemenv.cli.app import main\n"
        "raise SystemExit(main(['list', 'game']))"
    )
    with subprocess.Popen(
        [sys.executable, "-c", code],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env={**os.environ, "PYTHONUNBUFFERED": unbuffered},
        text=True,
    ) as lister:
        assert lister.stdout is not None
        assert lister.stderr is not None
        lister.stdout.close()
        assert lister.stderr.read() == ""


def test_ctrl_c_ends_an_evaluation_without_a_traceback():
    endless = ["--episodes", "3", "--kwargs", "high=1000", "max_turns=1000000000"]
    running = subprocess.Popen(
        [sys.executable, "-m", "gemenv", "eval", "game:GuessTheNumber", *endless],
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        with pytest.raises(subprocess.TimeoutExpired):
            running.wait(timeout=2)
        running.send_signal(signal.SIGINT)
        _, err = running.communicate(timeout=60)
    finally:
        running.kill()
    assert (running.returncode, err) == (130, "Interrupted.\n")
