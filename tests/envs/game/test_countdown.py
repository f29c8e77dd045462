"""Countdown: which attempts count, what is told, and who wins."""

import random
from collections.abc import Callable
from typing import Any

import pytest

from gemenv.core.env import Env, Step
from gemenv.envs.game.arithmetic import evaluate
from gemenv.envs.game.countdown import Attempt, Countdown, State
from gemenv.errors import ArgumentError

_HARD: dict[str, Any] = {"num_numbers": 6, "max_number": 100}
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


def _game() -> Countdown:
    env = Countdown()
    env.reset(seed=0)
    env.state = State((8, 3, 2, 5), 24, 100)
    return env


def _attempt(env: Countdown, expression: str) -> Step:
    return env.step(rf"\boxed{{{expression}}}")


@pytest.mark.parametrize("expression", ["8 * 3", "(5 - 2) * 8", "((5)-2)*8", r"8 \times 3"])
def test_any_expression_that_makes_the_target_wins_everything(expression: str) -> None:
    step = _attempt(_game(), expression)
    assert (step.reward, step.terminated, step.info["success"]) == (1.0, True, True)
    assert step.observation == "Correct: that makes 24."


def test_another_value_is_told_exactly() -> None:
    step = _attempt(_game(), "8 / 3 - 2")
    assert step.observation == "That makes 2/3, not 24. The numbers are 8, 3, 2, 5."
    assert step.info["action_error"] is None
    assert step.reward == 0.0


@pytest.mark.parametrize(
    ("expression", "numbers"), [("8 / (1 - 2 / 3)", (1, 2, 3, 8)), ("7 - (2 - 19)", (2, 7, 19))]
)
def test_the_way_may_lead_through_fractions_and_negative_numbers(
    expression: str, numbers: tuple[int, ...]
) -> None:
    env = _game()
    env.state = State(numbers, 24, 190)
    assert _attempt(env, expression).info["success"] is True


@pytest.mark.parametrize(
    ("expression", "reason"),
    [
        ("8 + 8 + 8", "Use each of the numbers 8, 3, 2, 5 at most once, and no other."),
        ("24", "Use each of the numbers 8, 3, 2, 5 at most once, and no other."),
        ("8 * 3 = 24", "= cannot stand in an expression."),
        ("8 * (3", "A ( is never closed."),
        ("8 / (5 - 3 - 2)", "The expression divides by zero."),
        ("8 ** 3", "A number is missing before *."),
        ("9" * 100_000, "The expression has more than 200 characters."),
    ],
)
def test_an_attempt_against_the_rules_is_invalid_and_costs_the_turn(
    expression: str, reason: str
) -> None:
    env = _game()
    step = _attempt(env, expression)
    assert step.info["action_error"] == "invalid"
    assert step.observation == reason
    assert not step.terminated
    assert env.turn == 1


def test_the_fifth_wrong_attempt_is_the_last() -> None:
    env = _game()
    ends = [_attempt(env, "8 + 3").truncated for _ in range(5)]
    assert ends == [False, False, False, False, True]


def test_the_prompt_tells_numbers_target_limit_and_notation() -> None:
    env = Countdown(max_turns=3)
    prompt, _ = env.reset(seed=0)
    assert f"Make {env.state.target} from the numbers" in prompt
    assert ", ".join(map(str, env.state.numbers)) in prompt
    assert "3 attempts" in prompt
    assert r"\boxed{(1 + 2) * 3}" in prompt


@every_variant
def test_numbers_are_different_and_the_target_is_above_them_all_and_not_their_sum(
    keywords: dict[str, Any],
) -> None:
    env = Countdown(**keywords)
    for seed in range(100):
        env.reset(seed=seed)
        numbers, target = env.state.numbers, env.state.target
        assert len(set(numbers)) == len(numbers)
        assert min(numbers) >= 1
        assert max(numbers) < target <= env.state.highest
        assert target != sum(numbers)


@every_variant
def test_the_oracle_and_the_expert_always_win_at_once(keywords: dict[str, Any]) -> None:
    env = Countdown(**keywords)
    for seed in range(100):
        for policy in (env.oracle_action, env.expert_action):
            assert _play_out(env, seed, policy) == (1.0, True)
            assert env.turn == 1


def test_a_random_game_lies_between_easy_and_hard() -> None:
    env = Countdown(**_VARIANTS["random"])
    counts: set[int] = set()
    bounds: set[int] = set()
    for seed in range(300):
        env.reset(seed=seed)
        counts.add(len(env.state.numbers))
        bounds.add(env.state.highest // 10)
    assert counts == {4, 5, 6}
    assert min(bounds) < 15
    assert max(bounds) > 95
    assert bounds <= set(range(10, 101))


@pytest.mark.parametrize(
    "keywords", [{"num_numbers": 2}, {"num_numbers": 7}, {"max_number": 9}, {"max_turns": 0}]
)
def test_games_that_cannot_be_are_refused(keywords: dict[str, int]) -> None:
    with pytest.raises(ArgumentError):
        Countdown(**keywords)


@every_variant
def test_games_differ(keywords: dict[str, Any]) -> None:
    env = Countdown(**keywords)
    dealt: set[tuple[int, ...]] = set()
    for seed in range(300):
        env.reset(seed=seed)
        dealt.add((*env.state.numbers, env.state.target))
    assert len(dealt) > 290


def test_random_expressions_and_sums_gain_little() -> None:
    env = Countdown()
    rng = random.Random(0)

    def at_random() -> str:
        first, *others = rng.sample(env.state.numbers, 4)
        text = str(first)
        for number in others:
            text = f"({text} {rng.choice('+-*/')} {number})"
        return env.actions.format(Attempt(text))

    def plain_sum() -> str:
        return env.actions.format(Attempt(" + ".join(map(str, env.state.numbers))))

    assert sum(_play_out(env, seed, at_random)[0] for seed in range(200)) / 200 < 0.12
    assert sum(_play_out(env, seed, plain_sum)[0] for seed in range(200)) == 0.0


def test_the_experts_expression_uses_only_the_given_numbers() -> None:
    env = Countdown(**_HARD)
    for seed in range(50):
        env.reset(seed=seed)
        value, used = evaluate(env.expert().expression)
        assert value == env.state.target
        assert set(used) <= set(env.state.numbers)
        assert len(set(used)) == len(used)
