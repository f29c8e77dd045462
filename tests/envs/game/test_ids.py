"""Every id of GEM's games is valid here and means the same game."""

import pytest

from gemenv.core.registry import make

_GAMES = [
    "GuessTheNumber",
    "Mastermind",
    "Minesweeper",
    "Wordle",
    "FifteenPuzzle",
    "Hangman",
    "Sudoku",
    "TowerofHanoi",
    "Game2048",
    "Sokoban",
    "Crosswords",
    "WordSearch",
]
_IDS = [f"game:{game}-v0-{variant}" for game in _GAMES for variant in ("easy", "hard", "random")]


@pytest.mark.parametrize("env_id", [*_IDS, "game:Game2048-v0-extreme-hard"])
def test_a_gem_id_makes_its_game(env_id: str) -> None:
    env = make(env_id)
    assert type(env).__name__ == env_id.removeprefix("game:").partition("-")[0]
    assert env.env_id == env_id
    observation, _ = env.reset(seed=0)
    assert r"\boxed{" in str(observation)


@pytest.mark.parametrize("game", [*_GAMES, "Countdown", "FrozenLake"])
def test_without_variant_and_version_an_id_is_the_easy_newest(game: str) -> None:
    assert make(f"game:{game}").env_id == f"game:{game}-v0-easy"
