"""FrozenLake: where steps lead, how the ice turns them, and which lakes are dealt."""

import dataclasses
import random
from collections.abc import Callable

import pytest

from gemenv.core.env import Env
from gemenv.envs.game.frozen_lake import FrozenLake, State
from gemenv.errors import ArgumentError

_HARD = {"size": 8, "num_holes": 20, "max_turns": 50}
_SLIPPERY = {"num_holes": 3, "max_turns": 50, "is_slippery": True}
_VARIANTS = {
    "easy": {},
    "hard": _HARD,
    "random": {**_HARD, "is_random": True},
    "slippery": _SLIPPERY,
}
every_variant = pytest.mark.parametrize("keywords", _VARIANTS.values(), ids=_VARIANTS)

_LAKE = ".O......O......G"


def _play_out(env: Env, seed: int, policy: Callable[[], str]) -> tuple[float, bool]:
    env.reset(seed=seed)
    total = 0.0
    while True:
        step = env.step(policy())
        total += step.reward
        if step.terminated or step.truncated:
            return total, step.info.get("success", False)


def _game_at(player: int, slip: int = 0, lake: str = _LAKE) -> FrozenLake:
    env = FrozenLake(**_SLIPPERY) if slip else FrozenLake()
    env.reset(seed=0)
    env.state = State(lake, 4, player, slip)
    return env


@pytest.mark.parametrize(("direction", "cell"), [("up", 1), ("right", 6), ("down", 9), ("left", 4)])
def test_a_step_leads_to_the_next_cell(direction: str, cell: int) -> None:
    env = _game_at(5, lake="." * 15 + "G")
    step = env.step(rf"\boxed{{{direction}}}")
    assert env.state.player == cell
    assert str(step.observation).startswith(f"You moved {direction}.\n")
    assert (step.reward, step.terminated) == (0.0, False)


def test_the_player_is_shown_on_the_lake() -> None:
    step = _game_at(4).step(r"\boxed{right}")
    assert step.observation == "You moved right.\n. O . .\n. P . .\nO . . .\n. . . G"


def test_a_hole_loses_and_the_goal_wins() -> None:
    lost = _game_at(0).step(r"\boxed{right}")
    assert (lost.reward, lost.terminated, lost.info["stop_reason"]) == (0.0, True, "failure")
    won = _game_at(14).step(r"\boxed{right}")
    assert (won.reward, won.terminated, won.info["stop_reason"]) == (1.0, True, "success")


@pytest.mark.parametrize(
    ("player", "direction"), [(0, "up"), (0, "left"), (3, "right"), (12, "down")]
)
def test_a_step_off_the_lake_is_invalid(player: int, direction: str) -> None:
    env = _game_at(player)
    step = env.step(rf"\boxed{{{direction}}}")
    assert step.info["action_error"] == "invalid"
    assert env.state.player == player


@pytest.mark.parametrize(("slip", "cell"), [(-1, 4), (1, 6)])
def test_slippery_ice_turns_a_step_to_the_left_or_to_the_right(slip: int, cell: int) -> None:
    env = _game_at(5, slip)
    step = env.step(r"\boxed{up}")
    assert env.state.player == cell
    assert str(step.observation).startswith("You slipped")


def test_on_slippery_ice_a_player_at_the_edge_may_stay() -> None:
    env = _game_at(3, slip=1)
    step = env.step(r"\boxed{up}")
    assert env.state.player == 3
    assert step.info["action_error"] is None
    assert str(step.observation).startswith("You stayed at the edge.")


def test_the_ice_turns_each_way_a_third_of_the_time() -> None:
    env = FrozenLake(**_SLIPPERY)
    slips: list[int] = []
    for seed in range(3000):
        env.reset(seed=seed)
        slips.append(env.state.slip)
    assert all(900 < slips.count(slip) < 1100 for slip in (-1, 0, 1))


@every_variant
def test_every_lake_has_its_holes_and_a_goal_far_enough(keywords: dict[str, int]) -> None:
    env = FrozenLake(**keywords)
    lakes = set[str]()
    for seed in range(500):
        prompt, _ = env.reset(seed=seed)
        state, size = env.state, env.state.size
        goal = state.lake.index("G")
        assert state.lake.count("O") == env.num_holes * size**2 // env.size**2
        away = abs(goal // size - state.player // size) + abs(goal % size - state.player % size)
        assert away >= size
        assert f"in at most {env.turn_limit()} steps" in str(prompt)
        lakes.add(state.lake)
    assert len(lakes) > 400


def test_random_lakes_have_all_sizes() -> None:
    env = FrozenLake(**_VARIANTS["random"])
    limits = {(env.reset(seed=seed), env.state.size, env.turn_limit())[1:] for seed in range(200)}
    assert limits == {(4, 25), (5, 31), (6, 37), (7, 43), (8, 50)}


@every_variant
def test_the_oracle_always_wins_within_the_limit(keywords: dict[str, int]) -> None:
    env = FrozenLake(**keywords)
    for seed in range(200):
        assert _play_out(env, seed, env.oracle_action) == (1.0, True)


@pytest.mark.parametrize(
    ("variant", "least"), [("easy", 1.0), ("hard", 1.0), ("random", 1.0), ("slippery", 0.75)]
)
def test_the_expert_wins_unless_the_ice_is_against_it(variant: str, least: float) -> None:
    env = FrozenLake(**_VARIANTS[variant])
    wins = [_play_out(env, seed, env.expert_action)[1] for seed in range(300)]
    assert sum(wins) / len(wins) >= least


def test_the_expert_keeps_away_from_holes_at_the_edge() -> None:
    env = _game_at(0, slip=1, lake="....O......O...G")
    assert env.expert().direction == "up"  # up, left or right: never down into the hole


@every_variant
def test_the_expert_does_not_look_at_the_coming_slip(keywords: dict[str, int]) -> None:
    env = FrozenLake(**keywords)
    env.reset(seed=3)
    before = env.expert()
    for field in dataclasses.fields(env.state):
        if field.metadata.get("hidden"):
            setattr(env.state, field.name, None)
    assert env.expert() == before


def test_the_legal_steps_stay_on_the_lake() -> None:
    assert [move.direction for move in _game_at(0).legal()] == ["right", "down"]
    assert len(_game_at(0, slip=1).legal()) == 4


@pytest.mark.parametrize(
    "keywords",
    [
        {"size": 3},
        {"size": 17, "max_turns": 50},
        {"num_holes": 6},
        {"num_holes": -1},
        {"max_turns": 7},
    ],
)
def test_lakes_that_cannot_be_are_refused(keywords: dict[str, int]) -> None:
    with pytest.raises(ArgumentError, match="no such lake"):
        FrozenLake(**keywords)


@pytest.mark.parametrize(
    ("variant", "most"), [("easy", 0.1), ("hard", 0.02), ("random", 0.03), ("slippery", 0.2)]
)
def test_walking_at_random_seldom_arrives(variant: str, most: float) -> None:
    env = FrozenLake(**_VARIANTS[variant])
    rng = random.Random(0)
    returns = [
        _play_out(env, seed, lambda: rng.choice(list(env.legal_actions())))[0]
        for seed in range(300)
    ]
    assert sum(returns) / len(returns) < most


@pytest.mark.parametrize("variant", ["easy", "hard", "random"])
@pytest.mark.parametrize("direction", ["up", "down", "left", "right"])
def test_walking_straight_on_never_arrives(variant: str, direction: str) -> None:
    env = FrozenLake(**_VARIANTS[variant])
    for seed in range(50):
        assert _play_out(env, seed, lambda: rf"\boxed{{{direction}}}") == (0.0, False)
