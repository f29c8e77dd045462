"""A snapshot: everything about an episode at one moment, as bytes that nobody can change."""

import pickle
from dataclasses import dataclass
from typing import Any

from gemenv.errors import SnapshotError


@dataclass(frozen=True, slots=True)
class Snapshot:
    """The state of an episode, generator included; equal snapshots continue equally.

    Args:
        owner: the class that took it; only the same class can restore it.
        state: the pickled state. Restore snapshots from sources you trust only.
    """

    owner: str
    state: bytes


def take(owner: object, state: Any) -> Snapshot:
    """Freeze a state; later changes to it do not reach the snapshot."""
    return Snapshot(type(owner).__qualname__, pickle.dumps(state, pickle.HIGHEST_PROTOCOL))


def state_of(owner: object, snapshot: Snapshot) -> Any:
    """Return a fresh copy of the state in a snapshot.

    Raises:
        SnapshotError: if an object of another class took it.
    """
    name = type(owner).__qualname__
    if snapshot.owner != name:
        raise SnapshotError(
            problem=f"A snapshot of {snapshot.owner} cannot be restored into {name}.",
            expected=f"a snapshot that a {name} took",
            got=snapshot.owner,
            fix="restore it into the same environment, with the same wrappers around it",
        )
    return pickle.loads(snapshot.state)
