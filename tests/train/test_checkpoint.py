import shutil
from pathlib import Path
from typing import Any

import pytest
import torch

from gemenv.errors import CorruptFileError
from gemenv.train.checkpoint import Checkpoints, Manifest, Phase


def save(checkpoints: Checkpoints, phase: Phase, step: int) -> None:
    manifest = Manifest(phase=phase, step=step, config="", log_bytes={"metrics.jsonl": step})
    checkpoints.save(manifest, {"weight": torch.full((300,), float(step)), "rates": [0.5]})


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


@pytest.fixture
def checkpoints(tmp_path: Path) -> Checkpoints:
    return Checkpoints(tmp_path / "checkpoints", kept=2)


def test_a_new_folder_has_none(checkpoints: Checkpoints):
    assert checkpoints.latest() is None


def test_the_newest_comes_back_as_it_was(checkpoints: Checkpoints):
    save(checkpoints, "sft", 500)
    save(checkpoints, "rl", 0)
    save(checkpoints, "rl", 10)
    latest = checkpoints.latest()
    assert latest is not None
    manifest, state = latest
    assert (manifest.phase, manifest.step, manifest.log_bytes) == ("rl", 10, {"metrics.jsonl": 10})
    assert state["weight"].tolist() == [10.0] * 300
    assert state["rates"] == [0.5]


def test_old_ones_go_but_the_start_of_reinforcement_stays(checkpoints: Checkpoints):
    for step in (2, 4, 6):
        save(checkpoints, "sft", step)
    assert names(checkpoints.folder) == ["sft-0000004", "sft-0000006"]
    for step in (0, 2, 4, 6):
        save(checkpoints, "rl", step)
    assert names(checkpoints.folder) == ["rl-0000000", "rl-0000004", "rl-0000006"]
    assert checkpoints.start_of_rl()["weight"][0] == 0.0


def test_a_checkpoint_that_was_never_finished_is_passed_over(checkpoints: Checkpoints):
    save(checkpoints, "rl", 1)
    half = checkpoints.folder / "incomplete-rl-0000002"
    half.mkdir()
    (half / "state.pt").write_bytes(b"half")
    latest = checkpoints.latest()
    assert latest is not None
    assert latest[0].step == 1
    assert names(checkpoints.folder) == ["rl-0000001"]


def flip(path: Path) -> None:
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 1
    path.write_bytes(bytes(content))


def shorten(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:-1])


def forge(path: Path) -> None:
    path.write_bytes(b'{"phase": "rl"}')


@pytest.mark.parametrize(
    ("name", "damage"),
    [
        ("state.pt", flip),
        ("state.pt", shorten),
        ("state.pt", Path.unlink),
        ("manifest.json", shorten),
        ("manifest.json", forge),
        ("manifest.json", Path.unlink),
    ],
)
def test_damage_is_told_and_an_older_checkpoint_not_taken_instead(
    checkpoints: Checkpoints, name: str, damage: Any
):
    save(checkpoints, "rl", 1)
    save(checkpoints, "rl", 2)
    damage(checkpoints.folder / "rl-0000002" / name)
    with pytest.raises(CorruptFileError, match="corrupt") as caught:
        checkpoints.latest()
    assert "rl-0000002" in str(caught.value)
    shutil.rmtree(checkpoints.folder / "rl-0000002")  # what the message says
    latest = checkpoints.latest()
    assert latest is not None
    assert latest[0].step == 1


def test_code_in_a_checkpoint_is_never_run(checkpoints: Checkpoints):
    class Trap:
        def __reduce__(self) -> Any:
            return pytest.fail, ("the checkpoint ran code",)

    manifest = Manifest(phase="rl", step=1, config="", log_bytes={})
    checkpoints.save(manifest, {"trap": Trap()})
    with pytest.raises(CorruptFileError):
        checkpoints.latest()
