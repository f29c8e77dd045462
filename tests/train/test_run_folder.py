from dataclasses import replace
from pathlib import Path

import pytest

from gemenv.errors import ConfigError, CorruptFileError
from gemenv.train.config import TrainConfig
from gemenv.train.run_folder import RunFolder
from tests.train.toys import episode, small_config


def begun(config: TrainConfig, *, resume: bool = False) -> RunFolder:
    folder = RunFolder(config, resume=resume)
    folder.begin()
    return folder


def test_logs_are_cut_back_to_the_checkpoint(tmp_path: Path):
    config = small_config(tmp_path / "run")
    folder = begun(config)
    folder.log({"step": 1})
    folder.keep_training([episode([1.0])])
    folder.save("rl", 1, {"x": 1})
    folder.log({"step": 2})
    folder.keep_training([episode([2.0])])
    resumed = begun(config, resume=True)
    assert (resumed.phase, resumed.step, resumed.state) == ("rl", 1, {"x": 1})
    assert resumed.metrics() == [{"step": 1}]
    assert len((tmp_path / "run/trajectories/train.jsonl").read_text().splitlines()) == 1


def test_a_run_without_a_checkpoint_begins_again(tmp_path: Path):
    config = small_config(tmp_path / "run")
    begun(config).log({"step": 1})
    resumed = begun(config, resume=True)
    assert (resumed.phase, resumed.state, resumed.metrics()) == (None, {}, [])


def test_the_folder_is_named_after_the_seed(tmp_path: Path):
    config = small_config(tmp_path / "run-{seed}")
    config = replace(config, run=replace(config.run, seed=7))
    assert begun(config).path == tmp_path / "run-7"


def test_another_configuration_is_refused_and_nothing_is_touched(tmp_path: Path):
    config = small_config(tmp_path / "run")
    begun(config).log({"step": 1})
    other = replace(config, rl=replace(config.rl, iterations=9, settings={"gamma": 0.5}))
    with pytest.raises(ConfigError, match="another configuration") as caught:
        RunFolder(other, resume=True)
    assert caught.value.got == "{'rl.iterations': 9, 'rl.settings.gamma': 0.5}"
    assert caught.value.expected == "rl.iterations = 4, rl.settings.gamma = None"
    assert RunFolder(config, resume=True).metrics() == [{"step": 1}]
    assert "iterations = 4" in (tmp_path / "run/config.toml").read_text()


def test_a_checkpoint_of_another_configuration_is_refused(tmp_path: Path):
    config = small_config(tmp_path / "run")
    other = replace(small_config(tmp_path / "other"), rl=replace(config.rl, iterations=9))
    begun(config)
    begun(other).save("rl", 1, {})
    (tmp_path / "other/checkpoints").rename(tmp_path / "run/checkpoints")
    with pytest.raises(ConfigError, match="another configuration"):
        RunFolder(config, resume=True)


def test_where_and_with_what_a_run_goes_on_may_change(tmp_path: Path):
    config = small_config(tmp_path / "run")
    begun(config)
    begun(replace(config, run=replace(config.run, threads=2, checkpoint_every=7)), resume=True)
    with pytest.raises(ConfigError, match="another configuration"):
        RunFolder(replace(config, run=replace(config.run, seed=1)), resume=True)


def test_a_run_is_gone_on_with_only_when_asked_to(tmp_path: Path):
    config = small_config(tmp_path / "run")
    begun(config).log({"step": 1})
    with pytest.raises(ConfigError, match="holds a run already"):
        RunFolder(config)
    assert (tmp_path / "run/metrics.jsonl").read_text() == '{"step":1}\n'


@pytest.mark.parametrize("resume", [True, False])
def test_a_folder_of_something_else_is_left_alone(tmp_path: Path, resume: bool):
    (tmp_path / "thesis.tex").write_text("years of work")
    with pytest.raises(ConfigError, match="holds no run"):
        RunFolder(small_config(tmp_path), resume=resume)
    assert [path.name for path in tmp_path.iterdir()] == ["thesis.tex"]


def test_a_log_that_lost_its_end_is_told(tmp_path: Path):
    config = small_config(tmp_path / "run")
    folder = begun(config)
    folder.log({"step": 1})
    folder.save("rl", 1, {})
    (tmp_path / "run/metrics.jsonl").write_bytes(b"")
    with pytest.raises(CorruptFileError, match="saw 11 bytes"):
        RunFolder(config, resume=True)


def test_a_start_that_was_killed_while_it_wrote_the_first_file_is_no_obstacle(tmp_path: Path):
    (tmp_path / "incomplete-config.toml").write_text("[env")
    begun(small_config(tmp_path), resume=True)
    assert (tmp_path / "config.toml").is_file()


def test_nothing_is_written_before_the_run_begins(tmp_path: Path):
    RunFolder(small_config(tmp_path / "run"))
    assert not (tmp_path / "run").exists()
