import json
from pathlib import Path

import pytest

from gemenv.rollout.record import read
from tests.cli.console import Console, assert_four_lines, run_process

GAME = "game:GuessTheNumber"


def test_a_table_shows_every_measure(console: Console):
    ran = console.run("eval", GAME, "--policy", "oracle", "--episodes", 20)
    assert (ran.status, ran.err) == (0, "")
    assert ran.out.startswith("oracle on game:GuessTheNumber-v0-easy\n20 episodes: 20 completed\n")
    rows = [[cell.strip() for cell in line.split("│")[1:-1]] for line in ran.out.splitlines()]
    shown = {row[0]: row[1:] for row in rows if len(row) == 3}
    assert shown == {
        "success rate": ["1.000", "1.000 to 1.000"],
        "mean return": ["1.000", "1.000 to 1.000"],
        "normalised score": ["1.000", "1.000 to 1.000"],
        "mean turns": ["1.000", "1.000 to 1.000"],
        "format error rate": ["0.000", "0.000 to 0.000"],
        "invalid action rate": ["0.000", "0.000 to 0.000"],
    }


def test_files_hold_the_evaluation_and_the_episodes(console: Console, tmp_path: Path):
    result, episodes = tmp_path / "result.json", tmp_path / "episodes.jsonl"
    words = ["--episodes", 5, "--seed", 40, "--json", result, "--save-trajectories", episodes]
    assert console.run("eval", GAME, *words).status == 0
    evaluation = json.loads(result.read_text())
    assert (evaluation["num_episodes"], evaluation["policy"]) == (5, "random")
    assert [episode.seed for episode in read(episodes)] == [40, 41, 42, 43, 44]
    assert {path.name for path in tmp_path.iterdir()} == {"result.json", "episodes.jsonl"}


def test_a_run_with_the_same_seeds_writes_the_same_result(console: Console, tmp_path: Path):
    first, second, other = (tmp_path / name for name in ("a.json", "b.json", "c.json"))
    console.run("eval", GAME, "--json", first)
    console.run("eval", GAME, "--json", second)
    console.run("eval", GAME, "--json", other, "--policy-seed", 1)
    assert first.read_bytes() == second.read_bytes() != other.read_bytes()


@pytest.mark.parametrize("flag", ["--json", "--save-trajectories"])
def test_a_file_that_exists_is_replaced_only_when_told_to(
    console: Console, tmp_path: Path, flag: str
):
    path = tmp_path / "mine.json"
    path.write_text("precious")
    refused = console.run("eval", GAME, "--episodes", 2, flag, path)
    assert_four_lines(refused, "exists already.")
    assert path.read_text() == "precious"
    assert console.run("eval", GAME, "--episodes", 2, flag, path, "--overwrite").status == 0
    assert json.loads(path.read_text().splitlines()[0] if flag != "--json" else path.read_text())


def test_failed_episodes_are_counted_and_status_1_where_none_is_left(console: Console, faulty: str):
    ran = console.run("eval", faulty, "--policy", "oracle", "--episodes", 2)
    assert ran.status == 1
    assert "2 episodes: 2 policy_error\nfirst failure: seed 0: policy_error" in ran.out
    assert "│ mean return         │ -" in ran.out


def test_a_scale_that_could_not_be_measured_is_no_score_and_says_why(
    console: Console, unsolvable: str, tmp_path: Path
):
    result = tmp_path / "result.json"
    ran = console.run("eval", unsolvable, "--episodes", 5, "--json", result)
    why = "oracle: policy_error (ValueError: no way out) on seeds 1, 2, 3"
    assert ran.status == 0
    assert f"\nno normalised score, for want of a scale: {why}\n" in ran.out
    assert "│ normalised score    │ - " in ran.out
    evaluation = json.loads(result.read_text())
    assert (evaluation["normalised_score"], evaluation["scale_failures"]) == (None, [why])


def test_two_outputs_in_one_file_are_refused(console: Console, tmp_path: Path):
    same = ["--json", tmp_path / "o", "--save-trajectories", tmp_path / ".." / tmp_path.name / "o"]
    ran = console.run("eval", GAME, "--episodes", 2, *same)
    assert_four_lines(ran, "--json and --save-trajectories name the same file.")
    assert not list(tmp_path.iterdir())


def test_a_person_plays_one_episode_at_a_time():
    first = "\\boxed{5}\n\\boxed{6}\n"  # seed 3 hides a 6
    second = "\\boxed{1}\n" * 4  # seed 4 hides no 1
    options = ["--policy", "human", "--seed", 3, "--episodes", 2]
    ran = run_process("eval", GAME, *options, typed=first + second)
    assert (ran.status, ran.err) == (0, "")
    assert "human on game:GuessTheNumber-v0-easy\n2 episodes: 1 completed, 1 truncated\n" in ran.out


@pytest.mark.parametrize("policy", ["human", "mixture:random=0.5,human=0.5"])
def test_a_person_does_not_play_several_at_once(console: Console, policy: str):
    ran = console.run("eval", GAME, "--policy", policy, "--max-concurrent", 2)
    assert_four_lines(ran, "A person plays one episode at a time.")


@pytest.mark.parametrize(
    ("words", "problem"),
    [
        (["--temperature", "1.0"], "The policy 'random' does not use --temperature."),
        (["--max-new-tokens", "512"], "The policy 'random' does not use --max-new-tokens."),
        (["--policy", "oracle", "--base-url", "http://a/v1"], "does not use --base-url."),
        (["--policy", "expert", "--device", "cpu"], "does not use --device."),
        (["--policy", "chat:m", "--device", "cpu"], "does not use --device."),
        (["--policy", "model:m", "--base-url", "http://a/v1"], "does not use --base-url."),
        (["--policy", "model:m", "--temperature", "-0.5"], "temperature"),
        (["--policy", "model:m", "--temperature", "nan"], "temperature"),
        (["--policy", "chat:m", "--temperature", "-0.5"], "temperature"),
        (["--policy", "model:m", "--max-new-tokens", "0"], "max_new_tokens"),
    ],
)
def test_options_of_a_model_are_refused_where_they_say_nothing(
    console: Console, words: list[str], problem: str
):
    assert_four_lines(console.run("eval", GAME, *words), problem)


@pytest.mark.parametrize(
    ("words", "problem"),
    [
        (["--episodes", "0"], "--episodes is too small."),
        (["--episodes", "many"], "--episodes"),
        (["--episodes", "1.5"], "--episodes"),
        (["--max-concurrent", "0"], "--max-concurrent is too small."),
        (["--deadline-s", "0"], "--deadline-s is too small."),
        (["--deadline-s", "nan"], "--deadline-s is too small."),
        (["--seed", "-1"], "A seed must be a whole number"),
        (["--deadline-s", "-1"], "--deadline-s is too small."),
        (["--kwargs", "hihg=3"], "does not take the keyword 'hihg'"),
        (["--kwargs", "high=abc"], "cannot be made with these values"),
        (["--kwargs", "high=5", "high=6"], "The keyword 'high' is given twice."),
        (["--kwargs", "high=5", "--kwargs", "low=2"], "The option --kwargs is given twice."),
        (["--policy", "nobody"], "There is no policy 'nobody'."),
        (["--policy", "model:/nowhere"], "No model can be read from /nowhere"),
        (["--json", "/nowhere/result.json"], "/nowhere/result.json cannot be written."),
        (["--json", "/"], "/ cannot be written."),
        (["extra"], "extra"),
    ],
)
def test_bad_input_is_told_in_four_lines(console: Console, words: list[str], problem: str):
    assert_four_lines(console.run("eval", GAME, *words), problem)
