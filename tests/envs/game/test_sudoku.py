"""Sudoku: what may be written where, what wins, and who wins."""

import random
from collections.abc import Callable
from typing import Any

import pytest

from gemenv.core.env import Env, Step
from gemenv.envs.game.sudoku import Place, State, Sudoku
from gemenv.envs.game.sudoku_grid import solve
from gemenv.errors import ArgumentError

_HARD: dict[str, Any] = {"size": 9, "num_clues": 50, "max_turns": 50}
_VARIANTS: dict[str, dict[str, Any]] = {
    "easy": {},
    "hard": _HARD,
    "random": {**_HARD, "is_random": True},
}
every_variant = pytest.mark.parametrize("keywords", _VARIANTS.values(), ids=_VARIANTS)
_CLUES = bytes([1, 2, 3, 4, 3, 4, 1, 2, 0, 0, 0, 3, 0, 0, 0, 1])
"""
1 2 | 3 4
3 4 | 1 2
----+----
. . | . 3     solution: 2 1 | 4 3
. . | . 1               4 3 | 2 1
"""


def _play_out(env: Env, seed: int, policy: Callable[[], str]) -> tuple[float, bool]:
    env.reset(seed=seed)
    total = 0.0
    while True:
        step = env.step(policy())
        total += step.reward
        if step.terminated or step.truncated:
            return total, step.info.get("success", False)


def _game(**keywords: Any) -> Sudoku:
    env = Sudoku(**keywords)
    env.reset(seed=0)
    env.state = State(4, _CLUES, bytearray(_CLUES))
    return env


def _place(env: Sudoku, row: int, col: int, digit: int) -> Step:
    return env.step(env.actions.format(Place(row, col, digit)))


def test_the_grid_is_drawn_with_its_boxes_and_coordinates() -> None:
    step = _place(_game(), 3, 1, 2)
    assert step.observation.splitlines() == [
        "Empty cells: 5.",
        "  1 2 | 3 4",
        "  ----+----",
        "1 1 2 | 3 4",
        "2 3 4 | 1 2",
        "  ----+----",
        "3 2 . | . 3",
        "4 . . | . 1",
    ]


@pytest.mark.parametrize(("size", "box"), [(4, "2x2"), (6, "2x3"), (9, "3x3")])
def test_the_prompt_names_the_boxes_by_their_true_size(size: int, box: str) -> None:
    prompt, _ = Sudoku(size=size, num_clues=size * size // 2, max_turns=50).reset(seed=0)
    assert f"every {box} box holds each digit from 1 to {size} once" in prompt
    assert "50 moves" in prompt


@pytest.mark.parametrize(
    ("move", "reason"),
    [
        ((3, 1, 3), "Its row holds a 3 already."),
        ((3, 1, 1), "Its column holds a 1 already."),
        ((3, 3, 1), "Its column holds a 1 already."),
        ((1, 1, 2), "That cell is a clue: it cannot be changed."),
        ((1, 1, 0), "That cell is a clue: it cannot be changed."),
        ((3, 1, 0), "That would change nothing."),
        ((0, 1, 2), "Row and column are 1 to 4, and the digit is 1 to 4, or 0 to take back."),
        ((5, 1, 2), "Row and column are 1 to 4, and the digit is 1 to 4, or 0 to take back."),
        ((3, 1, 5), "Row and column are 1 to 4, and the digit is 1 to 4, or 0 to take back."),
        (
            (3, 1, -(10**4000)),
            "Row and column are 1 to 4, and the digit is 1 to 4, or 0 to take back.",
        ),
    ],
)
def test_a_move_against_the_rules_is_invalid_and_changes_nothing(
    move: tuple[int, int, int], reason: str
) -> None:
    env = _game()
    step = _place(env, *move)
    assert step.info["action_error"] == "invalid"
    assert step.observation.startswith(reason + "\n")
    assert env.state.grid == _CLUES


def test_a_box_may_hold_a_digit_only_once() -> None:
    env = _game()
    env.state.clues = bytes(15) + b"\x01"
    env.state.grid = bytearray(env.state.clues)
    assert _place(env, 3, 3, 1).observation.startswith("Its 2x2 box holds a 1 already.")


def test_a_consistent_digit_is_accepted_even_if_it_is_not_the_solution() -> None:
    env = _game()
    assert _place(env, 3, 1, 4).info["action_error"] is None
    assert env.state.grid[8] == 4


def test_own_digits_can_be_overwritten_and_taken_back() -> None:
    env = _game()
    _place(env, 3, 1, 4)
    assert _place(env, 3, 1, 2).info["action_error"] is None
    assert env.state.grid[8] == 2
    assert _place(env, 3, 1, 0).observation.startswith("Empty cells: 6.")
    assert env.state.grid == _CLUES


def test_the_last_digit_wins_everything() -> None:
    env = _game()
    moves = [(3, 1, 2), (3, 2, 1), (3, 3, 4), (4, 1, 4), (4, 2, 3)]
    assert all(_place(env, *move).reward == 0.0 for move in moves)
    step = _place(env, 4, 3, 2)
    assert (step.reward, step.terminated, step.info["success"]) == (1.0, True, True)


def test_the_oracle_mends_digits_that_block_each_other() -> None:
    env = _game()
    for cell, digit in zip((8, 12), (4, 2), strict=True):  # 2 and 4, the wrong way round
        _place(env, cell // 4 + 1, cell % 4 + 1, digit)
    while not (step := env.step(env.oracle_action())).terminated:
        assert step.info["action_error"] is None
    assert step.info["success"] is True
    assert env.state.grid == solve(_CLUES)


@every_variant
def test_the_oracle_and_the_expert_always_win_in_one_move_for_each_empty_cell(
    keywords: dict[str, Any],
) -> None:
    env = Sudoku(**keywords)
    for seed in range(30):
        for policy in (env.oracle_action, env.expert_action):
            assert _play_out(env, seed, policy) == (1.0, True)
            assert env.turn == env.state.clues.count(0) <= env.turn_limit()


@every_variant
def test_after_any_legal_moves_the_oracle_still_answers_with_a_legal_move(
    keywords: dict[str, Any],
) -> None:
    env = Sudoku(**keywords)
    rng = random.Random(0)
    for seed in range(5):
        env.reset(seed=seed)
        for _ in range(env.turn_limit() - 1):
            legal = set(env.legal_actions())
            assert env.oracle_action() in legal
            if env.step(rng.choice(sorted(legal))).terminated:
                break


def test_every_legal_move_is_allowed_and_no_other() -> None:
    env = _game(max_turns=500)
    _place(env, 3, 1, 4)
    legal = {(move.row, move.col, move.digit) for move in env.legal()}
    here = env.snapshot()
    for row in range(1, 5):
        for col in range(1, 5):
            for digit in range(5):
                step = _place(env, row, col, digit)
                assert (step.info["action_error"] is None) == ((row, col, digit) in legal)
                env.restore(here)


def test_a_random_game_is_of_any_size_with_clues_and_moves_in_proportion() -> None:
    env = Sudoku(**_VARIANTS["random"])
    kinds: set[tuple[int, int, int]] = set()
    for seed in range(50):
        env.reset(seed=seed)
        num_empty = env.state.clues.count(0)
        kinds.add((env.state.size, num_empty, env.turn_limit()))
    assert kinds == {(4, 6, 10), (6, 13, 21), (9, 31, 50)}


@pytest.mark.parametrize(
    "keywords",
    [{"size": 5}, {"size": 9}, {"num_clues": 5}, {"num_clues": 16}, {"max_turns": 5}],
)
def test_puzzles_that_cannot_be_are_refused(keywords: dict[str, int]) -> None:
    with pytest.raises(ArgumentError):
        Sudoku(**keywords)


@pytest.mark.parametrize(
    ("variant", "num_games", "most"), [("easy", 100, 0.25), ("hard", 10, 0.05)]
)
def test_legal_moves_at_random_gain_little(variant: str, num_games: int, most: float) -> None:
    env = Sudoku(**_VARIANTS[variant])
    rng = random.Random(0)
    returns = [
        _play_out(env, seed, lambda: rng.choice(list(env.legal_actions())))[0]
        for seed in range(num_games)
    ]
    assert sum(returns) / num_games < most


def test_one_move_for_ever_gains_nothing() -> None:
    env = Sudoku()
    assert all(_play_out(env, seed, lambda: r"\boxed{1 1 1}")[0] == 0.0 for seed in range(50))
