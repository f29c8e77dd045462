"""Build the word tables of `gemenv/envs/game/words/` from SCOWL and WordNet.

Both come as Debian packages; the committed tables were built from scowl 2020.12.07-2 and
wordnet-base 1:3.0-37. The same packages give the same bytes.

    apt-get install scowl wordnet-base
    python scripts/build_words.py /usr/share/dict/scowl /usr/share/wordnet gemenv/envs/game/words
"""

import argparse
import gzip
import itertools
import re
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

COMMON_LEVEL = 35  # SCOWL's levels: 35 is a small dictionary, 70 a large one
VALID_LEVEL = 70
EASY_CLUE_LEVEL = 20
EASY_CLUE_LETTERS = range(3, 7)
HARD_CLUE_LETTERS = range(5, 9)
PARTS_OF_SPEECH = {"noun": "1", "verb": "2", "adj": "35", "adv": "4"}  # file: types in sense keys
SENSES_TRIED = 2  # rarer senses make unfair clues
CLUE_CHARS = range(12, 65)

# Synsets of WordNet 3.0 whose members by usage are slurs or obscenities.
OFFENSIVE_USAGES = {"06717170", "06718862", "07124340"}  # disparagement, ethnic slur, obscenity
OFFENSIVE_GLOSS = re.compile(
    r"\b(offensive (?:term|name|word)|obscene|vulgar|derogatory|disparag\w+|slurs?|insulting"
    r"|sexual\w*|sex|coitus|copulat\w*|intercourse|prostitut\w*|genitals?|penis|vagina\w*|rape\w*"
    r"|masturbat\w*|brothel|semen|urine|urinat\w*|feces|excrement|fecal|defecat\w*|buttocks|anus"
    r"|anal|testis|breasts?|nipple|erotic\w*|pornograph\w*|nazi|suicide|contempt\w*)\b",
    re.IGNORECASE,
)

# What WordNet leaves unmarked, read off the built tables.
OFFENSIVE_WORD = re.compile(
    r"(bull)?shit.*|anus(es)?|bimbos?|bitch.*|boners?|boob(ed|ies|ing|s|y)?|buttocks?|chink(ed|s)?"
    r"|cockeyed|coons?|cripple\w*|cunt.*|damn.*|dykes?|fag(s|ged|ging|got.*|ot.*)?|fuck.*|goddamn"
    r"|golliwog|gooks?|gyp(s|ped|per|pers|ping)?|homos?|hussy|jackass|negro.*|nigg(ard|ards|az)"
    r"|orgy|pimp(s|ed|ing)?|pissoirs?|prick(s)?|raping|retard.*|sexting|slut.*|spastics?|sperms?"
    r"|spics?|squaws?|suicid.*|tits|trann.*|unsexual|wank.*|whore.*"
)

SMALL_WORD = re.compile(
    "an?|and|any|are|as|at|be|being|by|for|from|has|have|in|into|is|its?|not|off?|on|one|or|other"
    "|out|over|so|some|someone|something|such|than|that|the|theirs?|them|they|this|to|up|used"
    "|using|very|was|when|where|which|who|whom|whose|with|without"
)

Synset = tuple[tuple[str, ...], list[tuple[str, str, str]], str]
"""Lemmas; pointers as (symbol, offset, part of speech); gloss."""


class Sense(NamedTuple):
    """One meaning of one word.

    Attributes:
        frequency: how often it was met in WordNet's tagged texts.
        lemmas: the words that share it.
        gloss: definition and examples.
        usages: offsets of the synsets that tell how it is used.
        kin: words derived from it or it from them.
    """

    frequency: int
    lemmas: tuple[str, ...]
    gloss: str
    usages: frozenset[str]
    kin: frozenset[str]


def main() -> None:
    """Read both sources and write the three tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    for name in ("scowl", "wordnet", "out"):
        parser.add_argument(name, type=Path)
    paths = parser.parse_args()
    american = scowl_levels(paths.scowl, {"english", "american"})
    international = scowl_levels(paths.scowl, {"english", "american", "british"})
    senses = wordnet_senses(paths.wordnet)
    banned = {word for word in senses if any(map(is_offensive, senses[word]))}
    slurs = {word for word in banned if all(map(is_offensive, senses[word]))}
    valid = [
        word
        for word in sorted(international)
        if not (slurs.intersection(possible_stems(word)) or OFFENSIVE_WORD.fullmatch(word))
    ]
    common = {
        word: american[word]
        for word in valid
        if word in senses and word not in banned and american.get(word, VALID_LEVEL) <= COMMON_LEVEL
    }
    write_lines(paths.out / "common.txt", common)
    write_lines(paths.out / "clues.tsv", clue_table(common, senses))
    write_lines(paths.out / "valid.txt.gz", valid)


def write_lines(path: Path, lines: Iterable[str]) -> None:
    """Write one line for each; a path that ends in `.gz` is compressed, without a time stamp."""
    content = "".join(f"{line}\n" for line in lines).encode()
    path.write_bytes(gzip.compress(content, mtime=0) if path.suffix == ".gz" else content)


def scowl_levels(folder: Path, spellings: Collection[str]) -> dict[str, int]:
    """Return the least level at which each plain word of 3 to 8 letters appears."""
    levels: dict[str, int] = {}
    for path in sorted(folder.glob("*-words.*")):
        spelling, level = path.name.partition("-")[0], int(path.suffix[1:])
        if spelling in spellings and level <= VALID_LEVEL:
            for word in path.read_text(encoding="latin-1").split():
                if re.fullmatch("[a-z]{3,8}", word):
                    levels[word] = min(level, levels.get(word, level))
    return levels


def wordnet_senses(folder: Path) -> dict[str, list[Sense]]:
    """Return the meanings of every word, the most frequent first."""
    synsets = {part: dict(read_synsets(folder / f"data.{part}")) for part in PARTS_OF_SPEECH}
    parts = dict(zip("nvasr", ("noun", "verb", "adj", "adj", "adv"), strict=True))
    counts = sense_counts(folder / "cntlist.rev")
    senses: dict[str, list[Sense]] = defaultdict(list)
    for part, kinds in PARTS_OF_SPEECH.items():
        for word, number, offset in numbered_senses(folder / f"index.{part}"):
            lemmas, pointers, gloss = synsets[part][offset]
            if word in lemmas:  # not so for names, which the index writes in small letters
                count = max(counts.get((word, kind, number), 0) for kind in kinds)
                usages = frozenset(to for symbol, to, _ in pointers if symbol == ";u")
                kin = (synsets[parts[at]][to][0] for symbol, to, at in pointers if symbol == "+")
                senses[word].append(
                    Sense(count, lemmas, gloss, usages, frozenset(itertools.chain(*kin)))
                )
    for meanings in senses.values():
        meanings.sort(key=lambda sense: -sense.frequency)
    return senses


def read_synsets(path: Path) -> Iterator[tuple[str, Synset]]:
    """Yield the offset and content of each line of a `data.*` file."""
    for line in path.read_text(encoding="latin-1").splitlines():
        if line.startswith("  "):  # the licence
            continue
        head, _, gloss = line.partition(" | ")
        fields = head.split()
        after = 4 + 2 * int(fields[3], 16)
        lemmas = tuple(lemma.partition("(")[0] for lemma in fields[4:after:2])
        pointers = [
            (fields[i], fields[i + 1], fields[i + 2]) for i in pointer_places(fields, after)
        ]
        yield fields[0], (lemmas, pointers, gloss.strip())


def pointer_places(fields: list[str], at: int) -> range:
    """Return where each pointer (symbol, offset, part of speech, words) of a line starts."""
    return range(at + 1, at + 1 + 4 * int(fields[at]), 4)


def numbered_senses(path: Path) -> Iterator[tuple[str, int, str]]:
    """Yield word, sense number and synset offset from an `index.*` file."""
    for line in path.read_text(encoding="latin-1").splitlines():
        if not line.startswith("  "):
            fields = line.split()
            for number, offset in enumerate(fields[-int(fields[2]) :], start=1):
                yield fields[0], number, offset


def sense_counts(path: Path) -> dict[tuple[str, str, int], int]:
    """Return how often (word, type, sense number) was met in WordNet's tagged texts."""
    counts: dict[tuple[str, str, int], int] = {}
    for line in path.read_text(encoding="latin-1").splitlines():
        key, number, count = line.split()
        word, _, kind = key.partition("%")
        counts[word, kind[0], int(number)] = int(count)
    return counts


def is_offensive(sense: Sense) -> bool:
    """Tell whether a meaning is a slur, an obscenity, or nothing for a children's game."""
    return bool(sense.usages & OFFENSIVE_USAGES or OFFENSIVE_GLOSS.search(sense.gloss))


def clue_table(common: dict[str, int], senses: dict[str, list[Sense]]) -> Iterator[str]:
    """Yield `word, difficulty, clue` for each common word that has a fair clue of its own."""
    rows: list[tuple[str, str, str]] = []
    for word, level in common.items():
        is_easy = level <= EASY_CLUE_LEVEL
        if len(word) in (EASY_CLUE_LETTERS if is_easy else HARD_CLUE_LETTERS):
            clues = (fair_clue(word, sense) for sense in senses[word][:SENSES_TRIED])
            clue = next(filter(None, clues), None)
            if clue:
                rows.append((word, "easy" if is_easy else "hard", clue))
    uses = Counter((len(word), clue) for word, _, clue in rows)
    return ("\t".join(row) for row in rows if uses[len(row[0]), row[2]] == 1)


def fair_clue(word: str, sense: Sense) -> str | None:
    """Return the short definition of a meaning, unless it betrays the word or fits another."""
    definition = re.sub(r"\([^()]*\)", "", sense.gloss).partition(";")[0].strip(" :,")
    clue = re.sub(r" +", " ", definition).replace(" ,", ",")
    if len(clue) not in CLUE_CHARS or not re.fullmatch(r"[A-Za-z][A-Za-z ,'-]+", clue):
        return None
    if any(len(other) == len(word) and other != word for other in sense.lemmas):
        return None
    parts = set(re.findall("[a-z]+", clue.lower()))
    told = {part for part in parts if not SMALL_WORD.fullmatch(part)}
    if len(told) < 2 or told & {kin.lower() for kin in sense.kin}:
        return None
    return None if any(len(part) > 2 and are_related(word, part) for part in parts) else clue


def are_related(word: str, other: str) -> bool:
    """Tell whether two words begin alike, or one holds the other's stem, by their letters alone.

    It errs towards yes: that costs a clue, no would betray an answer.
    """
    stems = (stem for stem in possible_stems(other) if len(stem) >= 3)
    if any(stem in word or word in stem for stem in stems):
        return True
    shared = itertools.takewhile(lambda pair: pair[0] == pair[1], zip(word, other, strict=False))
    return sum(1 for _ in shared) >= max(3, min(4, len(word) - 2, len(other) - 2))


def possible_stems(word: str) -> set[str]:
    """Return the word, and what it may be the plural or another form of."""
    endings = ("s", "es", "ed", "er", "ers", "ing", "ings", "y")
    return {word, *(word.removesuffix(ending) for ending in endings)}


if __name__ == "__main__":
    main()
