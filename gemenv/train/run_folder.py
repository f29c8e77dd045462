"""A run is a folder: configuration, logs, checkpoints, model and report.

    config.toml                    the resolved configuration
    metrics.jsonl                  one line a step; see `metrics.py`
    trajectories/train.jsonl       some episodes of each iteration
    trajectories/eval.jsonl        some episodes of each evaluation
    checkpoints/                   see `checkpoint.py`
    model/                         the trained model in Hugging Face's format
    report.html                    everything at a glance

Logs only grow. A checkpoint notes how long they are, and a resumed run cuts them back to it.
"""

import shutil
import tomllib
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from gemenv.errors import ConfigError, CorruptFileError
from gemenv.rollout import record
from gemenv.rollout.trajectory import Trajectory
from gemenv.train.checkpoint import INCOMPLETE, Checkpoints, Manifest, Phase, sync
from gemenv.train.config import TrainConfig
from gemenv.train.config_file import config_to_toml
from gemenv.train.metrics import Metrics, encode_line, read_lines
from gemenv.train.model import LanguageModel

_METRICS = "metrics.jsonl"
_TRAIN = "trajectories/train.jsonl"
_EVAL = "trajectories/eval.jsonl"
_LOGS = (_METRICS, _TRAIN, _EVAL)


class RunFolder:
    """The folder of one run, new or resumed. Nothing is written before `begin`.

    Args:
        config: of the run.
        resume: whether the folder may hold a run already, of the same configuration.

    Raises:
        ConfigError: if the folder holds anything else.
        CorruptFileError: if the newest checkpoint is corrupt, or a log shorter than it says.
    """

    def __init__(self, config: TrainConfig, *, resume: bool = False) -> None:
        self.path = Path(config.run.dir.format(seed=config.run.seed))
        self._toml = config_to_toml(config)
        self._checkpoints = Checkpoints(self.path / "checkpoints", config.run.checkpoints_kept)
        self._check_owner(resume)
        found = self._checkpoints.latest()
        manifest, self.state = (None, {}) if found is None else found
        """The state to go on from; {} for a new run."""
        self.phase, self.step = (None, 0) if manifest is None else (manifest.phase, manifest.step)
        """Where that state stands; None and 0 for a new run."""
        self._log_bytes = dict.fromkeys(_LOGS, 0) if manifest is None else manifest.log_bytes
        if manifest is not None:
            self._check_config(manifest.config)
            self._check_logs()

    def begin(self) -> None:
        """Write the configuration, and cut the logs back to the checkpoint."""
        self.write_text("config.toml", self._toml)
        (self.path / "trajectories").mkdir(exist_ok=True)
        for name, size in self._log_bytes.items():
            with (self.path / name).open("ab") as file:
                file.truncate(size)

    def log(self, metrics: Metrics) -> None:
        """Append one line of metrics."""
        with (self.path / _METRICS).open("ab") as file:
            file.write(encode_line(metrics))

    def metrics(self) -> list[dict[str, Any]]:
        """Read all lines of metrics."""
        with (self.path / _METRICS).open("rb") as file:
            return read_lines(file)

    def keep_training(self, trajectories: Iterable[Trajectory]) -> None:
        """Append episodes of an iteration."""
        record.append(self.path / _TRAIN, trajectories)

    def keep_evaluation(self, trajectories: Iterable[Trajectory]) -> None:
        """Append episodes of an evaluation."""
        record.append(self.path / _EVAL, trajectories)

    def evaluations(self) -> list[Trajectory]:
        """Read the episodes of all evaluations."""
        return list(record.read(self.path / _EVAL))

    def write_text(self, name: str, text: str) -> None:
        """Write a whole file, or nothing if it is interrupted."""
        self.path.mkdir(parents=True, exist_ok=True)
        temporary = self.path / f"{INCOMPLETE}{name}"
        temporary.write_text(text, encoding="utf-8")
        sync(temporary)
        temporary.replace(self.path / name)

    def save_model(self, model: LanguageModel) -> None:
        """Write the trained model; an older one goes only when the new one is whole."""
        temporary, final = self.path / f"{INCOMPLETE}model", self.path / "model"
        shutil.rmtree(temporary, ignore_errors=True)
        model.save(temporary)
        shutil.rmtree(final, ignore_errors=True)
        temporary.rename(final)

    def save(self, phase: Phase, step: int, state: dict[str, Any]) -> None:
        """Write a checkpoint: from now on a resumed run goes on from here."""
        sizes: dict[str, int] = {}
        for name in _LOGS:
            sync(self.path / name)
            sizes[name] = (self.path / name).stat().st_size
        manifest = Manifest(phase=phase, step=step, config=self._toml, log_bytes=sizes)
        self._checkpoints.save(manifest, state)

    def start_of_rl(self) -> dict[str, Any]:
        """Read the state at the start of reinforcement learning, which is always kept."""
        return self._checkpoints.start_of_rl()

    def _check_owner(self, resume: bool) -> None:
        if not self.path.exists() or not any(map(_is_complete, self.path.iterdir())):
            return
        config_file = self.path / "config.toml"
        if not config_file.is_file():
            raise _taken(self.path, "is not empty, and holds no run")
        self._check_config(config_file.read_text(encoding="utf-8"))
        if not resume:
            raise _taken(self.path, "holds a run already")

    def _check_config(self, saved: str) -> None:
        try:
            before, now = _flat(tomllib.loads(saved)), _flat(tomllib.loads(self._toml))
        except tomllib.TOMLDecodeError as error:
            raise _corrupt(self.path / "config.toml", str(error)) from error
        keys = sorted(before.keys() | now.keys())
        differing = [k for k in keys if before.get(k) != now.get(k) and not _may_change(k)]
        if differing:
            raise ConfigError(
                problem=f"The run in {self.path} has another configuration.",
                expected=", ".join(f"{k} = {before.get(k)!r}" for k in differing),
                got={k: now.get(k) for k in differing},
                fix="choose another run.dir, or take back the changes",
            )

    def _check_logs(self) -> None:
        for name, size in self._log_bytes.items():
            path = self.path / name
            if not path.is_file() or path.stat().st_size < size:
                raise _corrupt(path, f"a checkpoint saw {size} bytes of it")


def _is_complete(path: Path) -> bool:
    return not path.name.startswith(INCOMPLETE)


def _may_change(key: str) -> bool:
    return key.startswith("run.") and key != "run.seed"


def _flat(table: dict[str, Any], prefix: str = "") -> dict[str, Any]:
    flat: dict[str, Any] = {}
    for key, value in table.items():
        if isinstance(value, dict):
            flat |= _flat(value, f"{prefix}{key}.")  # pyright: ignore[reportUnknownArgumentType]
        else:
            flat[prefix + key] = value
    return flat


def _taken(path: Path, problem: str) -> ConfigError:
    return ConfigError(
        problem=f"The run folder {path} {problem}.",
        expected="a new or empty folder; with resume, one that holds this very run",
        got=str(path),
        fix="pass --resume to go on with the run, or choose another run.dir",
    )


def _corrupt(path: Path, reason: str) -> CorruptFileError:
    return CorruptFileError(
        problem=f"{path} is not what the run wrote: {reason}.",
        expected="the file as the run left it",
        got=str(path),
        fix="restore the file, or start again in another run.dir",
    )
