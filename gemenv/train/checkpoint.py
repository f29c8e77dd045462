"""Checkpoints: everything that a run needs to go on as if it had never stopped.

A checkpoint is a folder `<phase>-<step>` with `state.pt` (tensors only, never code) and
`manifest.json` (what it is, and the size and SHA-256 of the state). It is written under a
temporary name, flushed to the disk, and renamed: a folder with a final name is whole.
"""

import hashlib
import os
import pickle
import re
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal

import msgspec
import torch

from gemenv.errors import CorruptFileError

Phase = Literal["sft", "rl"]
_NAME = re.compile(r"(sft|rl)-\d{7,}")
INCOMPLETE = "incomplete-"
"""The names of what is being written, or removed, begin with it."""
FORMAT_VERSION = 1


class Manifest(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What a checkpoint is.

    Attributes:
        phase: of the run.
        step: warm-start steps or iterations done.
        config: the configuration, as TOML.
        log_bytes: how long each log of the run folder was, by its path inside the folder.
        state_bytes: size of the state's file.
        state_sha256: of the state's file, in hexadecimal.
        format_version: of this record.
    """

    phase: Phase
    step: int
    config: str
    log_bytes: dict[str, int]
    state_bytes: int = 0
    state_sha256: str = ""
    format_version: int = FORMAT_VERSION


class Checkpoints:
    """The checkpoints of a run.

    Args:
        folder: where they are.
        kept: how many of the newest stay; the start of reinforcement learning always does, since
            it is the reference policy.
    """

    def __init__(self, folder: Path, kept: int) -> None:
        self.folder, self.kept = folder, kept

    def save(self, manifest: Manifest, state: Mapping[str, Any]) -> None:
        """Write a checkpoint, all or nothing, and remove those that are too old.

        Args:
            manifest: what it is; size and checksum are filled in.
            state: nested dictionaries and lists of tensors, numbers and strings.
        """
        name = _name(manifest.phase, manifest.step)
        temporary = self.folder / f"{INCOMPLETE}{name}"
        self._remove_incomplete()
        temporary.mkdir(parents=True)
        state_file = temporary / "state.pt"
        torch.save(dict(state), state_file)
        manifest = msgspec.structs.replace(
            manifest, state_bytes=state_file.stat().st_size, state_sha256=_sha256(state_file)
        )
        manifest_file = temporary / "manifest.json"
        manifest_file.write_bytes(msgspec.json.encode(manifest))
        for path in (state_file, manifest_file, temporary):
            sync(path)
        temporary.rename(self.folder / name)
        sync(self.folder)
        for old in self._names()[: -self.kept]:
            if old != _name("rl", 0):
                (self.folder / old).rename(self.folder / f"{INCOMPLETE}{old}")
        self._remove_incomplete()

    def latest(self) -> tuple[Manifest, dict[str, Any]] | None:
        """Read the newest checkpoint; None if there is none.

        Raises:
            CorruptFileError: if it is not what it claims to be. An older one is not taken instead:
                a folder with a final name was whole once, so something destroyed it.
        """
        self._remove_incomplete()
        names = self._names()
        return self._read(names[-1]) if names else None

    def start_of_rl(self) -> dict[str, Any]:
        """Read the state at the start of reinforcement learning.

        Raises:
            CorruptFileError: if it is missing, or not what it claims to be.
        """
        return self._read(_name("rl", 0))[1]

    def _names(self) -> list[str]:
        """Return the names of whole checkpoints, oldest first."""
        if not self.folder.is_dir():
            return []
        names = [path.name for path in self.folder.iterdir() if _NAME.fullmatch(path.name)]
        return sorted(names, key=lambda name: (name.startswith("rl"), name))

    def _remove_incomplete(self) -> None:
        for path in self.folder.glob(f"{INCOMPLETE}*"):
            shutil.rmtree(path)

    def _read(self, name: str) -> tuple[Manifest, dict[str, Any]]:
        folder = self.folder / name
        manifest_file, state_file = folder / "manifest.json", folder / "state.pt"
        try:
            manifest = msgspec.json.decode(manifest_file.read_bytes(), type=Manifest)
            if state_file.stat().st_size != manifest.state_bytes:
                raise _corrupt(state_file, "its size differs from the manifest's")
            if _sha256(state_file) != manifest.state_sha256:
                raise _corrupt(state_file, "its checksum differs from the manifest's")
            state: dict[str, Any] = torch.load(state_file, map_location="cpu", weights_only=True)
        except (OSError, msgspec.DecodeError) as error:
            raise _corrupt(manifest_file, str(error)) from error
        except (pickle.UnpicklingError, RuntimeError, EOFError) as error:
            raise _corrupt(state_file, str(error)) from error
        return manifest, state


def sync(path: Path) -> None:
    """Flush a file or a folder to the disk."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _name(phase: Phase, step: int) -> str:
    return f"{phase}-{step:07d}"


def _sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _corrupt(path: Path, reason: str) -> CorruptFileError:
    return CorruptFileError(
        problem=f"The checkpoint {path} is corrupt: {reason}.",
        expected="a checkpoint that this run wrote",
        got=str(path),
        fix=f"remove the folder {path.parent} to resume from the checkpoint before it",
    )
