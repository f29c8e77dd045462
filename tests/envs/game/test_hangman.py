"""Hangman: what a guess reveals, when the game ends, and who wins."""

import dataclasses

import pytest

from gemenv.core.env import Step
from gemenv.envs.game.hangman import GuessLetter, GuessWord, Hangman, State, possible_words
from gemenv.errors import ArgumentError
from gemenv.testing.play import ask_oracle, play, sample

_HARD = {"word_length": 7, "max_turns": 20}
_VARIANTS = {"easy": {}, "hard": _HARD, "random": {**_HARD, "is_random": True}}
every_variant = pytest.mark.parametrize("keywords", _VARIANTS.values(), ids=_VARIANTS)


def _game_with(word: str, **keywords) -> Hangman:
    env = Hangman(word_length=len(word), **keywords)
    env.reset(seed=0)
    env.state = State(word, "_" * len(word))
    return env


def _guess(env: Hangman, text: str) -> Step:
    return env.step(rf"\boxed{{{text}}}")


def test_a_letter_shows_everywhere_it_stands() -> None:
    step = _guess(_game_with("banana"), "a")
    assert step.observation == "a is in the word.\nWord: _ a _ a _ a\nGuessed: a"
    assert step.reward == 0.0


def test_a_letter_that_is_not_there_reveals_nothing() -> None:
    step = _guess(_game_with("banana"), "E")
    assert step.observation == "e is not in the word.\nWord: _ _ _ _ _ _\nGuessed: e"


def test_the_game_is_won_when_the_last_letter_is_shown() -> None:
    env = _game_with("banana")
    _guess(env, "a")
    _guess(env, "n")
    step = _guess(env, "b")
    assert step.observation == "Correct: the word is banana."
    assert step.terminated
    assert step.reward == 1.0


def test_the_game_is_won_when_the_word_is_guessed() -> None:
    step = _guess(_game_with("banana"), "BANANA")
    assert step.terminated
    assert step.reward == 1.0


def test_a_wrong_word_costs_a_turn() -> None:
    step = _guess(_game_with("banana"), "orange")
    assert step.observation == "The word is not orange.\nWord: _ _ _ _ _ _\nGuessed: orange"
    assert step.info["action_error"] is None


@pytest.mark.parametrize(
    ("text", "answer"),
    [
        ("a", "a was guessed before."),
        ("A", "a was guessed before."),
        ("orange", "orange was guessed before."),
        ("pear", "The word has 6 letters."),
        ("x" * 100_000, "The word has 6 letters."),
    ],
)
def test_what_can_tell_nothing_is_invalid_and_changes_nothing(text: str, answer: str) -> None:
    env = _game_with("banana")
    _guess(env, "a")
    _guess(env, "orange")
    before = dataclasses.replace(env.state, tried=list(env.state.tried))
    step = _guess(env, text)
    assert step.info["action_error"] == "invalid"
    assert step.observation.startswith(answer + "\n")
    assert env.state == before


@pytest.mark.parametrize("text", ["", "a", r"\boxed{}", r"\boxed{3}", r"\boxed{é}"])
def test_what_is_neither_letter_nor_word_is_a_format_error(text: str) -> None:
    step = _game_with("banana").step(text)
    assert step.info["action_error"] == "format"
    assert step.reward == -0.1


def test_one_letter_reads_as_a_letter_and_more_as_a_word() -> None:
    actions = Hangman().actions
    assert actions.parse(r"\boxed{a}") == GuessLetter("a")
    assert actions.parse(r"\boxed{at}") == GuessWord("at")


def test_the_prompt_tells_length_limit_and_both_notations() -> None:
    prompt, _ = Hangman(**_HARD).reset(seed=0)
    assert "7 letters" in prompt
    assert "20 guesses" in prompt
    assert r"a letter like this: \boxed{e} or with a word like this: \boxed{morning}" in prompt
    assert prompt.endswith("Word: _ _ _ _ _ _ _\nGuessed: nothing")


def test_a_random_game_has_three_to_seven_letters_and_a_limit_that_fits() -> None:
    env = Hangman(**_VARIANTS["random"])
    limits = {3: 10, 4: 13, 5: 15, 6: 18, 7: 20}
    lengths = set[int]()
    for seed in range(100):
        prompt, _ = env.reset(seed=seed)
        length = len(env.state.word)
        lengths.add(length)
        assert env.turn_limit() == limits[length]
        assert f"{limits[length]} guesses" in prompt
    assert lengths == set(limits)


@pytest.mark.parametrize("word_length", [2, 9])
def test_a_length_without_words_is_refused(word_length: int) -> None:
    with pytest.raises(ArgumentError, match="no words of this length"):
        Hangman(word_length=word_length)


def test_possible_words_fit_what_is_shown_and_what_is_not_there() -> None:
    assert "banana" in possible_words("_a_a_a", ["a", "e"])
    assert "banana" not in possible_words("_a_a_a", ["a", "n"])
    assert "banana" not in possible_words("_a_a_a", ["a", "banana"])
    assert all(word.count("a") == 3 for word in possible_words("_a_a_a", ["a"]))


@every_variant
def test_the_oracle_wins_at_once(keywords) -> None:
    env = Hangman(**keywords)
    for seed in range(100):
        (step,) = play(env, seed, ask_oracle)
        assert step.reward == 1.0


@pytest.mark.parametrize(("variant", "least_wins"), [("easy", 60), ("hard", 99), ("random", 85)])
def test_the_expert_wins_most_games(variant: str, least_wins: int) -> None:
    env = Hangman(**_VARIANTS[variant])
    games = (play(env, seed, lambda env, _: env.expert_action()) for seed in range(100))
    assert sum(steps[-1].reward == 1.0 for steps in games) >= least_wins


def test_the_expert_guesses_the_word_when_one_alone_fits() -> None:
    env = _game_with("zebra")
    _guess(env, "z")
    _guess(env, "b")
    assert env.expert() == GuessWord("zebra")


def test_the_expert_guesses_a_word_with_its_last_turn() -> None:
    assert isinstance(_game_with("zebra", max_turns=1).expert(), GuessWord)


def test_the_expert_does_not_look_at_the_word() -> None:
    env = _game_with("banana")
    _guess(env, "a")
    before = env.expert()
    for field in dataclasses.fields(env.state):
        if field.metadata.get("hidden"):
            setattr(env.state, field.name, None)
    assert env.expert() == before


def test_words_differ() -> None:
    env = Hangman(**_HARD)
    words = set[str]()
    for seed in range(1000):
        env.reset(seed=seed)
        words.add(env.state.word)
    assert len(words) > 750


@every_variant
def test_guessing_at_random_gains_little(keywords) -> None:
    env = Hangman(**keywords)
    assert sum(play(env, seed, sample)[-1].reward for seed in range(100)) < 12
