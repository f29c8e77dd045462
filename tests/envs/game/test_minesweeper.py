"""Minesweeper: safe beginnings, openings, flags, and who wins."""

import dataclasses
import random
from collections.abc import Callable
from typing import Any

import pytest

from gemenv.core.env import Env, Step
from gemenv.envs.game.minesweeper import Flag, Minesweeper, Reveal
from gemenv.errors import ArgumentError

_HARD: dict[str, Any] = {"rows": 8, "cols": 8, "num_mines": 12, "max_turns": 64}
_VARIANTS: dict[str, dict[str, Any]] = {
    "easy": {},
    "hard": _HARD,
    "random": {**_HARD, "is_random": True},
}
every_variant = pytest.mark.parametrize("keywords", _VARIANTS.values(), ids=_VARIANTS)


def _play_out(env: Env, seed: int, policy: Callable[[], str]) -> tuple[float, bool]:
    env.reset(seed=seed)
    total = 0.0
    while True:
        step = env.step(policy())
        total += step.reward
        if step.terminated or step.truncated:
            return total, step.info.get("success", False)


def _move(env: Minesweeper, move: Reveal | Flag) -> Step:
    return env.step(env.actions.format(move))


def _begun(seed: int = 0, **keywords: Any) -> Minesweeper:
    """Return a game whose first cell, the middle of a hard board, is open."""
    env = Minesweeper(**{**_HARD, **keywords})
    env.reset(seed=seed)
    _move(env, Reveal(4, 4))
    return env


def _cell_with(env: Minesweeper, marks: bytes, *, shown: bytes = b".") -> tuple[int, int]:
    """Return a cell that shows one of `shown` and under which lies one of `marks`."""
    state = env.state
    cell = next(
        cell
        for cell, mark in enumerate(state.board)
        if mark in marks and state.shown[cell] in shown
    )
    return divmod(cell, state.cols)


@pytest.mark.parametrize("place", [(0, 0), (0, 3), (4, 4), (7, 7)])
def test_the_first_reveal_and_its_neighbors_are_always_free_of_mines(
    place: tuple[int, int],
) -> None:
    for seed in range(50):
        env = Minesweeper(**_HARD)
        env.reset(seed=seed)
        _move(env, Reveal(*place))
        assert env.state.board[place[0] * 8 + place[1]] == ord("0")
        assert env.state.board.count(b"X") == 12


def test_every_digit_counts_the_mines_around_it() -> None:
    board = [_begun().state.board[row * 8 : row * 8 + 8].decode() for row in range(8)]
    for row in range(8):
        for col in range(8):
            around = [line[max(col - 1, 0) : col + 2] for line in board[max(row - 1, 0) : row + 2]]
            if board[row][col] != "X":
                assert int(board[row][col]) == "".join(around).count("X")


def test_seed_and_moves_determine_the_board() -> None:
    assert _begun(seed=5).state == _begun(seed=5).state
    assert _begun(seed=5).state.board != _begun(seed=6).state.board


def test_a_zero_opens_its_whole_region_and_the_digits_around_it() -> None:
    state = _begun().state
    for cell in range(64):
        if state.shown[cell] == ord("0"):
            row, col = divmod(cell, 8)
            near = [
                r * 8 + c
                for r in range(max(row - 1, 0), min(row + 2, 8))
                for c in range(max(col - 1, 0), min(col + 2, 8))
            ]
            assert all(state.shown[other] == state.board[other] for other in near)


def test_a_digit_opens_only_itself() -> None:
    env = _begun()
    before = env.state.shown.count(b".")
    step = _move(env, Reveal(*_cell_with(env, b"12345678")))
    assert step.observation.startswith("Cells opened: 1.\n")
    assert env.state.shown.count(b".") == before - 1


def test_a_mine_loses() -> None:
    env = _begun()
    step = _move(env, Reveal(*_cell_with(env, b"X")))
    assert step.terminated
    assert step.info["success"] is False
    assert step.observation == "That cell is a mine: you lose."


def test_the_game_is_won_without_a_single_flag() -> None:
    env = Minesweeper(**_HARD)
    assert _play_out(env, 0, env.oracle_action) == (1.0, True)
    assert env.state.shown.count(b"F") == 0
    assert env.state.shown.count(b".") == 12


def test_a_flag_guards_its_cell_until_it_is_taken_away() -> None:
    env = _begun()
    place = _cell_with(env, b"12345678")
    assert _move(env, Flag(*place)).observation.startswith("Flag placed.")
    blocked = _move(env, Reveal(*place))
    assert blocked.info["action_error"] == "invalid"
    assert "is flagged" in blocked.observation
    assert _move(env, Flag(*place)).observation.startswith("Flag taken away.")
    assert _move(env, Reveal(*place)).info["action_error"] is None


@pytest.mark.parametrize(
    "move",
    [Reveal(4, 4), Flag(4, 4), Reveal(-1, 0), Reveal(0, 8), Flag(8, 0), Reveal(10**4000, 0)],
)
def test_open_cells_and_cells_off_the_board_are_invalid_and_change_nothing(
    move: Reveal | Flag,
) -> None:
    env = _begun()
    before = dataclasses.replace(env.state, shown=bytearray(env.state.shown))
    step = _move(env, move)
    assert step.info["action_error"] == "invalid"
    assert len(step.observation) < 300
    assert env.state == before


def test_the_view_numbers_rows_and_columns_from_zero() -> None:
    env = Minesweeper()
    prompt, _ = env.reset(seed=0)
    assert "5 by 5 board" in prompt
    assert "25 moves" in prompt
    assert prompt.endswith("  0 1 2 3 4\n" + "\n".join(f"{row} . . . . ." for row in range(5)))
    step = _move(env, Flag(1, 2))
    assert step.observation.splitlines()[3] == "1 . . F . ."


def test_a_random_game_shrinks_mines_and_moves_with_the_board() -> None:
    env = Minesweeper(**_VARIANTS["random"])
    sides: set[tuple[int, int]] = set()
    for seed in range(200):
        prompt, _ = env.reset(seed=seed)
        state = env.state
        cells = state.rows * state.cols
        sides.add((state.rows, state.cols))
        assert state.num_mines == -(-12 * cells // 64)
        assert env.turn_limit() == cells
        assert f"{cells} moves" in prompt
    assert sides == {(rows, cols) for rows in range(5, 9) for cols in range(5, 9)}


@pytest.mark.parametrize(
    "keywords",
    [{"rows": 4, "cols": 4, "num_mines": 12}, {"rows": 3}, {"cols": 11}, {"num_mines": 0}],
)
def test_boards_that_cannot_be_are_refused_at_once(keywords: dict[str, int]) -> None:
    with pytest.raises(ArgumentError, match="no such board"):
        Minesweeper(**keywords)


def test_the_densest_small_board_can_be_dealt_and_won() -> None:
    env = Minesweeper(rows=4, cols=4, num_mines=5)
    for seed in range(50):
        assert _play_out(env, seed, env.oracle_action) == (1.0, True)


@every_variant
def test_the_oracle_always_wins(keywords: dict[str, Any]) -> None:
    env = Minesweeper(**keywords)
    for seed in range(50):
        total, success = _play_out(env, seed, env.oracle_action)
        assert success
        assert total == pytest.approx(1.0, abs=1e-12)


def test_the_oracle_takes_away_flags_that_are_in_its_way() -> None:
    env = _begun(max_turns=200)
    for row in range(8):
        for col in range(8):
            _move(env, Flag(row, col))
    while not (step := env.step(env.oracle_action())).terminated:
        assert step.info["action_error"] is None
    assert step.info["success"] is True


@pytest.mark.parametrize(("variant", "share"), [("easy", 0.7), ("hard", 0.65), ("random", 0.65)])
def test_the_expert_wins_most_games(variant: str, share: float) -> None:
    env = Minesweeper(**_VARIANTS[variant])
    wins = sum(_play_out(env, seed, env.expert_action)[1] for seed in range(100))
    assert wins >= 100 * share


def test_the_expert_does_not_look_under_the_cells() -> None:
    for seed in range(10):
        env = _begun(seed=seed)
        before = env.expert()
        for field in dataclasses.fields(env.state):
            if field.metadata.get("hidden"):
                setattr(env.state, field.name, None)
        assert env.expert() == before


def test_opening_pays_once_and_only_beyond_the_first_reveal() -> None:
    env = Minesweeper(**_HARD)
    env.reset(seed=0)
    assert _move(env, Reveal(4, 4)).reward == 0.0
    place = _cell_with(env, b"012345678")
    assert _move(env, Reveal(*place)).reward > 0.0
    assert _move(env, Reveal(*place)).reward == 0.0


def test_opening_at_random_or_always_the_same_gains_little() -> None:
    env = Minesweeper(**_HARD)
    rng = random.Random(0)
    at_random = [
        _play_out(env, seed, lambda: rng.choice(list(env.legal_actions())))[0]
        for seed in range(100)
    ]
    always = [_play_out(env, seed, lambda: r"\boxed{reveal 0 0}")[0] for seed in range(100)]
    assert sum(at_random) / 100 < 0.08
    assert sum(always) / 100 < 0.02


def test_boards_differ() -> None:
    assert len({_begun(seed=seed).state.board for seed in range(300)}) == 300
