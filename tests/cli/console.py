"""Runs the program in this process or in one of its own, and keeps what it printed."""

import subprocess
import sys
from dataclasses import dataclass

import pytest

from gemenv.cli.app import main


@dataclass(frozen=True)
class Ran:
    """What a command came to."""

    status: int
    out: str
    err: str


class Console:
    """Runs commands in this process: `run("list game")`."""

    def __init__(self, capsys: pytest.CaptureFixture[str]) -> None:
        self.capsys = capsys

    def run(self, *words: object) -> Ran:
        self.capsys.readouterr()
        try:
            status = main([str(word) for word in words])
        except SystemExit as stop:
            status = int(stop.code or 0)
        printed = self.capsys.readouterr()
        return Ran(status, printed.out, printed.err)


def run_process(*words: object, typed: str = "") -> Ran:
    """Run a command in a process of its own, and type into it."""
    done = subprocess.run(
        [sys.executable, "-m", "gemenv", *map(str, words)],
        input=typed,
        capture_output=True,
        text=True,
        timeout=120,
    )
    return Ran(done.returncode, done.stdout, done.stderr)


def assert_four_lines(ran: Ran, problem: str) -> None:
    """Assert that the command was refused: status 2, and our four lines on stderr only."""
    lines = ran.err.splitlines()
    assert (ran.status, ran.out, len(lines)) == (2, "", 4), ran
    assert problem in lines[0]
    starts = [line.split(":")[0] for line in lines[1:]]
    assert starts == ["  expected", "  got", "  fix"]
