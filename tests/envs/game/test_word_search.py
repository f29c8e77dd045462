"""WordSearch: where the words hide, what finding one pays, and who wins."""

import random

import pytest

from gemenv.core.env import Step
from gemenv.core.seeding import Stream, make_generator
from gemenv.envs.game.letter_grid import STEPS, hide, read, starts
from gemenv.envs.game.word_search import Find, State, WordSearch
from gemenv.errors import ArgumentError
from gemenv.testing.play import ask_oracle, play, sample

_HARD = {"size": 9, "all_directions": True}
_VARIANTS = {"easy": {}, "hard": _HARD, "random": {**_HARD, "is_random": True}}
every_variant = pytest.mark.parametrize("keywords", _VARIANTS.values(), ids=_VARIANTS)

_GRID = (
    "catxxxx"  #
    "axxxxxx"
    "txxxxxx"
    "xxxdogx"
    "xxxxxxx"
    "xxxxxxx"
    "xxxtibx"
)


def _small_game(**keywords) -> WordSearch:
    """Return a game of `cat` (twice), `dog`, and `bit` backwards."""
    env = WordSearch(num_words=3, **keywords)
    env.reset(seed=0)
    env.state = State(_GRID, 7, env.directions, ("cat", "dog", "bit"))
    return env


def _find(env: WordSearch, word: str, row: int, column: int, direction) -> Step:
    return env.step(env.actions.format(Find(word, row, column, direction)))


def test_finding_a_word_pays_its_share_and_checks_it_off() -> None:
    step = _find(_small_game(), "Dog", 4, 4, "right")
    assert step.observation == "Correct: dog is found.\nWords to find: cat, bit"
    assert step.reward == pytest.approx(1 / 6)


@pytest.mark.parametrize("direction", ["right", "down"])
def test_a_word_may_be_found_wherever_it_reads(direction) -> None:
    assert _find(_small_game(), "cat", 1, 1, direction).reward > 0


def test_a_word_found_twice_pays_once() -> None:
    env = _small_game()
    _find(env, "cat", 1, 1, "right")
    for direction in ("right", "down"):
        step = _find(env, "cat", 1, 1, direction)
        assert step.info["action_error"] == "invalid"
        assert step.reward == 0.0


def test_words_may_read_backwards_where_all_directions_are_used() -> None:
    assert _find(_small_game(all_directions=True), "bit", 7, 6, "left").reward > 0
    step = _find(_small_game(), "bit", 7, 6, "left")
    assert step.info["action_error"] == "invalid"
    assert step.observation.startswith("Words here read only right or down.")


def test_a_word_that_does_not_read_there_costs_a_turn() -> None:
    step = _find(_small_game(), "dog", 4, 5, "right")
    assert step.observation.startswith("dog is not there.\n")
    assert step.info["action_error"] is None


@pytest.mark.parametrize(
    ("row", "column", "direction"),
    [
        (4, 6, "right"),
        (6, 1, "down"),
        (0, 1, "right"),
        (-3, 1, "down"),
        (10**4000, 1, "right"),
        (2, 2, "up-left"),
        (1, 2, "left"),
    ],
)
def test_a_word_that_leaves_the_grid_is_invalid_and_changes_nothing(row, column, direction) -> None:
    env = _small_game(all_directions=True)
    step = _find(env, "dog", row, column, direction)
    assert step.info["action_error"] == "invalid"
    assert step.observation.startswith("From there the word would leave the grid.\n")
    assert env.state.left == ("cat", "dog", "bit")


def test_another_word_is_invalid_and_is_not_echoed() -> None:
    step = _find(_small_game(), "x" * 100_000, 1, 1, "right")
    assert step.info["action_error"] == "invalid"
    assert len(step.observation) < 100


@pytest.mark.parametrize(
    "text", ["", r"\boxed{dog}", r"\boxed{dog 4 4 north}", r"\boxed{dog d 4 up}"]
)
def test_what_is_not_a_word_a_place_and_a_direction_is_a_format_error(text: str) -> None:
    assert _small_game().step(text).info["action_error"] == "format"


def test_the_prompt_tells_words_grid_directions_limit_and_notation() -> None:
    env = _small_game()
    prompt = f"{env.rules()}\n{env.view()}"
    assert "3 words in the grid in at most 20 answers" in prompt
    assert "lines: right, down." in prompt
    assert r"\boxed{word 2 5 down}" in prompt
    assert "\n  1 2 3 4 5 6 7\n1 c a t x x x x\n" in prompt
    assert prompt.endswith("\n7 x x x t i b x\nWords to find: cat, dog, bit")


@pytest.mark.parametrize(("variant", "lengths"), [("easy", {3, 4, 5}), ("hard", {5, 6, 7})])
def test_words_have_the_lengths_of_the_variant(variant: str, lengths: set[int]) -> None:
    env = WordSearch(**_VARIANTS[variant])
    dealt = set[int]()
    for seed in range(100):
        env.reset(seed=seed)
        assert len(set(env.state.left)) == 5
        dealt |= set(map(len, env.state.left))
    assert dealt == lengths


def test_a_random_game_lies_between_easy_and_hard() -> None:
    env = WordSearch(**_VARIANTS["random"])
    kinds = set[tuple[int, int]]()
    for seed in range(100):
        env.reset(seed=seed)
        kinds.add((env.state.size, len(env.state.directions)))
    assert kinds == {(size, num) for size in (7, 8, 9) for num in (2, 8)}


@pytest.mark.parametrize(
    "keywords", [{"size": 6}, {"size": 10}, {"num_words": 0}, {"num_words": 7}, {"max_turns": 4}]
)
def test_grids_that_cannot_be_are_refused(keywords: dict[str, int]) -> None:
    with pytest.raises(ArgumentError, match="no such grid"):
        WordSearch(**keywords)


@pytest.mark.parametrize("direction", STEPS)
def test_starts_are_all_cells_from_which_a_word_stays_inside(direction) -> None:
    d_row, d_column = STEPS[direction]
    rows, columns = starts(4, 7, direction)
    inside = range(1, 8)
    assert list(rows) == [row for row in inside if row + 3 * d_row in inside]
    assert list(columns) == [column for column in inside if column + 3 * d_column in inside]


@pytest.mark.parametrize("direction", STEPS)
def test_a_hidden_word_reads_from_some_start(direction) -> None:
    letters = hide(make_generator(0, Stream.CHECK), ["queue"], 7, [direction])
    rows, columns = starts(5, 7, direction)
    assert len(letters) == 49
    assert any(
        read(letters, 7, 5, row, column, direction) == "queue" for row in rows for column in columns
    )


def test_crowded_grids_are_dealt_too() -> None:
    env = WordSearch(size=7, num_words=6)
    for seed in range(200):
        assert sum(step.reward for step in play(env, seed, ask_oracle)) == pytest.approx(1.0)


@every_variant
def test_the_oracle_wins_in_as_many_answers_as_words(keywords) -> None:
    env = WordSearch(**keywords)
    for seed in range(100):
        steps = play(env, seed, ask_oracle)
        assert len(steps) == 5
        assert sum(step.reward for step in steps) == pytest.approx(1.0)


def test_the_expert_plays_as_the_oracle_for_nothing_is_hidden() -> None:
    env = WordSearch()
    env.reset(seed=0)
    assert env.expert_action() == env.oracle_action()


def test_grids_differ() -> None:
    env = WordSearch()
    assert len({env.reset(seed=seed)[0] for seed in range(1000)}) == 1000


@every_variant
def test_pointing_at_random_gains_little(keywords) -> None:
    env = WordSearch(**keywords)
    rng = random.Random(0)

    def point(env: WordSearch, _) -> str:
        return env.actions.format(rng.choice(env.legal()))

    for player in (sample, point):
        returns = [sum(step.reward for step in play(env, seed, player)) for seed in range(30)]
        assert sum(returns) / 30 < 0.1
