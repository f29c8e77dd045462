import json
import multiprocessing
import signal
import time
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from gemenv.errors import ConfigError, TrainingError, UnknownKeywordError
from gemenv.rollout import record
from gemenv.train.config import EnvConfig, ModelConfig, TrainConfig
from gemenv.train.loop import Progress, train
from gemenv.train.model import load_model
from tests.train.toys import small_config

PROCESSES = multiprocessing.get_context("forkserver")
PROCESSES.set_forkserver_preload(["gemenv.train.loop"])


def lines(folder: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (folder / "metrics.jsonl").read_text().splitlines()]


def without_times(metrics: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in metrics.items() if not name.endswith("_s")}


def weights(folder: Path) -> dict[str, torch.Tensor]:
    return load_model(folder / "model").network.state_dict()


def assert_same_end(one: Path, other: Path) -> None:
    assert list(map(without_times, lines(one))) == list(map(without_times, lines(other)))
    for name, weight in weights(one).items():
        assert torch.equal(weight, weights(other)[name]), name
    for name in ("train", "eval"):
        actions = [
            [[turn.action for turn in episode.turns] for episode in record.read(path)]
            for path in (folder / f"trajectories/{name}.jsonl" for folder in (one, other))
        ]
        assert actions[0] == actions[1]


@pytest.fixture(scope="module")
def whole_run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a run that nobody interrupted."""
    folder = tmp_path_factory.mktemp("whole") / "run"
    train(small_config(folder))
    return folder


def test_a_run_leaves_everything_in_its_folder(whole_run: Path):
    assert {path.name for path in whole_run.iterdir()} == {
        "checkpoints",
        "config.toml",
        "metrics.jsonl",
        "model",
        "report.html",
        "trajectories",
    }
    written = lines(whole_run)
    assert [(m["phase"], m["step"]) for m in written] == [
        *(("sft", step) for step in range(1, 5)),
        *(("rl", step) for step in range(5)),
    ]
    assert [m["step"] for m in written if "eval/success" in m] == [0, 2, 4]
    iteration = written[-1]
    assert iteration["rollout/staleness"] == 0
    assert iteration["sampler_kl_v2"] < 1e-10
    assert (
        iteration["rollout/outcome/completed"] + iteration.get("rollout/outcome/truncated", 0) == 8
    )


def test_each_iteration_plays_other_seeds_and_none_that_is_held_out(whole_run: Path):
    kept = 2
    trained = [e.seed for e in record.read(whole_run / "trajectories/train.jsonl")]
    held_out = [e.seed for e in record.read(whole_run / "trajectories/eval.jsonl")]
    assert len(trained) == len(set(trained)) == 4 * kept
    assert sorted(set(held_out)) == [2**31, 2**31 + 1]
    assert max(trained) < 2**31


def test_the_policy_changes(whole_run: Path):
    entropies = [line["entropy"] for line in lines(whole_run) if "entropy" in line]
    assert len(set(entropies)) == len(entropies) == 4


def test_the_same_seed_gives_the_same_run_and_another_one_another(whole_run: Path, tmp_path: Path):
    config = small_config(tmp_path / "again")
    train(config)
    assert_same_end(whole_run, tmp_path / "again")
    other = replace(config, run=replace(config.run, dir=str(tmp_path / "other"), seed=1))
    train(other)
    assert lines(tmp_path / "other")[0]["loss"] != lines(whole_run)[0]["loss"]


def test_a_finished_run_that_is_resumed_changes_nothing(whole_run: Path):
    before = lines(whole_run)
    result = train(small_config(whole_run), resume=True)
    assert lines(whole_run) == before
    assert result.before.success == before[4]["eval/success"]
    assert [scores.policy for scores in result.references] == ["random", "oracle"]
    assert result.references[1].success == 1.0


def test_progress_is_told_step_by_step(tmp_path: Path):
    seen: list[Progress] = []
    train(small_config(tmp_path / "run", iterations=1), on_progress=seen.append)
    assert [(p.phase, p.step, p.total) for p in seen] == [
        *(("sft", step, 4) for step in range(1, 5)),
        ("rl", 0, 1),
        ("rl", 1, 1),
    ]


def test_a_run_may_be_a_warm_start_only(tmp_path: Path):
    result = train(small_config(tmp_path / "run", iterations=0))
    assert result.before.success == result.after.success


@pytest.mark.parametrize("algorithm", ["grpo", "ppo"])
def test_a_run_with_a_reference_or_a_critic_resumes_in_the_same_place(
    tmp_path: Path, algorithm: str
):
    settings = {"group_size": 4} if algorithm == "grpo" else {}
    whole = small_config(tmp_path / "whole", algorithm=algorithm, settings=settings)
    cut = small_config(tmp_path / "cut", algorithm=algorithm, settings=settings)
    train(whole)

    class Killed(Exception):
        pass

    def kill(progress: Progress) -> None:
        if progress.phase == "rl" and progress.step == 3:
            raise Killed

    with pytest.raises(Killed):
        train(cut, on_progress=kill)
    train(cut, resume=True)
    assert_same_end(tmp_path / "whole", tmp_path / "cut")
    found = lines(tmp_path / "cut")[-1]
    assert ("ref_kl_k3" in found, "explained_variance" in found) == (
        algorithm == "grpo",
        algorithm == "ppo",
    )


def test_an_environment_that_always_fails_stops_the_run_and_says_why(tmp_path: Path):
    config = small_config(tmp_path / "run")
    config = replace(
        config,
        sft=replace(config.sft, steps=0),
        rollout=replace(config.rollout, deadline_s=1e-9),
    )
    with pytest.raises(TrainingError, match="None of the episodes"):
        train(config)


@pytest.mark.parametrize(
    "change",
    [
        {"env": EnvConfig(kwargs={"hihg": 20})},
        {"model": ModelConfig(path="no/such/folder")},
    ],
)
def test_a_run_that_cannot_begin_leaves_no_folder(tmp_path: Path, change: dict[str, Any]):
    with pytest.raises((ConfigError, UnknownKeywordError)):
        train(replace(small_config(tmp_path / "run"), **change))
    assert not (tmp_path / "run").exists()


def resume(config: TrainConfig) -> None:
    train(config, resume=True)


def num_lines(log: Path) -> int:
    return log.read_bytes().count(b"\n") if log.exists() else 0


@pytest.mark.slow
def test_a_run_that_is_killed_again_and_again_ends_in_the_same_place(
    whole_run: Path, tmp_path: Path
):
    config = small_config(tmp_path / "killed")
    rng = np.random.default_rng()  # at random: no moment may be wrong
    for enough in (0, 1, 1, 3, 4, 5, 6, 7, 8, 9):  # lines to wait for
        process = PROCESSES.Process(target=resume, args=(config,))
        process.start()
        while process.is_alive() and num_lines(tmp_path / "killed/metrics.jsonl") < enough:
            time.sleep(0.001)
        process.join(rng.uniform(0, 0.05))
        process.kill()
        process.join()
        assert process.exitcode in (0, -signal.SIGKILL)
    resume(config)
    assert_same_end(whole_run, tmp_path / "killed")
