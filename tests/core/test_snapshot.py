"""Snapshots hold their moment, and belong to one class."""

import dataclasses
import pickle

import pytest

from gemenv.core.snapshot import Snapshot, state_of, take
from gemenv.errors import SnapshotError


class Owner:
    pass


class Other:
    pass


def test_later_changes_do_not_reach_a_snapshot() -> None:
    state = {"board": [[1, 2], [3, 4]]}
    snapshot = take(Owner(), state)
    state["board"][0][0] = 9
    assert state_of(Owner(), snapshot) == {"board": [[1, 2], [3, 4]]}


def test_each_restored_state_is_a_copy_of_its_own() -> None:
    snapshot = take(Owner(), [1])
    first, second = state_of(Owner(), snapshot), state_of(Owner(), snapshot)
    first.append(2)
    assert second == [1]


def test_another_class_is_refused_by_name() -> None:
    with pytest.raises(SnapshotError, match="belongs to another environment"):
        state_of(Other(), take(Owner(), 1))


def test_a_snapshot_is_a_frozen_value_that_pickles() -> None:
    snapshot = take(Owner(), {"a": 1})
    assert pickle.loads(pickle.dumps(snapshot)) == snapshot == take(Owner(), {"a": 1})
    with pytest.raises(dataclasses.FrozenInstanceError):
        snapshot.owner = "Other"
    assert isinstance(snapshot, Snapshot)
