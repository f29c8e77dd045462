"""The family `game`: text games. Only ids live here; each game is imported when it is made."""

from gemenv.core.registry import register

register(
    "game:GuessTheNumber-v0",
    "gemenv.envs.game.guess_the_number:GuessTheNumber",
    summary="Find a hidden number from hints of higher and lower.",
    variants={
        "easy": {"low": 1, "high": 10, "max_turns": 4},
        "hard": {"low": 1, "high": 50, "max_turns": 7},
        "random": {"low": 1, "high": 50, "least_high": 10},
    },
)
