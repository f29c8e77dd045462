import tomllib
from pathlib import Path

import pytest

from gemenv.errors import ConfigError
from gemenv.rollout.policies.text_policy import FunctionPolicy
from gemenv.train.config import EnvConfig, RlConfig, SftConfig, TrainConfig
from gemenv.train.config_file import (
    config_from_dict,
    config_to_dict,
    config_to_toml,
    load_config,
)
from gemenv.train.presets import rloo

EXAMPLE = Path(__file__).parents[2] / "examples" / "guess_the_number.py"


def test_what_is_written_is_read_again():
    config = TrainConfig(
        env=EnvConfig(kwargs={"high": 20, "low": 1}, system_prompt='Say "7"\nor 8 \\ ü'),
        rl=RlConfig(algorithm="grpo", settings={"group_size": 4}, entropy_coef=1e-5),
    )
    assert config_from_dict(tomllib.loads(config_to_toml(config))) == config


def test_infinity_survives():
    config = config_from_dict({"rl": {"optimizer": {"max_grad_norm": float("inf")}}})
    assert config_from_dict(tomllib.loads(config_to_toml(config))) == config


def test_policies_and_compositions_are_shown_by_name():
    policy = FunctionPolicy(lambda conversation, rng: "", name="silent")
    config = TrainConfig(sft=SftConfig(policy=policy), rl=RlConfig(algorithm=rloo(group_size=2)))
    shown = config_to_dict(config)
    assert shown["sft.policy"] == "silent"
    assert shown["rl.algorithm"] == repr(rloo(group_size=2))
    tomllib.loads(config_to_toml(config))


def test_a_toml_file_gives_a_configuration(tmp_path: Path):
    path = tmp_path / "run.toml"
    path.write_text('[rl]\nalgorithm = "rloo"\n[rl.optimizer]\nlearning_rate = 1\n')
    config = load_config(path)
    assert config.rl.algorithm == "rloo"
    assert config.rl.optimizer.learning_rate == 1.0
    assert config.sft == SftConfig()


def test_a_python_file_gives_a_configuration():
    assert load_config(EXAMPLE).env.id == "game:GuessTheNumber-v0-easy"


@pytest.mark.parametrize(
    ("text", "problem", "fix"),
    [
        ("[rl]\nalgoritm = 'grpo'", "There is no setting 'rl.algoritm'.", "'algorithm'"),
        ("[lr]\n", "There is no setting 'lr'.", "'rl'"),
        ("[rl.optimizer]\nlerning_rate = 1", "'rl.optimizer.lerning_rate'", "'learning_rate'"),
        ("[rl]\niterations = 'ten'", "'rl.iterations' has a value of the wrong type", "rl.itera"),
        ("[sft]\npolicy = 3", "'sft.policy' has a value of the wrong type", "sft.policy"),
        ("rl = 3", "'rl' has a value of the wrong type", "rl"),
        ("[rl]\niterations = -1", "'rl.iterations' is outside its domain", "0 or more"),
        ("[rl\n", "cannot be read", "examples"),
    ],
)
def test_what_is_wrong_in_a_file_is_said(tmp_path: Path, text: str, problem: str, fix: str):
    path = tmp_path / "run.toml"
    path.write_text(text)
    with pytest.raises(ConfigError) as caught:
        load_config(path)
    assert problem in str(caught.value)
    assert fix in caught.value.fix


@pytest.mark.parametrize(
    ("name", "text"),
    [("none.toml", None), ("run.yaml", "a: 1"), ("run.py", "x = 1"), ("run.py", "config = dict")],
)
def test_a_file_that_is_no_configuration_is_refused(tmp_path: Path, name: str, text: str | None):
    if text is not None:
        (tmp_path / name).write_text(text)
    with pytest.raises(ConfigError, match="cannot be read"):
        load_config(tmp_path / name)
