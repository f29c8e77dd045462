"""The family `game`: text games. Only ids live here; each game is imported when it is made."""

from typing import Any

from gemenv.core.registry import register


def _register(name: str, entry_point: str, summary: str, **variants: dict[str, Any]) -> None:
    """Register a game of this package; its first variant is the default."""
    register(f"game:{name}-v0", f"{__name__}.{entry_point}", summary=summary, variants=variants)


_register(
    "GuessTheNumber",
    "guess_the_number:GuessTheNumber",
    "Find a hidden number from hints of higher and lower.",
    easy={"high": 10, "max_turns": 4},
    hard={"high": 50, "max_turns": 7},
    random={"high": 50, "least_high": 10},
)
_register(
    "Mastermind",
    "mastermind:Mastermind",
    "Break a secret code from black and white pegs.",
    easy={"code_length": 2, "num_digits": 6, "max_turns": 10},
    hard={"code_length": 4, "num_digits": 8, "max_turns": 30},
    random={"code_length": 4, "num_digits": 8, "max_turns": 30, "is_random": True},
)
_register(
    "Minesweeper",
    "minesweeper:Minesweeper",
    "Open every cell without a mine.",
    easy={"rows": 5, "cols": 5, "num_mines": 5, "max_turns": 25},
    hard={"rows": 8, "cols": 8, "num_mines": 12, "max_turns": 64},
    random={"rows": 8, "cols": 8, "num_mines": 12, "max_turns": 64, "is_random": True},
)
_register(
    "Wordle",
    "wordle:Wordle",
    "Find a secret word; each guess is marked letter by letter.",
    easy={"word_length": 3, "max_turns": 15},
    hard={"word_length": 5, "max_turns": 25},
    random={"word_length": 5, "max_turns": 25, "is_random": True},
)
_register(
    "Hangman",
    "hangman:Hangman",
    "Reveal a hidden word by guessing letters, or the word itself.",
    easy={"word_length": 3, "max_turns": 10},
    hard={"word_length": 7, "max_turns": 20},
    random={"word_length": 7, "max_turns": 20, "is_random": True},
)
_register(
    "Sudoku",
    "sudoku:Sudoku",
    "Fill a grid so that rows, columns and boxes hold each digit once.",
    easy={"size": 4, "num_clues": 10, "max_turns": 15},
    hard={"size": 9, "num_clues": 50, "max_turns": 50},
    random={"size": 9, "num_clues": 50, "max_turns": 50, "is_random": True},
)
_register(
    "Crosswords",
    "crosswords:Crosswords",
    "Solve a small crossword from its clues.",
    easy={"difficulty": "easy", "max_turns": 30},
    hard={"difficulty": "hard", "max_turns": 40},
    random={"difficulty": "hard", "max_turns": 40, "is_random": True},
)
_register(
    "WordSearch",
    "word_search:WordSearch",
    "Find words hidden in a grid of letters.",
    easy={"size": 7, "all_directions": False},
    hard={"size": 9, "all_directions": True},
    random={"size": 9, "all_directions": True, "is_random": True},
)
_register(
    "Countdown",
    "countdown:Countdown",
    "Make a target from a few numbers with + - * /.",
    easy={"num_numbers": 4, "max_number": 10},
    hard={"num_numbers": 6, "max_number": 100},
    random={"num_numbers": 6, "max_number": 100, "is_random": True},
)
_register(
    "FifteenPuzzle",
    "fifteen_puzzle:FifteenPuzzle",
    "Slide numbered tiles into order.",
    easy={"size": 3, "num_scrambles": 12, "max_turns": 20},
    hard={"size": 4, "num_scrambles": 40, "max_turns": 50},
    random={"size": 4, "num_scrambles": 40, "max_turns": 50, "is_random": True},
)
_register(
    "TowerofHanoi",
    "tower_of_hanoi:TowerofHanoi",
    "Move a tower of disks from peg to peg.",
    easy={"num_disks": 3, "max_turns": 10},
    hard={"num_disks": 5, "max_turns": 35},
    random={"num_disks": 5, "max_turns": 35, "is_random": True},
)
_register(
    "Game2048",
    "game_2048:Game2048",
    "Merge tiles until one shows the target.",
    easy={"target": 64, "max_turns": 50},
    hard={"target": 512, "max_turns": 350},
    random={"target": 512, "max_turns": 350, "is_random": True},
    **{"extreme-hard": {"target": 2048, "max_turns": 1200}},
)
_register(
    "Sokoban",
    "sokoban:Sokoban",
    "Push every box onto a goal.",
    easy={"size": 6, "num_boxes": 2, "max_turns": 20},
    hard={"size": 8, "num_boxes": 4, "max_turns": 50},
    random={"size": 8, "num_boxes": 4, "max_turns": 50, "is_random": True},
)
_register(
    "FrozenLake",
    "frozen_lake:FrozenLake",
    "Cross a frozen lake without falling into a hole.",
    easy={"size": 4, "num_holes": 4, "max_turns": 20},
    hard={"size": 8, "num_holes": 20, "max_turns": 50},
    random={"size": 8, "num_holes": 20, "max_turns": 50, "is_random": True},
    slippery={"size": 4, "num_holes": 3, "max_turns": 50, "is_slippery": True},
)
