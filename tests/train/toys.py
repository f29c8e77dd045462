"""A tiny model, hand-made episodes and a small configuration, for the tests of the trainer."""

import asyncio
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from gemenv import Message, make
from gemenv.rollout.trajectory import Outcome, Segment, Span, Trajectory, Turn
from gemenv.train.config import (
    EvaluationConfig,
    ModelConfig,
    OptimizerConfig,
    RlConfig,
    RolloutConfig,
    RunConfig,
    SftConfig,
    TrainConfig,
)
from gemenv.train.model import LanguageModel, build_model
from gemenv.train.rollouts import ModelPlayer, play

TALK = (
    Message(role="user", content=make("game:GuessTheNumber-v0-easy").reset(seed=0)[0]),
    Message(role="assistant", content=r"\boxed{5}"),
    Message(role="user", content="The hidden number is higher than 5."),
)
SMALL = ModelConfig(width=16, heads=2, layers=1, context_tokens=512, sample_episodes=20)


def tiny_model(seed: int = 0) -> LanguageModel:
    return build_model(SMALL, [TALK] * 4, seed)


def small_config(folder: Path, **rl: object) -> TrainConfig:
    # the model wins nothing: without a reward for entropy there would be nothing to learn
    settings: dict[str, object] = {"algorithm": "reinforce_rebn", "iterations": 4}
    settings |= {"entropy_coef": 0.1, "optimizer": OptimizerConfig(learning_rate=1e-2), **rl}
    return TrainConfig(
        model=SMALL,
        rollout=RolloutConfig(episodes=8, max_new_tokens=4),
        sft=SftConfig(steps=4, episodes=20, batch=4),
        rl=RlConfig(**settings),  # pyright: ignore[reportArgumentType]
        evaluation=EvaluationConfig(every=2, episodes=6),
        run=RunConfig(dir=str(folder), checkpoint_every=2, episodes_kept=2, threads=1),
    )


def episode(
    rewards: Sequence[float],
    *,
    group: int = 0,
    outcome: Outcome = "completed",
    seed: int = 0,
    split: bool = False,
) -> Trajectory:
    """Make an episode with random tokens; `split` starts a new segment at each turn."""
    rng = np.random.default_rng(seed)
    turns = [
        Turn(messages=[Message(role="user", content="?")], action="!", reward=reward, info={})
        for reward in rewards
    ]
    trajectory = Trajectory(
        env_id="toy:Toy-v0",
        group=group,
        turns=turns,
        segments=[],
        outcome=outcome,
        final_messages=[Message(role="user", content="over")],
    )
    for turn in range(len(rewards)):
        if split or not trajectory.segments:
            trajectory.segments.append(Segment(token_ids=[], logprobs=[], spans=[]))
        segment = trajectory.segments[-1]
        num_prompt, num_sampled = (int(n) for n in rng.integers(2, 7, size=2))
        segment.token_ids += rng.integers(3, 250, size=num_prompt + num_sampled).tolist()
        end = len(segment.token_ids)
        segment.logprobs += [0.0] * num_prompt + rng.uniform(-3, -1, num_sampled).tolist()
        segment.spans.append(Span(turn, end - num_sampled, end))
    return trajectory


def episodes(num_groups: int = 3, group_size: int = 2) -> list[Trajectory]:
    """Make groups of episodes of 1 to 3 turns with all kinds of rewards."""
    rng = np.random.default_rng(1)
    return [
        episode(
            rng.integers(0, 3, size=int(rng.integers(1, 4))).astype(float).tolist(),
            group=group,
            outcome="truncated" if rng.random() < 0.5 else "completed",
            seed=10 * group + member,
            split=bool(group % 2),
        )
        for group in range(num_groups)
        for member in range(group_size)
    ]


def sampled_episodes(
    model: LanguageModel, *, num: int = 6, temperature: float = 1.0
) -> list[Trajectory]:
    """Let the model play; its answers are nonsense, and exactly as sampled."""
    config = TrainConfig(model=SMALL, rollout=RolloutConfig(max_new_tokens=5))
    env = replace(config.env, kwargs={"format_error_ends": False})
    config = replace(config, env=env)
    policy = ModelPlayer(config, model).policy(temperature)
    return asyncio.run(play(config, policy, range(num)))
