"""TurnLimit truncates earlier, and never later."""

import pytest

import gemenv
from gemenv.errors import ActionTypeError, ArgumentError, EpisodeOver
from gemenv.wrappers import TurnLimit


def _env(max_turns: int) -> TurnLimit:
    return TurnLimit(gemenv.make("game:GuessTheNumber", format_error_ends=False), max_turns)


def test_the_last_turn_truncates_and_says_why() -> None:
    env = _env(2)
    env.reset(seed=0)
    first, second = env.step("?"), env.step("?")
    assert not first.truncated
    assert "success" not in first.info
    assert (second.terminated, second.truncated) == (False, True)
    assert second.info["success"] is False
    assert second.info["stop_reason"] == "turn_limit"
    assert second.info["turn"] == 2


def test_after_its_last_turn_the_episode_is_over_though_the_inner_one_is_not() -> None:
    env = _env(1)
    env.reset(seed=0)
    snapshot = env.snapshot()
    env.step("?")
    with pytest.raises(EpisodeOver, match=r"last turn \(1\)"):
        env.step("?")
    assert env.env.turn == 1
    env.restore(snapshot)
    assert env.step("?").truncated


def test_a_win_on_the_last_turn_terminates() -> None:
    env = _env(1)
    env.reset(seed=0)
    step = env.step(env.oracle_action())
    assert (step.terminated, step.truncated, step.info["success"]) == (True, False, True)


def test_each_episode_counts_from_zero() -> None:
    env = _env(2)
    for _ in range(2):
        env.reset(seed=0)
        assert not env.step("?").truncated
    env.reset()
    assert [env.step("?").truncated for _ in range(2)] == [False, True]


def test_a_refused_action_costs_no_turn() -> None:
    env = _env(1)
    env.reset(seed=0)
    with pytest.raises(ActionTypeError):
        env.step(None)
    assert env.step("?").truncated


def test_the_environment_s_own_lower_limit_stands() -> None:
    env = _env(100)
    env.reset(seed=0)
    assert (env.max_turns, env.turn_limit()) == (4, 4)
    assert [env.step("?").truncated for _ in range(4)] == [False, False, False, True]
    tight = _env(2)
    assert (tight.max_turns, tight.turn_limit()) == (2, 2)


def test_without_a_limit_inside_its_own_stands() -> None:
    inner = gemenv.make("game:GuessTheNumber")
    inner.max_turns = None
    assert TurnLimit(inner, 3).max_turns == 3


@pytest.mark.parametrize("max_turns", [0, -1])
def test_an_episode_has_at_least_one_turn(max_turns) -> None:
    with pytest.raises(ArgumentError, match="at least one turn"):
        _env(max_turns)
