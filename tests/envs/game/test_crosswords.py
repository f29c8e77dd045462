"""Crosswords: where the words stand, what an answer pays, and who wins."""

import dataclasses
from collections import Counter

import pytest

from gemenv.core.env import Step
from gemenv.core.seeding import Stream, make_generator
from gemenv.envs.game.crossword_layout import Place, lay_out
from gemenv.envs.game.crosswords import Answer, Crosswords, Entry, State
from gemenv.envs.game.word_list import clued_words, clues
from gemenv.errors import ArgumentError
from gemenv.testing.play import ask_oracle, play, sample

_HARD = {"difficulty": "hard", "max_turns": 40}
_VARIANTS = {"easy": {}, "hard": _HARD, "random": {**_HARD, "is_random": True}}
every_variant = pytest.mark.parametrize("keywords", _VARIANTS.values(), ids=_VARIANTS)


def _small_game() -> Crosswords:
    """Return a game of `star` across, and `sun` and `rain` down from its first and last letter."""
    env = Crosswords()
    env.reset(seed=0)
    env.state = State(
        ("star", "sun", "rain"),
        (
            Entry(Place(1, 1, True), 4, "it shines at night"),
            Entry(Place(1, 1, False), 3, "it shines by day"),
            Entry(Place(1, 4, False), 4, "it falls"),
        ),
    )
    return env


def _answer(env: Crosswords, number: int, word: str) -> Step:
    return env.step(env.actions.format(Answer(number, word)))


def test_a_right_word_pays_its_share_and_shows_its_letters_in_the_words_it_crosses() -> None:
    step = _answer(_small_game(), 1, "Star")
    assert step.observation == "Correct: word 1 is star.\n1: star\n2: s _ _\n3: r _ _ _"
    assert step.reward == pytest.approx(1 / 6)


def test_a_word_pays_once() -> None:
    env = _small_game()
    _answer(env, 1, "star")
    step = _answer(env, 1, "star")
    assert step.observation.startswith("Word 1 is found already.")
    assert step.info["action_error"] == "invalid"
    assert step.reward == 0.0


def test_all_words_in_any_order_win_and_pay_1() -> None:
    env = _small_game()
    steps = [_answer(env, 3, "rain"), _answer(env, 1, "star"), _answer(env, 2, "sun")]
    assert [step.terminated for step in steps] == [False, False, True]
    assert sum(step.reward for step in steps) == pytest.approx(1.0)
    assert steps[-1].info["success"]


def test_a_wrong_word_costs_a_turn() -> None:
    step = _answer(_small_game(), 1, "moon")
    assert step.observation.startswith("That is not word 1.\n")
    assert step.info["action_error"] is None
    assert step.reward == 0.0


@pytest.mark.parametrize(
    ("number", "word", "answer"),
    [
        (1, "sun", "Word 1 has 4 letters."),
        (2, "s" * 100_000, "Word 2 has 3 letters."),
        (0, "star", "The words are numbered from 1 to 3."),
        (4, "star", "The words are numbered from 1 to 3."),
        (-1, "star", "The words are numbered from 1 to 3."),
        (10**4000, "star", "The words are numbered from 1 to 3."),
    ],
)
def test_what_cannot_be_right_is_invalid_and_changes_nothing(number, word, answer) -> None:
    env = _small_game()
    step = _answer(env, number, word)
    assert step.info["action_error"] == "invalid"
    assert step.observation.startswith(answer + "\n")
    assert env.state.found == {}


@pytest.mark.parametrize(
    "text", ["", r"\boxed{star}", r"\boxed{1}", r"\boxed{%s a}" % ("9" * 5000)]
)
def test_what_is_not_a_number_and_a_word_is_a_format_error(text: str) -> None:
    assert _small_game().step(text).info["action_error"] == "format"


def test_the_prompt_tells_where_each_word_starts_its_direction_length_and_clue() -> None:
    prompt = _small_game().rules()
    assert "find all 3 words in at most 30 answers" in prompt
    assert r"\boxed{2 word}" in prompt
    assert "1. across from row 1, column 1, 4 letters: it shines at night\n" in prompt
    assert "3. down from row 1, column 4, 4 letters: it falls" in prompt


def test_a_random_game_is_easy_or_hard_and_its_limit_fits() -> None:
    env = Crosswords(**_VARIANTS["random"])
    kinds = Counter[tuple[str, float]]()
    for seed in range(100):
        prompt, _ = env.reset(seed=seed)
        kinds[env.state.difficulty, env.turn_limit()] += 1
        assert f"in at most {env.turn_limit()} answers" in prompt
        assert set(env.state.words) <= set(clued_words(env.state.difficulty))
    assert set(kinds) == {("easy", 30), ("hard", 40)}


@pytest.mark.parametrize(
    "keywords", [{"num_words": 1}, {"num_words": 9}, {"difficulty": "odd"}, {"max_turns": 2}]
)
def test_crosswords_that_cannot_be_are_refused(keywords) -> None:
    with pytest.raises(ArgumentError, match="no such crossword"):
        Crosswords(**keywords)


@pytest.mark.parametrize(
    ("words", "num_words"),
    [
        (clued_words("easy"), 2),
        (clued_words("easy"), 3),
        (clued_words("hard"), 8),
        (("tea", "team", "teams", "arm", "ant"), 4),  # one could be laid over another
    ],
    ids=["two", "three", "eight", "nested"],
)
def test_words_in_a_layout_cross_and_touch_nowhere_else(words, num_words: int) -> None:
    for seed in range(100):
        laid = lay_out(make_generator(seed, Stream.CHECK), words, num_words)
        letters: dict[tuple[int, int], str] = {}
        for word, place in laid:
            for cell, letter in zip(place.cells(len(word)), word, strict=True):
                assert letters.setdefault(cell, letter) == letter
        assert min(row for row, _ in letters) == min(column for _, column in letters) == 1
        assert _words_read_in(letters) == sorted(word for word, _ in laid)
        for word, place in laid:
            others = {cell for w, p in laid if w != word for cell in p.cells(len(w))}
            assert others.intersection(place.cells(len(word)))


def _words_read_in(letters: dict[tuple[int, int], str]) -> list[str]:
    """Return every run of two letters or more, across and down."""
    words = list[str]()
    for (row, column), letter in letters.items():
        for d_row, d_column in ((0, 1), (1, 0)):
            if (row - d_row, column - d_column) not in letters:
                word, at = letter, (row + d_row, column + d_column)
                while at in letters:
                    word, at = word + letters[at], (at[0] + d_row, at[1] + d_column)
                words += [word] if len(word) > 1 else []
    return sorted(words)


@every_variant
def test_the_oracle_wins_in_as_many_answers_as_words(keywords) -> None:
    env = Crosswords(**keywords)
    for seed in range(100):
        steps = play(env, seed, ask_oracle)
        assert len(steps) == 3
        assert sum(step.reward for step in steps) == pytest.approx(1.0)


def test_the_oracle_goes_on_where_others_began() -> None:
    env = _small_game()
    _answer(env, 1, "moon")
    _answer(env, 2, "sun")
    assert env.oracle() == Answer(1, "star")
    _answer(env, 1, "star")
    assert env.oracle() == Answer(3, "rain")


@every_variant
def test_the_expert_wins_with_a_dictionary_and_without_the_answers(keywords) -> None:
    env = Crosswords(**keywords)
    for seed in range(30):
        env.reset(seed=seed)
        words = env.state.words
        blind = dataclasses.replace(env.state, words=None)
        for number, word in enumerate(words, start=1):
            env.state = blind
            assert env.expert() == Answer(number, word)
            blind.found[number] = word


def test_the_clue_of_every_word_is_its_own() -> None:
    env = Crosswords(**_HARD)
    env.reset(seed=0)
    for word, entry in zip(env.state.words, env.state.entries, strict=True):
        assert entry.clue == clues("hard")[word]
        assert entry.length == len(word)


def test_crosswords_differ() -> None:
    env = Crosswords()
    dealt = {str(env.reset(seed=seed)[0]) for seed in range(1000)}
    assert len(dealt) > 990


@every_variant
def test_answering_at_random_gains_little(keywords) -> None:
    env = Crosswords(**keywords)
    returns = [sum(step.reward for step in play(env, seed, sample)) for seed in range(100)]
    assert sum(returns) < 3
