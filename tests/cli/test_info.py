from tests.cli.console import Console


def test_an_environment_is_told_whole(console: Console):
    ran = console.run("info", "game:GuessTheNumber-v0-hard")
    assert (ran.status, ran.err) == (0, "")
    lines = [line.strip() for line in ran.out.splitlines()]
    assert lines[:2] == [
        "game:GuessTheNumber-v0-hard",
        "Find a hidden number from hints of higher and lower.",
    ]
    assert "high = 50" in lines
    assert "format_error_reward = -0.1" in lines
    assert r"\boxed{<number>}" in lines
    assert any(line.startswith(r"\\boxed\{(?:1|2|3|") for line in lines)
    assert '"type": "integer",' in lines
    assert any("oracle" in line and "100.0%" in line for line in lines)
    assert any(line.startswith("Guess the hidden whole number between 1 and 50") for line in lines)


def test_an_id_in_short_is_told_in_full(console: Console):
    assert console.run("info", "game:GuessTheNumber").out.startswith("game:GuessTheNumber-v0-easy")
