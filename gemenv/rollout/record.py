"""Trajectories in files: JSON Lines, one episode a line, versioned.

Each line is a JSON object with `"record": "trajectory"`, `"format_version"` and the fields of
`Trajectory`. A file of a newer format is refused, not guessed at.
"""

import json
from collections.abc import Iterable, Iterator
from pathlib import Path

import msgspec

from gemenv.errors import CorruptFileError
from gemenv.rollout.trajectory import FORMAT_VERSION, Trajectory

_decoder = msgspec.json.Decoder(Trajectory)


def encode(trajectory: Trajectory) -> bytes:
    """Encode a trajectory as one line of JSON, without the line end."""
    try:
        return msgspec.json.encode(trajectory)
    except UnicodeEncodeError:  # text with a lone surrogate: JSON can escape it, UTF-8 cannot
        return json.dumps(msgspec.to_builtins(trajectory)).encode()


def append(path: Path, trajectories: Iterable[Trajectory]) -> None:
    """Append trajectories to a file, in one write."""
    lines = b"".join(encode(trajectory) + b"\n" for trajectory in trajectories)
    with path.open("ab") as file:
        file.write(lines)


def read(path: Path) -> Iterator[Trajectory]:
    """Read the trajectories of a file, one at a time.

    Raises:
        CorruptFileError: at the first line that is not a trajectory, with its number.
    """
    with path.open("rb") as file:
        for number, line in enumerate(file, 1):
            yield _decoded(path, number, line)


def _decoded(path: Path, number: int, line: bytes) -> Trajectory:
    try:
        trajectory = _decoder.decode(line)
    except msgspec.DecodeError as first:
        try:  # an escaped lone surrogate is JSON, though not UTF-8
            trajectory = msgspec.convert(json.loads(line), Trajectory)
        except (ValueError, RecursionError, msgspec.ValidationError):
            raise _corrupt(path, number, line, str(first)) from first
    if trajectory.format_version > FORMAT_VERSION:
        problem = f"format {trajectory.format_version} is newer than {FORMAT_VERSION}"
        raise _corrupt(path, number, line, problem)
    return trajectory


def _corrupt(path: Path, number: int, line: bytes, problem: str) -> CorruptFileError:
    return CorruptFileError(
        problem=f"{path}, line {number} is not a trajectory: {problem}.",
        expected=f"one JSON object a line, a trajectory of format {FORMAT_VERSION} or older",
        got=line.decode(errors="replace"),
        fix="remove the line, or take the file of a run that was not cut off",
    )
