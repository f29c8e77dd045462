import gemenv
from tests.cli.console import Console, assert_four_lines, run_process


def test_every_environment_is_a_line_with_its_summary(console: Console):
    lines = console.run("list").out.splitlines()
    assert [line.split()[0] for line in lines] == [str(spec.id) for spec in gemenv.list_envs()]
    assert lines[0].endswith(gemenv.list_envs()[0].summary)


def test_a_family_is_listed_alone(console: Console):
    lines = console.run("list", "game").out.splitlines()
    assert lines
    assert all(line.startswith("game:") for line in lines)


def test_an_unknown_family_is_refused(console: Console):
    assert_four_lines(console.run("list", "gmae"), "There is no family")


def test_the_program_prints_the_same_in_a_process_of_its_own(console: Console):
    assert run_process("list", "game").out == console.run("list", "game").out
