"""Files that a command writes: never over an existing one unasked, and never half of one."""

import os
from pathlib import Path

from gemenv.errors import ArgumentError


def check_output(path: Path, *, overwrite: bool) -> None:
    """Check, before the work begins, that a file can be written.

    Raises:
        ArgumentError: if it exists and may not be replaced, or its folder does not exist.
    """
    if path.is_dir() or not path.parent.is_dir():
        raise ArgumentError(
            problem=f"{path} cannot be written.",
            expected="a file name in a folder that exists",
            got=str(path),
            fix="make the folder first, or name another file",
        )
    if path.exists() and not overwrite:
        raise ArgumentError(
            problem=f"{path} exists already.",
            expected="a file that does not exist yet",
            got=str(path),
            fix="name another file, or pass --overwrite",
        )


def write_output(path: Path, content: bytes) -> None:
    """Write a file whole: a reader sees the old content or the new, nothing in between."""
    partial = path.with_name(path.name + ".partial")
    partial.write_bytes(content)
    os.replace(partial, path)
