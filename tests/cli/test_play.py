import signal
import subprocess
import sys
import time

import pytest

from tests.cli.console import Console, assert_four_lines, run_process

GAME = "game:GuessTheNumber"


def test_a_policy_is_watched_to_the_end(console: Console):
    ran = console.run("play", GAME, "--policy", "oracle", "--seed", 3)
    assert ran.status == 0
    assert ran.out.startswith("game:GuessTheNumber-v0-easy, seed 3\n\nGuess the hidden")
    assert "> \\boxed{6}\nCorrect: the hidden number is 6.\n" in ran.out
    assert ran.out.endswith("success, return 1\n")


def test_a_policy_that_fails_says_so_and_is_status_1(console: Console, faulty: str):
    ran = console.run("play", faulty, "--policy", "oracle")
    assert ran.status == 1
    assert ran.err.startswith("The episode ended in policy_error: NoReferenceError")


def test_a_person_plays_with_or_without_the_frame():
    ran = run_process("play", GAME, "--seed", 3, typed="5\nmy guess: \\boxed{6}\n")
    assert ran.status == 0
    assert "The hidden number is higher than 5." in ran.out
    assert ran.out.endswith("success, return 1\n")


def test_a_slip_of_the_keyboard_is_asked_again():
    ran = run_process("play", GAME, "--seed", 3, typed="six\n6\n")
    assert "'six' is not of the form \\boxed{<number>}." in ran.out
    assert ran.out.endswith("success, return 1\n")


def test_ctrl_d_leaves():
    ran = run_process("play", GAME, "--seed", 3, typed="5\n")
    assert (ran.status, ran.err) == (0, "")
    assert ran.out.endswith("\nYou left.\n")


def test_ctrl_c_leaves():
    playing = subprocess.Popen(
        [sys.executable, "-m", "gemenv", "play", GAME, "--seed", "3"],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, bufsize=0,
    )  # fmt: skip
    assert playing.stdin is not None
    assert playing.stdout is not None
    playing.stdin.write("5\n")
    out = ""
    while "higher than 5" not in out:  # it waits for the next guess now
        out += playing.stdout.readline()
    time.sleep(0.2)
    playing.send_signal(signal.SIGINT)
    rest, err = playing.communicate(timeout=60)
    assert (playing.returncode, err) == (0, "")
    assert rest.endswith("You left.\n")


def test_keywords_reach_the_environment(console: Console):
    ran = console.run("play", GAME, "--policy", "oracle", "--kwargs", "high=77", "max_turns=9")
    assert "between 1 and 77 in at most 9 guesses" in ran.out


@pytest.mark.parametrize(
    ("words", "problem"),
    [
        (["--kwargs", "hihg=77"], "does not take the keyword 'hihg'"),
        (["--kwargs", "high"], "A keyword needs a name and a value."),
        (["--kwargs", "low=9", "high=3"], "There is no number to hide."),
        (["--seed", "-1"], "A seed must be a whole number"),
        (["--seed", "one"], "--seed"),
        (["--policy", "oracel"], "There is no policy 'oracel'."),
        (["--policy", "model:/nowhere"], "No model can be read from /nowhere"),
        (["--policy", "chat:m", "--base-url", "here"], "base_url of the chat server"),
        (["--policy", "chat:m", "--max-new-tokens", "0"], "max_new_tokens"),
    ],
)
def test_bad_input_is_told_in_four_lines(console: Console, words: list[str], problem: str):
    ran = console.run("play", GAME, *words)
    assert_four_lines(ran, problem)
