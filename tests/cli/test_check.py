from gemenv.testing import CHECKS
from tests.cli.console import Console, assert_four_lines


def test_every_check_is_a_line(console: Console):
    ran = console.run("check", "game:GuessTheNumber")
    assert (ran.status, ran.err) == (0, "")
    lines = ran.out.splitlines()
    assert lines[0] == "game:GuessTheNumber-v0-easy"
    assert [line.split()[0] for line in lines[1:-1]] == [check.__name__ for check in CHECKS]
    assert all(line.endswith("kept") for line in lines[1:-1])
    assert lines[-1] == "  all is well"


def test_a_broken_check_is_named_and_the_others_still_run(console: Console, faulty: str):
    ran = console.run("check", faulty)
    assert ran.status == 1
    results = {line.split()[0]: line.split(" s  ")[1] for line in ran.out.splitlines()[1:-1]}
    assert results["check_rewards"] == "broken with seed 0"
    assert results["check_close"] == "kept"
    assert results["check_oracle"].startswith("skipped: ")
    assert "check_rewards failed" in ran.err


def test_nothing_to_check_is_refused(console: Console):
    assert_four_lines(console.run("check"), "There is nothing to check.")
