"""GuessTheNumber."""

import pytest

from gemenv.core.registry import make
from gemenv.envs.game.guess_the_number import GuessTheNumber
from gemenv.errors import ArgumentError


def _hidden(env: GuessTheNumber) -> int:
    return env.state.number


@pytest.mark.parametrize(("guess", "hint"), [(1, "higher than 1"), (10, "lower than 10")])
def test_a_wrong_guess_is_answered_by_a_hint(guess: int, hint: str) -> None:
    env = GuessTheNumber()
    seed = next(s for s in range(50) if env.reset(seed=s) and 1 < _hidden(env) < 10)
    env.reset(seed=seed)
    step = env.step(rf"\boxed{{{guess}}}")
    assert hint in str(step.observation)
    assert step.reward == 0.0
    assert not step.terminated


def test_zero_is_a_legal_guess_where_it_is_in_the_range() -> None:
    env = GuessTheNumber(low=0, high=3)
    env.reset(seed=next(s for s in range(50) if env.reset(seed=s) and _hidden(env) == 0))
    step = env.step(r"\boxed{0}")
    assert step.reward == 1.0
    assert step.info == {
        "action_error": None,
        "success": True,
        "stop_reason": "success",
        "turn": 1,
    }


def test_a_guess_outside_the_range_costs_the_turn_and_says_why() -> None:
    env = GuessTheNumber()
    env.reset(seed=0)
    step = env.step(r"\boxed{11}")
    assert step.observation == "11 is not between 1 and 10."
    assert (step.reward, step.info["action_error"], step.info["turn"]) == (0.0, "invalid", 1)


def test_an_answer_without_a_number_ends_the_episode_with_a_penalty() -> None:
    env = GuessTheNumber()
    env.reset(seed=0)
    step = env.step("I think it is 5.")
    assert (step.reward, step.terminated, step.truncated) == (-0.1, True, False)
    assert step.info["stop_reason"] == "format_error"
    assert r"\boxed{<number>}" in str(step.observation)


def test_the_penalty_can_be_set_and_need_not_end_the_episode() -> None:
    env = GuessTheNumber(format_error_ends=False, format_error_reward=-0.5)
    env.reset(seed=0)
    step = env.step("five")
    assert (step.reward, step.terminated) == (-0.5, False)
    assert env.step(env.oracle_action()).reward == 1.0


def test_the_turn_limit_truncates() -> None:
    env = GuessTheNumber(max_turns=2)
    env.reset(seed=0)
    env.step(r"\boxed{11}")
    step = env.step(r"\boxed{11}")
    assert (step.terminated, step.truncated) == (False, True)
    assert step.info["stop_reason"] == "turn_limit"
    assert step.info["success"] is False


@pytest.mark.parametrize("variant", ["easy", "hard", "random"])
def test_binary_search_always_wins_within_the_limit(variant: str) -> None:
    env = make(f"game:GuessTheNumber-{variant}")
    for seed in range(300):
        env.reset(seed=seed)
        step = env.step(env.expert_action())
        while not (step.terminated or step.truncated):
            step = env.step(env.expert_action())
        assert step.info["success"], seed


def test_the_random_variant_draws_the_range_and_tells_it() -> None:
    env = make("game:GuessTheNumber-random")
    tops = set()
    for seed in range(200):
        observation, _ = env.reset(seed=seed)
        top = env.unwrapped.state.top
        tops.add(top)
        assert f"between 1 and {top} in at most {top.bit_length()} guesses" in observation
    assert min(tops) >= 10
    assert max(tops) <= 50
    assert len(tops) > 30


def test_a_range_without_numbers_is_refused() -> None:
    with pytest.raises(ArgumentError, match="no number to hide"):
        GuessTheNumber(low=5, high=4)
