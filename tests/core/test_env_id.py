"""Ids: `family:Name-vN[-variant]`, there and back."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gemenv.core.env_id import EnvId
from gemenv.errors import RegistrationError


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("game:Sudoku-v0", ("game", "Sudoku", 0, "")),
        ("game:Sudoku-v12-easy", ("game", "Sudoku", 12, "easy")),
        ("game:Game2048-v0-extreme-hard", ("game", "Game2048", 0, "extreme-hard")),
        ("qa:HotpotQA-v0", ("qa", "HotpotQA", 0, "")),
        ("eval:MATH500-v0", ("eval", "MATH500", 0, "")),
        ("rg:leg_counting-v1", ("rg", "leg_counting", 1, "")),
        ("eval:AIME-24-v0", ("eval", "AIME-24", 0, "")),
    ],
)
def test_ids_are_read_and_written(text, parts) -> None:
    assert EnvId.parse(text) == parts
    assert str(EnvId.parse(text)) == text


@pytest.mark.parametrize(
    "text",
    [
        *("", "Sudoku-v0", "game:Sudoku", "game:-v0", "Game:Sudoku-v0", "game/Sudoku-v0"),
        *("game:Sudoku-v", "game:Su doku-v0", "game:Sudoku-v0-", "game:Sudoku-v0 ", "game:S-v-1"),
    ],
)
def test_what_is_not_full_is_refused(text) -> None:
    with pytest.raises(RegistrationError, match="not a full environment id"):
        EnvId.parse(text)


_IDS = st.builds(
    EnvId,
    st.from_regex("[a-z][a-z0-9_]{0,8}", fullmatch=True),
    st.from_regex("[A-Z][A-Za-z0-9_]{0,9}", fullmatch=True),
    st.integers(0, 999),
    st.from_regex("([a-z]{1,5}(-[a-z]{1,5})?)?", fullmatch=True),
)


@given(_IDS)
def test_every_id_reads_back(env_id) -> None:
    assert EnvId.parse(str(env_id)) == env_id
    assert env_id.gymnasium_id == str(env_id).replace(":", "/")
