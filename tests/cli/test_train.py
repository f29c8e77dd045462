import tomllib
from pathlib import Path

import pytest

from tests.cli.console import Console, assert_four_lines

SMALL = """
[model]
width = 16
layers = 1
heads = 2
sample_episodes = 20
context_tokens = 128

[rollout]
episodes = 8
max_new_tokens = 4

[sft]
steps = 3
episodes = 10
batch = 4

[rl]
iterations = 2

[evaluation]
episodes = 6

[run]
threads = 1
"""


@pytest.fixture
def config(tmp_path: Path) -> Path:
    path = tmp_path / "small.toml"
    path.write_text(SMALL)
    return path


def metrics(run: Path) -> list[str]:
    return (run / "metrics.jsonl").read_text().splitlines()


def test_a_run_ends_with_a_table_and_a_folder_and_is_not_overwritten(
    console: Console, config: Path, tmp_path: Path
):
    run = tmp_path / "run"
    first = console.run("train", config, "--run.dir", run)
    assert first.status == 0, first.err
    assert first.err.splitlines()[-1].startswith("reinforcement: 2 of 2: ")
    rows = [[cell.strip() for cell in row.split("│")[1:-1]] for row in first.out.splitlines()]
    shown = {row[0]: row[1:] for row in rows if len(row) == 6}
    assert list(shown) == ["model, before", "model, after", "random", "oracle"]
    assert shown["oracle"] == ["100.0%", "1.000", "1.00", "6", "0"]
    assert str(run / "report.html") in first.out.replace("\n", "")
    written = metrics(run)

    refused = console.run("train", config, "--run.dir", run)
    assert_four_lines(refused, "holds a run already")
    assert metrics(run) == written

    resumed = console.run("train", config, "--run.dir", run, "--resume")
    assert resumed.status == 0, resumed.err
    assert metrics(run) == written


def test_flags_override_the_file(console: Console, config: Path, tmp_path: Path):
    run = tmp_path / "run"
    flags = ["--rl.iterations", 1, "--sft.steps", 0, "--rl.settings", "gamma=0.5"]
    ran = console.run("train", config, "--run.dir", run, *flags, "--env.kwargs", "high=5")
    assert ran.status == 0, ran.err
    resolved = tomllib.loads((run / "config.toml").read_text())
    assert (resolved["rl"]["iterations"], resolved["rl"]["settings"]) == (1, {"gamma": 0.5})
    assert (resolved["sft"]["steps"], resolved["env"]["kwargs"]) == (0, {"high": 5})
    assert resolved["model"]["width"] == 16  # the file's
    assert len(metrics(run)) == 2  # before, and after one iteration


def test_help_shows_the_values_of_the_file(console: Console, config: Path):
    ran = console.run("train", config, "--help")
    assert ran.status == 0
    assert "--rl.iterations INT" in ran.out
    assert "(default: 2)" in ran.out


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("[rl]\niteratons = 3", "There is no setting 'rl.iteratons'."),
        ("[rl]\niterations = -3", "'rl.iterations'"),
        ("[rl]\niterations = 'three'", "'rl.iterations'"),
        ("[env]\nid = 'game:Gues'", "No environment is registered as 'game:Gues'."),
        ("rl", "cannot be read"),
    ],
)
def test_a_bad_file_is_told_in_four_lines(
    console: Console, tmp_path: Path, text: str, problem: str
):
    path = tmp_path / "bad.toml"
    path.write_text(text)
    assert_four_lines(console.run("train", path), problem)


@pytest.mark.parametrize(
    ("flags", "problem"),
    [
        (["--rl.iteratons", "3"], "--rl.iteratons"),
        (["--rl.iterations=-3"], "'rl.iterations'"),
        (["--rl.iterations", "three"], "--rl.iterations"),
        (["--rl.algorithm", "nobody"], "nobody"),
        (["--env.id", "game:Gues"], "No environment is registered as 'game:Gues'."),
        (["--sft.policy", "nobody"], "'sft.policy'"),
        (["--rl.settings", "gamma"], "A keyword needs a name and a value."),
    ],
)
def test_a_bad_flag_is_told_in_four_lines(
    console: Console, config: Path, flags: list[str], problem: str
):
    assert_four_lines(console.run("train", config, *flags), problem)


def test_the_configuration_comes_first(console: Console, config: Path):
    assert_four_lines(console.run("train", "--resume", config), "must come first")


def test_a_file_that_is_not_there_is_told_in_four_lines(console: Console, tmp_path: Path):
    assert_four_lines(console.run("train", tmp_path / "none.toml"), "there is no such file")


def test_a_folder_that_holds_something_else_is_left_alone(
    console: Console, config: Path, tmp_path: Path
):
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "letter.txt").write_text("precious")
    for flags in ([], ["--resume"]):
        ran = console.run("train", config, "--run.dir", tmp_path / "mine", *flags)
        assert_four_lines(ran, "is not empty, and holds no run")
    assert [path.name for path in (tmp_path / "mine").iterdir()] == ["letter.txt"]
