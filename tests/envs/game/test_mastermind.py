"""Mastermind: what the pegs count, what a guess is, and who wins."""

import dataclasses
import random
from collections.abc import Callable

import pytest

from gemenv.core.env import Env, Step
from gemenv.envs.game.mastermind import Guess, Mastermind, Pegs, codes, count_pegs
from gemenv.errors import ArgumentError

_HARD = {"code_length": 4, "num_digits": 8, "max_turns": 30}
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


def _guess(env: Mastermind, code: str) -> Step:
    return env.step(env.actions.format(Guess(code)))


def _hard_game_with(code: str) -> Mastermind:
    env = Mastermind(**_HARD)
    env.reset(seed=0)
    env.state.code = code
    return env


@pytest.mark.parametrize(
    ("guess", "code", "pegs"),
    [
        ("1234", "1234", Pegs(4, 0)),
        ("1234", "4321", Pegs(0, 4)),
        ("1234", "5678", Pegs(0, 0)),
        ("1234", "1243", Pegs(2, 2)),
        ("1234", "2561", Pegs(0, 2)),
    ],
)
def test_black_pegs_count_places_and_white_pegs_count_the_other_digits(
    guess: str, code: str, pegs: Pegs
) -> None:
    assert count_pegs(guess, code) == pegs


def test_a_wrong_guess_is_answered_in_one_sentence() -> None:
    step = _guess(_hard_game_with("1243"), "1234")
    assert step.observation == "1234 has 2 black and 2 white pegs."
    assert step.reward == 0.0
    assert not step.terminated


def test_the_code_wins_everything() -> None:
    step = _guess(_hard_game_with("1243"), "1243")
    assert step.reward == 1.0
    assert step.terminated
    assert step.info["stop_reason"] == "success"


def test_spaces_and_commas_between_the_digits_mean_nothing() -> None:
    assert _guess(_hard_game_with("1243"), "1, 2 4,3").terminated


@pytest.mark.parametrize("code", ["123", "12345", "1123", "1239", "0123", "12a4", "١٢٣٤"])
def test_what_cannot_be_the_code_is_invalid_and_changes_nothing(code: str) -> None:
    env = _hard_game_with("1243")
    step = _guess(env, code)
    assert step.info["action_error"] == "invalid"
    assert step.observation == "A guess is 4 different digits, each from 1 to 8."
    assert env.state.answers == {}


def test_the_prompt_tells_the_kind_of_code_the_limit_and_the_notation() -> None:
    prompt, _ = Mastermind(**_HARD).reset(seed=0)
    assert "4 different digits, each from 1 to 8" in prompt
    assert "30 guesses" in prompt
    assert r"\boxed{1234}" in prompt


def test_a_random_game_lies_between_easy_and_hard_and_its_limit_fits_the_length() -> None:
    env = Mastermind(**_VARIANTS["random"])
    limits = {2: 10, 3: 20, 4: 30}
    kinds = set[tuple[int, int]]()
    for seed in range(200):
        prompt, _ = env.reset(seed=seed)
        state = env.state
        kinds.add((state.code_length, state.num_digits))
        assert env.turn_limit() == limits[state.code_length]
        assert f"{limits[state.code_length]} guesses" in prompt
        assert state.code in codes(state.code_length, state.num_digits)
    assert kinds == {(length, digits) for length in (2, 3, 4) for digits in (6, 7, 8)}


@pytest.mark.parametrize(
    "keywords",
    [
        {"code_length": 1},
        {"code_length": 6},
        {"num_digits": 10},
        {"code_length": 4, "num_digits": 3},
    ],
)
def test_codes_that_cannot_be_are_refused(keywords: dict[str, int]) -> None:
    with pytest.raises(ArgumentError, match="no such codes"):
        Mastermind(**keywords)


@every_variant
def test_the_oracle_wins_at_once(keywords: dict[str, int]) -> None:
    env = Mastermind(**keywords)
    for seed in range(100):
        assert _play_out(env, seed, env.oracle_action) == (1.0, True)
        assert env.turn == 1


@pytest.mark.parametrize(("variant", "most_guesses"), [("easy", 6), ("hard", 8), ("random", 8)])
def test_the_expert_always_wins_in_few_guesses(variant: str, most_guesses: int) -> None:
    env = Mastermind(**_VARIANTS[variant])
    for seed in range(30):
        assert _play_out(env, seed, env.expert_action) == (1.0, True)
        assert env.turn <= most_guesses


def test_the_expert_does_not_look_at_the_code() -> None:
    env = _hard_game_with("6172")
    _guess(env, "1234")
    before = env.expert()
    for field in dataclasses.fields(env.state):
        if field.metadata.get("hidden"):
            setattr(env.state, field.name, None)
    assert env.expert() == before


def test_games_differ() -> None:
    env = Mastermind(**_HARD)
    dealt: set[str] = set()
    for seed in range(1000):
        env.reset(seed=seed)
        dealt.add(env.state.code)
    assert len(codes(4, 8)) == 1680
    assert len(dealt) > 700


def test_guessing_at_random_gains_little() -> None:
    env = Mastermind(**_HARD)
    rng = random.Random(0)
    returns = [
        _play_out(env, seed, lambda: env.actions.format(Guess(rng.choice(codes(4, 8)))))[0]
        for seed in range(100)
    ]
    assert sum(returns) / len(returns) < 0.06
