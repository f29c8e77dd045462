"""Train a tiny model to guess a number between 1 and 10 in four turns, in a few minutes on a CPU.

    gemenv train examples/guess_the_number.py

A model of 0.15 million parameters and its tokenizer are built from scratch. It first imitates a
weak player, which teaches it to answer in the right format and to read hints, but hardly to win.
Multi-turn REINFORCE with return batch normalisation does the rest.
"""

import re
from collections.abc import Sequence

from numpy.random import Generator

from gemenv.core.message import Message, text_of
from gemenv.rollout.policies.text_policy import FunctionPolicy
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

HINT = re.compile(r"number is (higher|lower) than (\d+)")


def weak_guess(conversation: Sequence[Message], rng: Generator) -> str:
    """Guess inside what the hints leave in 30 % of the turns, and anywhere otherwise."""
    low, high = 1, 10
    for message in conversation:
        for direction, number in HINT.findall(text_of(message["content"])):
            if direction == "higher":
                low = max(low, int(number) + 1)
            else:
                high = min(high, int(number) - 1)
    if rng.random() >= 0.3:
        low, high = 1, 10
    return rf"\boxed{{{rng.integers(low, high + 1)}}}"


def config() -> TrainConfig:
    """Return the whole experiment."""
    return TrainConfig(
        env=EnvConfig(id="game:GuessTheNumber-v0-easy"),
        model=ModelConfig(width=64, layers=2, heads=4, vocabulary=450, context_tokens=256),
        rollout=RolloutConfig(episodes=256, max_new_tokens=8),
        sft=SftConfig(
            steps=400,
            policy=FunctionPolicy(weak_guess, name="weak"),
            episodes=4000,
            batch=32,
            observation_weight=0.3,
            optimizer=OptimizerConfig(matrices="muon", learning_rate=5e-3, warmup=20),
        ),
        rl=RlConfig(
            iterations=80,
            algorithm="reinforce_rebn_prox",
            settings={"gamma": 0.9},
            entropy_coef=0.02,
            minibatches=4,
            optimizer=OptimizerConfig(learning_rate=2e-3, max_grad_norm=0.3),
        ),
        evaluation=EvaluationConfig(
            every=10, episodes=500, references=("random", "expert", "oracle")
        ),
        run=RunConfig(dir="runs/guess-the-number-seed{seed}", checkpoint_every=20, threads=1),
    )
