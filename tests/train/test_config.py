import ast
import itertools
from pathlib import Path
from typing import Any

import pytest

from gemenv.errors import ConfigError, UnknownEnvError
from gemenv.train import config
from gemenv.train.config import (
    EnvConfig,
    EvaluationConfig,
    ModelConfig,
    OptimizerConfig,
    RlConfig,
    RolloutConfig,
    RunConfig,
    SftConfig,
    TrainConfig,
)
from gemenv.train.presets import grpo


@pytest.mark.parametrize(
    ("section", "settings"),
    [
        (EnvConfig, {"train_seeds": (5, 5)}),
        (EnvConfig, {"train_seeds": (-1, 5)}),
        (ModelConfig, {"architecture": "mamba"}),
        (ModelConfig, {"width": 30}),
        (ModelConfig, {"layers": 0}),
        (ModelConfig, {"vocabulary": 256}),
        (RolloutConfig, {"episodes": 0}),
        (RolloutConfig, {"temperature": 0.0}),
        (RolloutConfig, {"temperature": float("nan")}),
        (RolloutConfig, {"deadline_s": 0.0}),
        (SftConfig, {"steps": -1}),
        (SftConfig, {"policy": "nobody"}),
        (SftConfig, {"observation_weight": float("inf")}),
        (OptimizerConfig, {"matrices": "sgd"}),
        (OptimizerConfig, {"decay": "cosine"}),
        (OptimizerConfig, {"learning_rate": 0.0}),
        (RlConfig, {"algorithm": "gpro"}),
        (RlConfig, {"settings": {"gama": 0.9}}),
        (RlConfig, {"settings": {"gamma": 2.0}}),
        (RlConfig, {"entropy_coef": -0.1}),
        (RlConfig, {"algorithm": grpo(), "settings": {"group_size": 4}}),
        (EvaluationConfig, {"episodes": 0}),
        (EvaluationConfig, {"temperature": -1.0}),
        (EvaluationConfig, {"references": ("nobody",)}),
        (RunConfig, {"seed": -1}),
        (RunConfig, {"checkpoint_every": 0}),
        (RunConfig, {"threads": 0}),
    ],
)
def test_a_value_out_of_its_domain_is_refused(section: type[Any], settings: dict[str, Any]):
    with pytest.raises(ConfigError):
        section(**settings)


def test_an_unknown_environment_is_refused_with_the_nearest():
    with pytest.raises(UnknownEnvError) as caught:
        EnvConfig(id="game:GuesTheNumber-v0")
    assert "game:GuessTheNumber-v0" in caught.value.fix


@pytest.mark.parametrize("settings", [{"epochs": 2}, {"minibatches": 2}])
def test_several_steps_on_a_batch_need_a_clip(settings: dict[str, int]):
    with pytest.raises(ConfigError, match="Without a clip"):
        RlConfig(algorithm="reinforce_rebn", **settings)  # pyright: ignore[reportArgumentType]
    RlConfig(algorithm="reinforce_rebn_prox", **settings)  # pyright: ignore[reportArgumentType]


@pytest.mark.parametrize("first_seed", [0, 99, 2**31 - 1])
def test_held_out_seeds_never_overlap_with_those_of_training(first_seed: int):
    with pytest.raises(ConfigError, match="first_seed"):
        TrainConfig(evaluation=EvaluationConfig(first_seed=first_seed))


def test_held_out_seeds_may_come_before_those_of_training():
    TrainConfig(env=EnvConfig(train_seeds=(500, 1000)), evaluation=EvaluationConfig(first_seed=0))


def test_groups_are_never_split():
    with pytest.raises(ConfigError, match=r"rollout\.episodes"):
        TrainConfig(rl=RlConfig(algorithm=grpo(group_size=8)), rollout=RolloutConfig(episodes=12))


def test_settings_change_the_named_algorithm():
    rl = RlConfig(algorithm="grpo", settings={"group_size": 4}, entropy_coef=0.5)
    algorithm = rl.make_algorithm()
    assert (algorithm.group_size, algorithm.entropy_coef) == (4, 0.5)


def test_every_setting_says_what_it_means():
    sections = ast.parse(Path(config.__file__).read_text()).body
    for section in (node for node in sections if isinstance(node, ast.ClassDef)):
        for setting, following in itertools.pairwise(section.body):
            if isinstance(setting, ast.AnnAssign):
                assert isinstance(following, ast.Expr), ast.unparse(setting)
