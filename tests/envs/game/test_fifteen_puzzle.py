"""FifteenPuzzle: how tiles slide, which boards are dealt, and that each can be solved in time."""

import dataclasses
import random
from collections.abc import Callable

import pytest

from gemenv.core.env import Env
from gemenv.envs.game.fifteen_puzzle import FifteenPuzzle, Slide, State
from gemenv.errors import ArgumentError

_HARD = {"size": 4, "num_scrambles": 40, "max_turns": 50}
_VARIANTS = {"easy": {}, "hard": _HARD, "random": {**_HARD, "is_random": True}}
every_variant = pytest.mark.parametrize("keywords", _VARIANTS.values(), ids=_VARIANTS)


def _play_out(env: Env, seed: int, policy: Callable[[], str]) -> tuple[float, bool]:
    env.reset(seed=seed)
    total = 0.0
    while True:
        step = env.step(policy())
        total += step.reward
        if step.terminated or step.truncated:
            return total, step.info.get("success", False)


def _game_with(tiles: list[int], *solution: str) -> FifteenPuzzle:
    env = FifteenPuzzle()
    env.reset(seed=0)
    env.state = State(bytes(tiles), 3, 20, solution)  # pyright: ignore
    return env


def _at_random(env: Env, rng: random.Random) -> Callable[[], str]:
    return lambda: rng.choice(list(env.legal_actions()))


@pytest.mark.parametrize(
    ("direction", "tiles"),
    [
        ("up", [1, 2, 3, 4, 8, 6, 7, 0, 5]),
        ("down", [1, 0, 3, 4, 2, 6, 7, 8, 5]),
        ("left", [1, 2, 3, 4, 6, 0, 7, 8, 5]),
        ("right", [1, 2, 3, 0, 4, 6, 7, 8, 5]),
    ],
)
def test_a_tile_slides_into_the_gap(direction: str, tiles: list[int]) -> None:
    env = _game_with([1, 2, 3, 4, 0, 6, 7, 8, 5], "up")
    step = env.step(rf"\boxed{{{direction}}}")
    assert list(env.state.board) == tiles
    assert (step.reward, step.terminated, step.info["action_error"]) == (0.0, False, None)


def test_the_outcome_names_the_tile_and_the_board_follows() -> None:
    step = _game_with([1, 2, 3, 4, 0, 6, 7, 8, 5], "up").step(r"\boxed{up}")
    assert step.observation == "Tile 8 moved up.\n1 2 3\n4 8 6\n7 _ 5"


@pytest.mark.parametrize("direction", ["up", "left"])
def test_where_there_is_no_tile_a_slide_is_invalid(direction: str) -> None:
    env = _game_with([1, 2, 3, 4, 5, 6, 8, 7, 0], "down")
    step = env.step(rf"\boxed{{{direction}}}")
    assert step.info["action_error"] == "invalid"
    assert str(step.observation).startswith(f"No tile can slide {direction}.")
    assert list(env.state.board) == [1, 2, 3, 4, 5, 6, 8, 7, 0]


def test_the_tiles_in_order_win() -> None:
    step = _game_with([1, 2, 3, 4, 5, 6, 7, 0, 8], "left").step(r"\boxed{left}")
    assert (step.reward, step.terminated, step.info["stop_reason"]) == (1.0, True, "success")


def test_the_prompt_tells_order_direction_limit_and_notation() -> None:
    prompt = str(FifteenPuzzle(**_HARD).reset(seed=0)[0])
    assert "tiles 1 to 15 lie in a 4x4 frame" in prompt
    assert "in at most 50 moves" in prompt
    assert r"\boxed{up} slides the tile below the gap up" in prompt


@every_variant
def test_the_oracle_always_wins_within_the_limit(keywords: dict[str, int]) -> None:
    env = FifteenPuzzle(**keywords)
    for seed in range(100):
        assert _play_out(env, seed, env.oracle_action) == (1.0, True)


@every_variant
def test_the_oracle_also_solves_what_others_have_played(keywords: dict[str, int]) -> None:
    env = FifteenPuzzle(**{**keywords, "max_turns": 200})
    rng = random.Random(0)
    for seed in range(20):
        env.reset(seed=seed)
        wander, step = _at_random(env, rng), None
        for _ in range(20):
            step = env.step(wander())
            if step.terminated:
                break
        while not (step and step.terminated):
            step = env.step(env.oracle_action())
        assert step.info["success"]


@pytest.mark.parametrize(
    ("variant", "num", "most_lost"), [("easy", 50, 0), ("hard", 15, 1), ("random", 15, 1)]
)
def test_the_expert_solves_nearly_all(variant: str, num: int, most_lost: int) -> None:
    env = FifteenPuzzle(**_VARIANTS[variant])
    wins = [_play_out(env, seed, env.expert_action)[1] for seed in range(num)]
    assert num - sum(wins) <= most_lost


@every_variant
def test_the_expert_does_not_look_at_the_solution(keywords: dict[str, int]) -> None:
    env = FifteenPuzzle(**keywords)
    env.reset(seed=0)
    before = env.expert()
    for field in dataclasses.fields(env.state):
        if field.metadata.get("hidden"):
            setattr(env.state, field.name, None)
    assert env.expert() == before


def test_the_legal_slides_are_those_that_can_be_played() -> None:
    tiles = [0, 1, 3, 4, 2, 6, 7, 8, 5]
    assert set(_game_with(tiles, "up").legal()) == {Slide("up"), Slide("left")}


@pytest.mark.parametrize(("variant", "least"), [("easy", 450), ("hard", 990), ("random", 950)])
def test_boards_differ_and_none_is_solved(variant: str, least: int) -> None:
    env = FifteenPuzzle(**_VARIANTS[variant])
    boards = set[bytes]()
    for seed in range(1000):
        env.reset(seed=seed)
        board = env.state.board
        assert sorted(board) == list(range(len(board)))
        assert list(board) != [*range(1, len(board)), 0]
        boards.add(board)
    assert len(boards) > least


def test_a_random_puzzle_tells_its_own_limit() -> None:
    env = FifteenPuzzle(**_VARIANTS["random"])
    kinds = set[tuple[int, int]]()
    for seed in range(300):
        prompt, _ = env.reset(seed=seed)
        assert f"in at most {env.turn_limit()} moves" in str(prompt)
        assert len(env.state.solution) <= env.turn_limit() - env.spare_turns
        kinds.add((env.state.size, env.turn_limit()))
    assert {size for size, _ in kinds} == {3, 4}
    assert {limit for _, limit in kinds} == set(range(22, 51))


@pytest.mark.parametrize(
    "keywords", [{"size": 2}, {"size": 7}, {"num_scrambles": 11}, {"num_scrambles": 21}]
)
def test_puzzles_that_cannot_be_are_refused(keywords: dict[str, int]) -> None:
    with pytest.raises(ArgumentError, match="no such puzzle"):
        FifteenPuzzle(**keywords)


@every_variant
def test_neither_chance_nor_repetition_is_paid(keywords: dict[str, int]) -> None:
    env = FifteenPuzzle(**keywords)
    at_random = _at_random(env, random.Random(0))
    returns = [_play_out(env, seed, at_random)[0] for seed in range(200)]
    assert sum(returns) / len(returns) < 0.03
    for direction in ("up", "down", "left", "right"):
        for seed in range(20):
            assert _play_out(env, seed, lambda a=rf"\boxed{{{direction}}}": a) == (0.0, False)
