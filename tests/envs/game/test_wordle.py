"""Wordle: what the marks mean, what a guess is, and who wins."""

import dataclasses

import pytest

from gemenv.core.env import Step
from gemenv.envs.game.word_list import common_words
from gemenv.envs.game.wordle import Guess, Wordle, mark
from gemenv.errors import ArgumentError
from gemenv.testing.play import ask_oracle, play, sample

_HARD = {"word_length": 5, "max_turns": 25}
_VARIANTS = {"easy": {}, "hard": _HARD, "random": {**_HARD, "is_random": True}}
every_variant = pytest.mark.parametrize("keywords", _VARIANTS.values(), ids=_VARIANTS)


def _hard_game_with(secret: str) -> Wordle:
    env = Wordle(**_HARD)
    env.reset(seed=0)
    env.state.secret = secret
    return env


def _guess(env: Wordle, word: str) -> Step:
    return env.step(env.actions.format(Guess(word)))


@pytest.mark.parametrize(
    ("guess", "secret", "marks"),
    [
        ("eagle", "eagle", "GGGGG"),
        ("crimp", "eagle", "XXXXX"),
        ("angle", "eagle", "YXGGG"),
        ("geese", "eagle", "YYXXG"),  # the second e is one too many
        ("allee", "eagle", "YYXYG"),  # the second l is one too many
        ("speed", "abide", "XXYXY"),  # the second e is one too many
        ("eerie", "there", "YXYXG"),
    ],
)
def test_a_letter_is_marked_as_often_as_the_secret_has_it(guess, secret, marks) -> None:
    assert mark(guess, secret) == marks


def test_a_wrong_guess_is_answered_letter_by_letter() -> None:
    step = _guess(_hard_game_with("eagle"), "angle")
    assert step.observation == "a n g l e\nY X G G G"
    assert step.reward == 0.0
    assert not step.terminated


def test_the_secret_wins_everything_in_any_case() -> None:
    step = _guess(_hard_game_with("eagle"), "Eagle")
    assert step.reward == 1.0
    assert step.terminated
    assert step.info["success"]


@pytest.mark.parametrize(
    ("word", "answer"),
    [
        ("zzzzz", "That is not a word in the dictionary."),
        ("eag", "A guess has 5 letters."),
        ("eagles", "A guess has 5 letters."),
        ("e" * 100_000, "A guess has 5 letters."),
    ],
)
def test_what_is_no_word_of_the_length_is_invalid_and_changes_nothing(word, answer) -> None:
    env = _hard_game_with("eagle")
    step = _guess(env, word)
    assert step.info["action_error"] == "invalid"
    assert step.observation == answer
    assert env.state.answers == {}


@pytest.mark.parametrize("text", ["", "eagle", r"\boxed{}", r"\boxed{3}", r"\boxed{an egg}"])
def test_what_is_no_word_is_a_format_error(text: str) -> None:
    step = _hard_game_with("eagle").step(text)
    assert step.info["action_error"] == "format"
    assert step.reward == -0.1


def test_a_rare_word_may_be_guessed_but_is_never_the_secret() -> None:
    env = _hard_game_with("eagle")
    assert "xylem" not in common_words(5)
    assert _guess(env, "xylem").info["action_error"] is None


def test_the_prompt_tells_length_limit_marks_and_notation() -> None:
    prompt, _ = Wordle(**_HARD).reset(seed=0)
    assert "5 letters" in prompt
    assert "25 guesses" in prompt
    assert "if the secret were eagle:\ng e e s e\nY Y X X G\n" in prompt
    assert r"\boxed{geese}" in prompt


@pytest.mark.parametrize("length", range(3, 9))
def test_the_example_of_every_length_is_a_valid_guess_that_shows_a_right_letter(length) -> None:
    prompt, _ = Wordle(word_length=length).reset(seed=0)
    env = Wordle(word_length=length)
    env.reset(seed=0)
    example = env.actions.parse(str(prompt))
    assert _guess(env, example.word).info["action_error"] is None
    assert {"G", "Y", "X"} <= set(str(prompt).splitlines()[2])


def test_a_random_game_has_three_to_five_letters_and_five_turns_for_each() -> None:
    env = Wordle(**_VARIANTS["random"])
    lengths = set[int]()
    for seed in range(60):
        prompt, _ = env.reset(seed=seed)
        length = len(env.state.secret)
        lengths.add(length)
        assert env.turn_limit() == 5 * length
        assert f"{5 * length} guesses" in prompt
    assert lengths == {3, 4, 5}


@pytest.mark.parametrize("word_length", [2, 9])
def test_a_length_without_words_is_refused(word_length: int) -> None:
    with pytest.raises(ArgumentError, match="no words of this length"):
        Wordle(word_length=word_length)


@every_variant
def test_the_oracle_wins_at_once(keywords) -> None:
    env = Wordle(**keywords)
    for seed in range(100):
        (step,) = play(env, seed, ask_oracle)
        assert step.reward == 1.0


@pytest.mark.parametrize(("variant", "most_guesses"), [("easy", 12), ("hard", 9), ("random", 12)])
def test_the_expert_wins_in_few_guesses(variant: str, most_guesses: int) -> None:
    env = Wordle(**_VARIANTS[variant])
    for seed in range(30):
        steps = play(env, seed, lambda env, _: env.expert_action())
        assert steps[-1].reward == 1.0
        assert len(steps) <= most_guesses


def test_the_expert_does_not_look_at_the_secret() -> None:
    env = _hard_game_with("eagle")
    _guess(env, "angle")
    before = env.expert()
    for field in dataclasses.fields(env.state):
        if field.metadata.get("hidden"):
            setattr(env.state, field.name, None)
    assert env.expert() == before


def test_secrets_differ() -> None:
    env = Wordle(**_HARD)
    secrets = set[str]()
    for seed in range(1000):
        env.reset(seed=seed)
        secrets.add(env.state.secret)
    assert len(secrets) > 700


@every_variant
def test_guessing_at_random_gains_little(keywords) -> None:
    env = Wordle(**keywords)
    assert sum(play(env, seed, sample)[-1].reward for seed in range(100)) < 12
