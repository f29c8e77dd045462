"""Sokoban: what can be pushed, what is paid, and who finds the way."""

import dataclasses
import random
from collections.abc import Callable

import pytest

from gemenv.core.env import Env
from gemenv.envs.game.sokoban import Move, Sokoban, State
from gemenv.errors import ArgumentError

_HARD = {"size": 8, "num_boxes": 4, "max_turns": 50}
_VARIANTS = {"easy": {}, "hard": _HARD, "random": {**_HARD, "is_random": True}}
every_variant = pytest.mark.parametrize("keywords", _VARIANTS.values(), ids=_VARIANTS)

_CORRIDOR = """
# # # # # # #
# @ - $ - . #
# - - - - - #
# - $ $ - . #
# - # - - - #
# - - - - - #
# # # # # # #
"""


def _play_out(env: Env, seed: int, policy: Callable[[], str]) -> tuple[float, bool]:
    env.reset(seed=seed)
    return _finish(env, policy)


def _finish(env: Env, policy: Callable[[], str]) -> tuple[float, bool]:
    total = 0.0
    while True:
        step = env.step(policy())
        total += step.reward
        if step.terminated or step.truncated:
            return total, step.info.get("success", False)


def _game_with(level: str) -> Sokoban:
    """Make a game from its map, with an unknown solution."""
    text = level.strip("\n")
    size = text.count("\n") + 1
    found = {mark: [cell for cell, m in enumerate(text) if m == mark] for mark in "@+$*"}
    ground = text.translate(str.maketrans("@$+*", "--.."))
    env = Sokoban(size=max(size, 6), max_turns=40)
    env.reset(seed=0)
    boxes = frozenset(found["$"] + found["*"])
    env.state = State(ground, size, 40, boxes, (found["@"] + found["+"])[0], ())
    return env


def _moves(env: Sokoban, *directions: str) -> list[float]:
    return [env.step(rf"\boxed{{{direction}}}").reward for direction in directions]


def _at_random(env: Env, rng: random.Random) -> Callable[[], str]:
    return lambda: rng.choice(list(env.legal_actions()))


def test_a_level_reads_as_it_was_written() -> None:
    assert _game_with(_CORRIDOR).view() == _CORRIDOR.strip("\n")


def test_a_step_moves_the_player() -> None:
    env = _game_with("# # # # #\n# @ - . #\n# - $ - #\n# - $ . #\n# # # # #")
    step = env.step(r"\boxed{right}")
    assert step.observation == (
        "You moved right.\n# # # # #\n# - @ . #\n# - $ - #\n# - $ . #\n# # # # #"
    )
    assert (step.reward, step.terminated, step.info["action_error"]) == (0.0, False, None)


def test_a_step_against_a_box_pushes_it() -> None:
    env = _game_with(_CORRIDOR)
    _moves(env, "right")
    step = env.step(r"\boxed{right}")
    assert str(step.observation).startswith("You pushed a box right.\n")
    assert env.view().split("\n")[1] == "# - - @ $ . #"


@pytest.mark.parametrize(
    ("row", "reason"),
    [
        ("# - @ # - . #", "A wall is in the way."),
        ("# - @ $ # . #", "That box cannot move: the cell behind it is not free."),
        ("# - @ $ $ . #", "That box cannot move: the cell behind it is not free."),
        ("# - @ * * - #", "That box cannot move: the cell behind it is not free."),
    ],
)
def test_what_stands_in_the_way_makes_a_move_invalid(row: str, reason: str) -> None:
    level = "\n".join(["# # # # # # #", row, *["# - - - - $ #"] * 4, "# # # # # # #"])
    env = _game_with(level)
    step = env.step(r"\boxed{right}")
    assert step.info["action_error"] == "invalid"
    assert str(step.observation).startswith(reason)
    assert env.view() == level


def test_boxes_and_player_on_goals_are_shown_as_such() -> None:
    env = _game_with("# # # # #\n# @ $ . #\n# . $ - #\n# - - - #\n# # # # #")
    _moves(env, "right")
    assert env.view().split("\n")[1] == "# - @ * #"
    _moves(env, "left", "down")
    assert env.view().split("\n")[2] == "# + $ - #"


def test_the_last_box_on_its_goal_wins() -> None:
    env = _game_with("# # # # #\n# - @ - #\n# - $ - #\n# - . * #\n# # # # #")
    step = env.step(r"\boxed{down}")
    assert (step.reward, step.terminated, step.info["stop_reason"]) == (1.0, True, "success")


def test_boxes_after_the_first_are_paid_once_each() -> None:
    env = _game_with(
        "# # # # # # #\n# @ $ . - - #\n# - $ . - - #\n# - $ - . - #\n# # # # # # #\n# # # # # # #"
        "\n# # # # # # #"
    )
    rewards = _moves(env, "right", "left", "down", "right", "right", "up", "left", "left", "down")
    assert rewards == pytest.approx([0, 0, 0, 0.25, 0, 0, 0, 0, 0])


@every_variant
def test_the_oracle_always_wins_within_the_limit(keywords: dict[str, int]) -> None:
    env = Sokoban(**keywords)
    for seed in range(40):
        assert _play_out(env, seed, env.oracle_action) == (pytest.approx(1.0), True)


@every_variant
def test_the_oracle_goes_on_from_what_others_have_played(keywords: dict[str, int]) -> None:
    env = Sokoban(**{**keywords, "max_turns": 60})
    rng, wins = random.Random(0), 0
    for seed in range(10):
        env.reset(seed=seed)
        for _ in range(4):
            env.step(rng.choice(list(env.legal_actions())))
        wins += _finish(env, env.oracle_action)[1]
    assert wins >= 4  # the others had pushed a box into a corner


def test_the_oracle_takes_back_a_step_and_searches_after_another_push() -> None:
    env = _game_with("# # # # # #\n# @ $ - . #\n# - - - - #\n# - $ - . #\n# - - - - #\n# # # # # #")
    env.state.solution = ("right", "right", "left", "left", "down", "down", "right", "right")
    _moves(env, "down")
    assert env.oracle() == Move("up")
    _moves(env, "down", "right")  # the push that the solution has last
    assert _finish(env, env.oracle_action)[1]
    assert env.turn == 10


def test_the_oracle_makes_a_legal_move_where_nothing_can_be_won() -> None:
    env = _game_with("# # # # #\n# $ - . #\n# - @ . #\n# - - $ #\n# # # # #")
    for _ in range(30):
        assert env.oracle() in env.legal()
        env.step(env.oracle_action())


@every_variant
def test_the_expert_nearly_always_wins(keywords: dict[str, int]) -> None:
    env = Sokoban(**keywords)
    wins = [_play_out(env, seed, env.expert_action)[1] for seed in range(10)]
    assert sum(wins) >= 9


@every_variant
def test_the_expert_does_not_look_at_the_solution(keywords: dict[str, int]) -> None:
    env = Sokoban(**keywords)
    env.reset(seed=0)
    before = env.expert()
    for field in dataclasses.fields(env.state):
        if field.metadata.get("hidden"):
            setattr(env.state, field.name, None)
    assert env.expert() == before


def test_the_legal_moves_are_steps_and_possible_pushes() -> None:
    env = _game_with("# # # # #\n# - $ - #\n# - @ $ #\n# - - - #\n# # # # #")
    assert set(env.legal()) == {Move("left"), Move("down")}


@pytest.mark.parametrize(("variant", "least"), [("easy", 90), ("hard", 99), ("random", 95)])
def test_levels_differ(variant: str, least: int) -> None:
    env = Sokoban(**_VARIANTS[variant])
    assert len({env.reset(seed=seed)[0] for seed in range(100)}) >= least


def test_random_levels_have_two_to_four_boxes_and_a_limit_to_match() -> None:
    env = Sokoban(**_VARIANTS["random"])
    kinds = set[tuple[int, int, int]]()
    for seed in range(60):
        prompt, _ = env.reset(seed=seed)
        state = env.state
        assert f"in at most {env.turn_limit()} moves" in str(prompt)
        kinds.add((len(state.boxes), state.size, env.turn_limit()))
    assert kinds == {(2, 6, 25), (3, 7, 37), (4, 8, 50)}


@pytest.mark.parametrize(
    "keywords",
    [
        {"num_boxes": 1},
        {"num_boxes": 5, "size": 10, "max_turns": 99},
        {"size": 5},
        {"size": 11},
        {"num_boxes": 4, "max_turns": 50},
        {"max_turns": 19},
    ],
)
def test_levels_that_cannot_be_are_refused(keywords: dict[str, int]) -> None:
    with pytest.raises(ArgumentError, match="no such level"):
        Sokoban(**keywords)


@every_variant
def test_neither_chance_nor_repetition_is_paid(keywords: dict[str, int]) -> None:
    env = Sokoban(**keywords)
    at_random = _at_random(env, random.Random(0))
    returns = [_play_out(env, seed, at_random)[0] for seed in range(40)]
    assert sum(returns) / len(returns) < 0.1
    for direction in ("up", "down", "left", "right"):
        for seed in range(5):
            assert _play_out(env, seed, lambda a=rf"\boxed{{{direction}}}": a) == (0.0, False)
