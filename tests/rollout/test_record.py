from pathlib import Path

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gemenv.errors import CorruptFileError
from gemenv.rollout.record import append, encode, read
from gemenv.rollout.trajectory import FORMAT_VERSION, Segment, Span, Trajectory, Turn

_TEXT = st.text(st.characters())  # lone surrogates included


def trajectory(text: str = "hello", seed: int = 0) -> Trajectory:
    return Trajectory(
        env_id="game:GuessTheNumber-v0-easy",
        env_kwargs={"high": 20},
        seed=seed,
        turns=[
            Turn(
                messages=[{"role": "user", "content": text}],
                action=text,
                reward=0.1,
                info={"turn": 1, "note": text},
                version=3,
            )
        ],
        segments=[Segment(token_ids=[5, 6], logprobs=[0.0, -0.1], spans=[Span(0, 1, 2)])],
        outcome="completed",
        final_messages=[{"role": "user", "content": text}],
    )


@given(st.lists(_TEXT, min_size=1, max_size=4))
def test_what_is_written_is_read_back(tmp_path_factory, texts: list[str]):
    path = tmp_path_factory.mktemp("record") / "episodes.jsonl"
    written = [trajectory(text, seed) for seed, text in enumerate(texts)]
    append(path, written)
    assert list(read(path)) == written


def test_a_lone_surrogate_survives(tmp_path: Path):
    path = tmp_path / "episodes.jsonl"
    append(path, [trajectory("half a pair: \ud83d, and a whole one: \U0001f600")])
    assert next(read(path)).turns[0].action == "half a pair: \ud83d, and a whole one: \U0001f600"


@given(_TEXT)
def test_an_episode_is_one_line(text: str):
    assert b"\n" not in encode(trajectory(text))


def test_appending_keeps_what_is_there(tmp_path: Path):
    path = tmp_path / "episodes.jsonl"
    append(path, [trajectory(seed=1)])
    append(path, [trajectory(seed=2), trajectory(seed=3)])
    assert [episode.seed for episode in read(path)] == [1, 2, 3]


@pytest.mark.parametrize(
    "line",
    [
        b"",
        b"{",
        b"null",
        b"\xff\xfe",
        b'{"record": "other", "env_id": "a:B-v0"}',
        b'{"record": "trajectory"}',
        b'{"record": "trajectory", "env_id": 7}',
        b"[" * 100_000,
        encode(trajectory())[:-20],
    ],
    ids=lambda line: repr(line[:20]),
)
def test_a_corrupt_line_is_named_by_its_number(tmp_path: Path, line: bytes):
    path = tmp_path / "episodes.jsonl"
    path.write_bytes(encode(trajectory()) + b"\n" + line + b"\n")
    episodes = read(path)
    assert next(episodes) == trajectory()
    with pytest.raises(CorruptFileError, match=r"episodes\.jsonl, line 2 is not a trajectory"):
        next(episodes)


def test_a_newer_format_is_refused(tmp_path: Path):
    path = tmp_path / "episodes.jsonl"
    newer = msgspec.structs.replace(trajectory(), format_version=FORMAT_VERSION + 1)
    append(path, [newer])
    with pytest.raises(CorruptFileError, match="newer"):
        next(read(path))


def test_fields_of_the_future_are_ignored(tmp_path: Path):
    path = tmp_path / "episodes.jsonl"
    path.write_bytes(encode(trajectory())[:-1] + b', "mood": "good"}\n')
    assert next(read(path)) == trajectory()
