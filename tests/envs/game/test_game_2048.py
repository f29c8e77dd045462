"""Game2048: what a move does, who wins in which time, and what chance is worth."""

import dataclasses
import random
from collections.abc import Callable

import pytest

from gemenv.core.env import Env
from gemenv.envs.game.game_2048 import Game2048, Push, State
from gemenv.errors import ArgumentError

_HARD = {"target": 512, "max_turns": 350}
_EXTREME = {"target": 2048, "max_turns": 1200}
_STUCK_BUT_ONE = [1, 2, 3, 4, 5, 6, 7, 8, 1, 2, 3, 4, 0, 6, 7, 8]


def _play_out(env: Env, seed: int, policy: Callable[[], str]) -> tuple[float, bool]:
    env.reset(seed=seed)
    total = 0.0
    while True:
        step = env.step(policy())
        total += step.reward
        if step.terminated or step.truncated:
            return total, step.info.get("success", False)


def _game_with(board: list[int], target: int = 6) -> Game2048:
    env = Game2048()
    env.reset(seed=0)
    env.state = State(bytes(board), target, luck=1)
    return env


def test_a_push_moves_the_tiles_and_adds_one() -> None:
    env = _game_with([1, 1, 0, 0] + [0] * 12)
    step = env.step(r"\boxed{left}")
    assert env.state.board[0] == 2
    assert sum(exponent > 0 for exponent in env.state.board) == 2
    assert (step.reward, step.terminated, step.info["action_error"]) == (0.0, False, None)
    assert str(step.observation).startswith("Pushed left.\n   4 ")


def test_the_board_is_shown_with_dots_for_empty_cells() -> None:
    env = _game_with([1, 2, 3, 9, *[0] * 12])
    assert env.view() == "   2    4    8  512\n" + "\n".join(["   .    .    .    ."] * 3)


def test_a_push_that_moves_nothing_is_invalid_and_adds_nothing() -> None:
    board = [1, 0, 0, 0, 2, *[0] * 11]
    env = _game_with(board)
    step = env.step(r"\boxed{left}")
    assert step.info["action_error"] == "invalid"
    assert str(step.observation).startswith("No tile can move left.")
    assert (list(env.state.board), env.state.luck) == (board, 1)


def test_the_target_wins() -> None:
    step = _game_with([5, 5, *[0] * 14]).step(r"\boxed{right}")
    assert (step.reward, step.terminated, step.info["stop_reason"]) == (1.0, True, "success")
    assert step.observation == "You reached 64."


def test_a_stuck_board_loses() -> None:
    env = _game_with([1, 2, 3, 4, 5, 6, 7, 8, 1, 2, 3, 4, 0, 6, 7, 8], target=11)
    step = env.step(r"\boxed{left}")
    assert list(env.state.board)[12:15] == [6, 7, 8]
    assert (step.terminated, step.info["stop_reason"]) == (True, "failure")
    assert step.observation == "No tile can move any more."


def test_the_same_moves_from_the_same_seed_meet_the_same_tiles() -> None:
    boards: list[bytes] = []
    for _ in range(2):
        env = Game2048()
        _play_out(env, 5, lambda env=env: next(iter(env.legal_actions())))
        boards.append(env.state.board)
    assert boards[0] == boards[1]


def test_seeds_differ_in_the_tiles_to_come() -> None:
    env = Game2048()
    lucks = {(env.reset(seed=seed), env.state.luck)[1] for seed in range(1000)}
    assert len(lucks) == 1000


def test_the_legal_moves_are_those_that_move_a_tile() -> None:
    assert set(_game_with([1, 0, 0, 0, 2, *[0] * 11]).legal()) == {Push("right"), Push("down")}


@pytest.mark.parametrize(
    ("keywords", "num"),
    [({}, 10), (_HARD, 1), ({**_HARD, "is_random": True}, 2)],
    ids=["easy", "hard", "random"],
)
def test_the_oracle_always_wins_within_the_limit(keywords: dict[str, int], num: int) -> None:
    env = Game2048(**keywords)
    for seed in range(num):
        assert _play_out(env, seed, env.oracle_action) == (1.0, True)


@pytest.mark.slow
def test_the_oracle_reaches_2048_within_the_limit() -> None:
    env = Game2048(**_EXTREME)
    assert _play_out(env, 0, env.oracle_action) == (1.0, True)
    assert env.turn < 1000


@pytest.mark.parametrize(
    ("keywords", "num", "least"), [({}, 20, 0.65), (_HARD, 1, 1.0)], ids=["easy", "hard"]
)
def test_the_expert_mostly_wins(keywords: dict[str, int], num: int, least: float) -> None:
    env = Game2048(**keywords)
    wins = [_play_out(env, seed, env.expert_action)[1] for seed in range(num)]
    assert sum(wins) / num >= least


@pytest.mark.parametrize("player", ["oracle", "expert"])
def test_who_can_win_with_one_push_does(player: str) -> None:
    env = _game_with([5, 1, 0, 0, 5, *[0] * 11])
    assert getattr(env, player)().direction in ("up", "down")


def test_on_a_lost_board_oracle_and_expert_still_move() -> None:
    env = _game_with(_STUCK_BUT_ONE, target=11)
    assert env.oracle() in env.legal()
    assert env.expert() in env.legal()


def test_the_expert_does_not_look_at_the_tiles_to_come() -> None:
    env = Game2048()
    env.reset(seed=0)
    before = env.expert()
    for field in dataclasses.fields(env.state):
        if field.metadata.get("hidden"):
            setattr(env.state, field.name, None)
    assert env.expert() == before


def test_a_random_game_draws_its_target_and_fits_the_limit_to_it() -> None:
    env = Game2048(**_HARD, is_random=True)
    kinds = set[tuple[int, int]]()
    for seed in range(100):
        prompt, _ = env.reset(seed=seed)
        target = 2**env.state.target
        assert f"a tile of {target} in at most {env.turn_limit()} moves" in str(prompt)
        kinds.add((target, env.turn_limit()))
    assert kinds == {(64, 50), (128, 93), (256, 179), (512, 350)}


@pytest.mark.parametrize(
    "keywords",
    [{"target": 32}, {"target": 100}, {"target": 16384}, {"target": -64}, {"max_turns": 31}],
)
def test_targets_that_cannot_be_reached_are_refused(keywords: dict[str, int]) -> None:
    with pytest.raises(ArgumentError, match="cannot be reached"):
        Game2048(**keywords)


def test_the_same_push_again_and_again_never_wins() -> None:
    env = Game2048()
    for direction in ("up", "down", "left", "right"):
        for seed in range(20):
            assert _play_out(env, seed, lambda a=rf"\boxed{{{direction}}}": a) == (0.0, False)


@pytest.mark.parametrize(("keywords", "most"), [({}, 0.5), (_HARD, 0.0)], ids=["easy", "hard"])
def test_pushing_at_random_is_paid_only_where_it_reaches_the_target(
    keywords: dict[str, int], most: float
) -> None:
    env = Game2048(**keywords)
    rng = random.Random(0)
    results = [
        _play_out(env, seed, lambda: rng.choice(list(env.legal_actions()))) for seed in range(60)
    ]
    assert all(total == float(won) for total, won in results)
    assert sum(won for _, won in results) / len(results) <= most
