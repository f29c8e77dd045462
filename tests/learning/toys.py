"""Two small games that a tiny model can learn in seconds, and a warm start that both can use."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from gemenv import ActionForm, Env, Info, Observation, Step, action_set, boxed, register
from gemenv.errors import ActionError
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
from gemenv.train.loop import TrainResult, train

NUM_DOORS = 4
RIGHT_DOORS = (3, 1)


@dataclass(frozen=True)
class Say:
    """Say a number."""

    number: int


class Doors(Env):
    """Walk through two rooms; each has four doors, of which always the same one is right.

    Args:
        lottery: if above 0, the first room has one door only, and pays this or its negative by
            chance: noise for whoever judges the second room's door by the whole episode.
    """

    def __init__(self, *, lottery: float = 0.0) -> None:
        form = ActionForm(Say, boxed("{number}"), number=range(NUM_DOORS))
        super().__init__(actions=action_set(form))
        self.lottery = lottery
        self.reward_range = (-max(1.0, lottery), max(1.0, lottery))

    def begin(self, options: dict[str, Any]) -> tuple[Observation, Info]:
        return "The first room.", Info()

    def advance(self, action: str) -> Step:
        try:
            is_right = self.actions.parse(action).number == RIGHT_DOORS[self.turn - 1]
        except ActionError:
            is_right = False
        if self.turn == 1:
            prize = self.lottery * (1 if self.np_random.random() < 0.5 else -1)
            return Step("The second room.", prize or float(is_right), False, False, Info())
        info = Info(success=is_right, stop_reason="success" if is_right else "failure")
        return Step("The end.", float(is_right), True, False, info)

    def legal_actions(self) -> list[str]:
        doors = [0] if self.lottery and self.turn == 0 else range(NUM_DOORS)
        return [self.actions.format(Say(door)) for door in doors]


register("toy:Doors-v0", Doors, variants={"plain": {}, "lottery": {"lottery": 4.0}})


def warm_start(folder: Path, variant: str, seed: int) -> Path:
    """Teach a new model the format, by imitating random play; return its folder."""
    config = TrainConfig(
        env=EnvConfig(id=f"toy:Doors-v0-{variant}"),
        model=ModelConfig(width=32, layers=1, heads=2, context_tokens=64),
        rollout=RolloutConfig(episodes=8, max_new_tokens=6),
        sft=SftConfig(
            steps=80,
            episodes=500,
            optimizer=OptimizerConfig(matrices="muon", learning_rate=1e-2),
        ),
        rl=RlConfig(iterations=0),
        evaluation=EvaluationConfig(episodes=200, references=()),
        run=RunConfig(dir=str(folder), seed=seed, threads=1, checkpoint_every=1000),
    )
    result = train(config)
    assert 0.1 < result.before.success < 0.4, "random play must not win"
    return result.path / "model"


def reinforce(
    folder: Path, model: Path, variant: str, seed: int, rate: float = 2e-3, **rl: Any
) -> TrainResult:
    """Train from a warm start."""
    config = TrainConfig(
        env=EnvConfig(id=f"toy:Doors-v0-{variant}"),
        model=ModelConfig(path=str(model), context_tokens=64),
        rollout=RolloutConfig(episodes=128, max_new_tokens=6),
        rl=RlConfig(optimizer=OptimizerConfig(learning_rate=rate, max_grad_norm=0.3), **rl),
        evaluation=EvaluationConfig(episodes=200, every=0, references=()),
        run=RunConfig(dir=str(folder), seed=seed, threads=1, checkpoint_every=1000),
    )
    return train(config)
