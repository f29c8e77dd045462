"""Solve a small crossword from its clues."""

from dataclasses import dataclass, field
from typing import NamedTuple, Unpack

from numpy.random import Generator

from gemenv.core.action import ActionForm
from gemenv.core.notation import boxed
from gemenv.envs.game.crossword_layout import Cell, Place, lay_out
from gemenv.envs.game.turn_game import Outcome, Rules, TurnGame, hidden
from gemenv.envs.game.word_list import Difficulty, Word, clued_words, clues
from gemenv.errors import ArgumentError


@dataclass(frozen=True)
class Answer:
    """Fill in the word of this number."""

    number: int
    word: Word


class Entry(NamedTuple):
    """What the player is told of a word: its place, its length and its clue."""

    place: Place
    length: int
    clue: str


@dataclass(slots=True)
class State:
    """The words, what is told of them, and those found, by number from 1 on."""

    words: tuple[str, ...] = hidden()
    entries: tuple[Entry, ...] = ()
    difficulty: Difficulty = "easy"
    found: dict[int, str] = field(default_factory=dict[int, str])


class Crosswords(TurnGame[State]):
    """Find the words of a crossword; the clues are definitions from WordNet.

    Each word pays an equal share when it is found: neither random nor constant answers find any.

    Args:
        num_words: words in the grid; 2 to 8.
        difficulty: "easy" for the commonest words, of 3 to 6 letters; "hard" for the less common
            ones, of 5 to 8. See `clues`.
        max_turns: how many answers there are; at least `num_words`.
        is_random: draw the difficulty of each episode, "easy" or the one given; where "hard" was
            given, an easy episode has three quarters of the turns (30 of 40).
        **rules: see `Rules`.

    Source: the newspaper game; variants of GEM (arXiv:2510.01051).
    """

    def __init__(
        self,
        *,
        num_words: int = 3,
        difficulty: Difficulty = "easy",
        max_turns: int = 30,
        is_random: bool = False,
        **rules: Unpack[Rules],
    ) -> None:
        _check(num_words, difficulty, max_turns)
        numbers = range(1, num_words + 1)
        form = ActionForm(Answer, boxed(), number=numbers, word=clued_words(difficulty))
        super().__init__(form, max_turns=max_turns, **rules)
        self.num_words, self.is_random = num_words, is_random
        self.difficulty: Difficulty = difficulty

    def deal(self, rng: Generator) -> State:
        """Lay out a crossword."""
        is_easy = self.is_random and rng.integers(2) == 0
        difficulty: Difficulty = "easy" if is_easy else self.difficulty
        laid = lay_out(rng, clued_words(difficulty), self.num_words)
        clue = clues(difficulty)
        entries = tuple(Entry(place, len(word), clue[word]) for word, place in laid)
        return State(tuple(word for word, _ in laid), entries, difficulty)

    def turn_limit(self) -> float:
        """Return the limit of this episode: an easy one among hard ones has fewer turns."""
        limit = super().turn_limit()
        is_easier = self.state.difficulty != self.difficulty
        return max(self.num_words, limit * 3 // 4) if is_easier else limit

    def rules(self) -> str:
        """Tell where each word stands, its clue, the limit and the notation."""
        clues_told = "\n".join(
            f"{number}. {'across' if place.is_across else 'down'} from row {place.row}, column "
            f"{place.column}, {length} letters: {clue}"
            for number, (place, length, clue) in enumerate(self.state.entries, start=1)
        )
        return (
            f"Solve the crossword: find all {self.num_words} words in at most {self.turn_limit()} "
            "answers. Rows count from 1 at the top, columns from 1 at the left; words that cross "
            "share a letter. Answer with a number and its word, one at a time, for example "
            f"{self.actions.format(Answer(2, 'word'))}\n{clues_told}"
        )

    def view(self) -> str:
        """Show what is known of each word."""
        return "\n".join(
            f"{number}: {self.state.found.get(number) or ' '.join(letters)}"
            for number, letters in enumerate(self._known(), start=1)
        )

    def play(self, move: Answer) -> Outcome:
        """Fill in a word if it is right."""
        state, number, word = self.state, move.number, move.word.lower()
        if not 1 <= number <= self.num_words:
            return Outcome.invalid(f"The words are numbered from 1 to {self.num_words}.")
        if number in state.found:
            return Outcome.invalid(f"Word {number} is found already.")
        length = state.entries[number - 1].length
        if len(word) != length:
            return Outcome.invalid(f"Word {number} has {length} letters.")
        if word != state.words[number - 1]:
            return Outcome.go(f"That is not word {number}.")
        state.found[number] = word
        if len(state.found) == self.num_words:
            return Outcome.won("Correct: all words are found.")
        return Outcome.go(f"Correct: word {number} is {word}.")

    def progress(self) -> float:
        """Return the share of words found."""
        return len(self.state.found) / self.num_words

    def oracle(self) -> Answer:
        """Answer the first word that is not found."""
        number = self._first_open()
        return Answer(number, self.state.words[number - 1])

    def expert(self) -> Answer:
        """Look the first open clue up in the dictionary; its length tells which word it is."""
        number = self._first_open()
        _, length, clue = self.state.entries[number - 1]
        words = clues(self.state.difficulty).items()
        return Answer(number, next(w for w, told in words if told == clue and len(w) == length))

    def _first_open(self) -> int:
        return next(n for n in range(1, self.num_words + 1) if n not in self.state.found)

    def _known(self) -> list[list[str]]:
        """Return the letters of each word that are known, `_` for the rest."""
        state = self.state
        letters: dict[Cell, str] = {}
        for number, word in state.found.items():
            place = state.entries[number - 1].place
            letters.update(zip(place.cells(len(word)), word, strict=True))
        return [
            [letters.get(cell, "_") for cell in place.cells(length)]
            for place, length, _ in state.entries
        ]


def _check(num_words: int, difficulty: str, max_turns: int) -> None:
    if not 2 <= num_words <= 8 or difficulty not in ("easy", "hard") or max_turns < num_words:
        raise ArgumentError(
            problem="There is no such crossword.",
            expected='num_words from 2 to 8, difficulty "easy" or "hard", max_turns >= num_words',
            got={"num_words": num_words, "difficulty": difficulty, "max_turns": max_turns},
            fix='choose e.g. num_words=3, difficulty="easy", max_turns=30',
        )
