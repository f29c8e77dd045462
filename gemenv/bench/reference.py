"""The score scale of an environment: what its reference policies reach, measured beforehand.

The scales of a family lie beside its catalogue, in `scores.json`: an object from full ids to
scales, one id a line. `python -m gemenv.bench.score_scale FAMILY` measures them.
"""

import functools
import importlib
import importlib.resources
import os
from collections.abc import Mapping
from pathlib import Path

import msgspec

from gemenv.bench.statistics import Estimate
from gemenv.core.env_id import EnvId
from gemenv.core.plugins import entry_points_by_family
from gemenv.errors import ArgumentError, CorruptFileError

REFERENCES = ("random", "constant", "expert", "oracle")
"""The reference policies, by name."""

_FILE = "scores.json"
_LEAST_SPREAD = 1e-6  # of returns; below it there is no scale to speak of


class Reference(msgspec.Struct, frozen=True, kw_only=True):
    """What one reference policy reaches.

    Attributes:
        mean_return: over episodes.
        success_rate: from 0 to 1.
        mean_turns: actions an episode.
        num_episodes: how many were played, each from a seed of its own.
    """

    mean_return: float
    success_rate: float
    mean_turns: float
    num_episodes: int


class ScoreScale(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The reference policies of one environment; None where it has no such reference.

    Attributes:
        random: a random well-formed action each turn: 0 on the scale.
        constant: one random action, repeated.
        expert: the best known action from what the player has seen.
        oracle: the best action, knowing the hidden state: 1 on the scale.
    """

    random: Reference | None = None
    constant: Reference | None = None
    expert: Reference | None = None
    oracle: Reference | None = None

    @property
    def references(self) -> dict[str, Reference]:
        """The references that there are, by name."""
        found = {name: getattr(self, name) for name in REFERENCES}
        return {name: reference for name, reference in found.items() if reference is not None}

    def normalise(self, mean_return: Estimate) -> Estimate | None:
        """Put a mean return on the scale: 0 like the random policy, 1 like the oracle.

        The scale is taken as exact: its own error is not in the interval.

        Returns:
            The score; None where random or oracle is missing, or both pay the same.

        Example:
            >>> played = {"success_rate": 0.5, "mean_turns": 4.0, "num_episodes": 1000}
            >>> scale = ScoreScale(
            ...     random=Reference(mean_return=0.2, **played),
            ...     oracle=Reference(mean_return=1.0, **played),
            ... )
            >>> round(scale.normalise(Estimate(0.6, 0.5, 0.7)).mean, 3)
            0.5
        """
        if self.random is None or self.oracle is None:
            return None
        zero = self.random.mean_return
        spread = self.oracle.mean_return - zero
        if spread < _LEAST_SPREAD:
            return None
        return Estimate(
            *((value - zero) / spread for value in msgspec.structs.astuple(mean_return))
        )


def stored_scale(env_id: EnvId) -> ScoreScale | None:
    """Return the measured scale of a registered environment; None if it was not measured."""
    if env_id.family not in entry_points_by_family():
        return None  # registered by hand, in this process
    return stored_scales(env_id.family).get(str(env_id))


@functools.lru_cache(maxsize=64)
def stored_scales(family: str) -> Mapping[str, ScoreScale]:
    """Return the measured scales of a family, by full id.

    Raises:
        ArgumentError: if no such family is installed.
        CorruptFileError: if its file does not hold scales.
    """
    return read_scales(scores_path(family))


def scores_path(family: str) -> Path:
    """Return where the scales of a family lie, or would lie.

    Raises:
        ArgumentError: if no such family is installed.
    """
    families = entry_points_by_family()
    if family not in families:
        raise ArgumentError(
            problem=f"There is no family {family!r}.",
            expected=f"one of {', '.join(sorted(families))}",
            got=family,
            fix="`gemenv list` shows all environments; is the package that provides it installed?",
        )
    package = importlib.import_module(families[family].module).__package__ or ""
    return Path(str(importlib.resources.files(package) / _FILE))


def read_scales(path: Path) -> dict[str, ScoreScale]:
    """Read a file of scales; one that does not exist holds none.

    Raises:
        CorruptFileError: if it holds something else.
    """
    if not path.exists():
        return {}
    try:
        return msgspec.json.decode(path.read_bytes(), type=dict[str, ScoreScale])
    except msgspec.DecodeError as error:
        raise CorruptFileError(
            problem=f"{path} does not hold score scales: {error}.",
            expected="a JSON object from full ids to scales",
            got=path.name,
            fix="remove it, and measure again: python -m gemenv.bench.score_scale FAMILY",
        ) from error


def write_scales(path: Path, scales: Mapping[str, ScoreScale]) -> None:
    """Write scales, sorted by id, one a line; a reader never sees half a file."""
    lines = [
        f'"{env_id}": {msgspec.json.encode(scales[env_id], order="sorted").decode()}'
        for env_id in sorted(scales)
    ]
    partial = path.with_suffix(".partial")
    partial.write_text("{\n" + ",\n".join(lines) + "\n}\n", encoding="utf-8")
    os.replace(partial, path)
