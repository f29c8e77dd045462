import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from gemenv.train.microbatch import microbatches

lengths = st.lists(st.integers(1, 50), min_size=1, max_size=30)


@given(lengths, st.integers(1, 200))
def test_every_row_comes_once_and_no_part_exceeds_the_budget(length_B: list[int], budget: int):
    parts = microbatches(np.array(length_B), budget)
    assert sorted(row for part in parts for row in part.tolist()) == list(range(len(length_B)))
    for part in parts:
        width = max(length_B[row] for row in part)
        assert len(part) == 1 or len(part) * width <= budget


@given(lengths)
def test_rows_of_like_length_stand_together(length_B: list[int]):
    order = [length_B[row] for part in microbatches(np.array(length_B), 60) for row in part]
    assert order == sorted(order, reverse=True)


def test_nothing_has_no_parts():
    assert microbatches(np.array([], int), 10) == []
