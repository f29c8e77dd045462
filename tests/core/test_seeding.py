"""Seeds, streams and indices: independent of each other, and equal only to themselves."""

import random

import numpy as np
import pytest

from gemenv.core.seeding import Stream, checked_seed, fresh_seed, make_generator
from gemenv.errors import ArgumentError


def _draws(seed: int, stream: Stream = Stream.EPISODE, index: int = 0) -> list[int]:
    return make_generator(seed, stream, index).integers(2**63, size=64).tolist()


def test_the_same_place_gives_the_same_numbers() -> None:
    assert _draws(7, Stream.POLICY, 3) == _draws(7, Stream.POLICY, 3)


def test_every_other_place_gives_other_numbers() -> None:
    places = [(s, stream, i) for s in range(10) for stream in Stream for i in range(10)]
    drawn = [number for place in places for number in _draws(*place)]
    assert len(set(drawn)) == len(drawn) == 600 * 64


def test_neighbouring_seeds_share_nothing_at_any_lag() -> None:
    a, b = (np.array(_draws(seed)) / 2**63 - 0.5 for seed in (41, 42))
    at_lag = [np.corrcoef(a[: 64 - lag], b[lag:])[0, 1] for lag in range(32)]
    assert np.abs(at_lag).max() < 0.6  # 64 numbers: chance alone reaches 0.4 to 0.5


def test_streams_have_distinct_numbers_that_never_change() -> None:
    assert {stream.name: int(stream) for stream in Stream} == {
        "EPISODE": 0, "POLICY": 1, "SAMPLING": 2, "TASKS": 3, "TRAINING": 4, "CHECK": 5
    }  # fmt: skip
    raw = make_generator(0, Stream.EPISODE).bit_generator.random_raw(2)
    assert raw.tolist() == [10424841047235941500, 17255695675875941810]


def test_fresh_seeds_differ_and_fit_into_json_and_c() -> None:
    seeds = {fresh_seed() for _ in range(100)}
    assert len(seeds) == 100
    assert all(0 <= seed < 2**63 for seed in seeds)


@pytest.mark.parametrize("seed", [0, 7, 2**40, 2**200, np.int32(5), np.uint64(2**63)])
def test_any_whole_number_from_zero_is_a_seed(seed) -> None:
    assert checked_seed(seed) == int(seed)
    assert type(checked_seed(seed)) is int


@pytest.mark.parametrize("seed", [-1, np.int64(-3), "3", 1.0, None, True, [1]])
def test_anything_else_is_refused(seed) -> None:
    with pytest.raises(ArgumentError, match="whole number of 0 or more"):
        checked_seed(seed)


def test_no_global_random_state_is_touched() -> None:
    before = random.getstate(), str(np.random.get_state())
    fresh_seed()
    _draws(1)
    assert (random.getstate(), str(np.random.get_state())) == before
