"""A snapshot: everything about an episode at one moment, as bytes that nobody can change."""

import pickle
from dataclasses import dataclass
from typing import Any

from gemenv.errors import SnapshotError


@dataclass(frozen=True, slots=True)
class Snapshot:
    """The state of an episode, generator included; equal ones continue equally.

    Args:
        owner: the class that took it, its id and keywords; only its like can restore it.
        state: the pickled state. Restore snapshots from sources you trust only.
    """

    owner: str
    state: bytes


def take(owner: object, state: Any) -> Snapshot:
    """Freeze a state; later changes to it do not reach the snapshot."""
    return Snapshot(_name_of(owner), pickle.dumps(state, pickle.HIGHEST_PROTOCOL))


def state_of(owner: object, snapshot: Snapshot) -> Any:
    """Return a fresh copy of the state in a snapshot.

    Raises:
        SnapshotError: if an environment of another class or with other keywords took it, or if
            it was damaged.
    """
    name = _name_of(owner)
    if not isinstance(snapshot, Snapshot) or snapshot.owner != name:  # pyright: ignore[reportUnnecessaryIsInstance]
        raise _foreign(name, snapshot, "belongs to another environment")
    try:
        return pickle.loads(snapshot.state)
    except (pickle.UnpicklingError, EOFError, AttributeError, ValueError) as error:
        raise _foreign(name, snapshot, "was damaged") from error


def _name_of(owner: object) -> str:
    made_from = getattr(owner, "env_id", ""), getattr(owner, "env_kwargs", {})
    return f"{type(owner).__module__}.{type(owner).__qualname__}{made_from!r}"


def _foreign(name: str, snapshot: object, problem: str) -> SnapshotError:
    return SnapshotError(
        problem=f"The snapshot {problem}.",
        expected=f"a snapshot that {name} took",
        got=getattr(snapshot, "owner", snapshot),
        fix="restore it into the same environment, with the same wrappers around it",
    )
