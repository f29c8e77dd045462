"""The words: clean, complete, and with clues that do not betray them."""

import pytest

from gemenv.envs.game.word_list import clued_words, clues, common_words, valid_words, word_lengths
from gemenv.errors import ArgumentError


@pytest.mark.parametrize("length", range(3, 9))
def test_every_common_word_is_a_valid_guess(length: int) -> None:
    assert set(common_words(length)) <= valid_words(length)


@pytest.mark.parametrize("length", range(3, 9))
def test_words_are_small_letters_sorted_and_different(length: int) -> None:
    words = common_words(length)
    assert list(words) == sorted(set(words))
    assert all(word.isascii() and word.isalpha() and word.islower() for word in words)
    assert {len(word) for word in valid_words(length)} == {length}


def test_there_are_thousands() -> None:
    assert len(common_words(3)) > 256
    assert len(common_words(5)) > 2000
    assert len(common_words(7)) > 3000
    assert len(clues("easy")) + len(clues("hard")) > 5000


def test_real_words_are_valid_and_others_are_not() -> None:
    assert {"crane", "xylem", "colour", "running"} <= valid_words(5) | valid_words(6) | valid_words(
        7
    )
    assert not {"zzzzz", "abcde", "qwert"} & valid_words(5)


@pytest.mark.parametrize("difficulty", ["easy", "hard"])
def test_no_clue_holds_its_word_or_a_word_that_begins_alike(difficulty) -> None:
    for word, clue in clues(difficulty).items():
        told = clue.lower().split()
        assert not any(word in part for part in told), (word, clue)
        assert not any(part in word for part in told if len(part) > 2), (word, clue)
        assert not any(part[:4] == word[:4] for part in told if len(part) > 3), (word, clue)


@pytest.mark.parametrize("difficulty", ["easy", "hard"])
def test_a_clue_and_a_length_name_one_word(difficulty) -> None:
    table = clues(difficulty)
    assert len({(len(word), clue) for word, clue in table.items()}) == len(table)
    assert clued_words(difficulty) == tuple(table)


def test_clues_are_short() -> None:
    assert max(len(clue) for clue in clues("easy").values()) <= 64


def test_a_length_without_words_is_refused() -> None:
    with pytest.raises(ArgumentError, match="no words of this length"):
        word_lengths(2, is_random=True)


def test_tables_are_read_once() -> None:
    assert common_words(5) is common_words(5)
    assert valid_words(5) is valid_words(5)
