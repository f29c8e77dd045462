"""What a training run is: frozen settings, each with its meaning, unit and domain.

A TOML file, a Python function or the command line gives a `TrainConfig`; `config_file.py` reads
and writes them. Every value is checked when it is set.
"""

import dataclasses
import math
from dataclasses import dataclass, field
from typing import Any, Literal, get_args

from gemenv.core.registry import spec
from gemenv.errors import ArgumentError, ConfigError
from gemenv.rollout.policies.named import named_policy
from gemenv.rollout.policy import Policy
from gemenv.train.algorithms import Algorithm
from gemenv.train.checks import require_setting
from gemenv.train.presets import make_algorithm

Architecture = Literal["llama", "qwen3"]

NUM_SEEDS = 2**31
"""Training seeds lie below it by default, held-out seeds from it on."""


@dataclass(frozen=True, kw_only=True)
class EnvConfig:
    """Which environment, and which of its seeds are for training."""

    id: str = "game:GuessTheNumber-v0-easy"
    """A registered id, `family:Name[-vN][-variant]`."""
    kwargs: dict[str, Any] = field(default_factory=dict[str, Any])
    """Keywords of the environment, beyond those of its id."""
    train_seeds: tuple[int, int] = (0, NUM_SEEDS)
    """First training seed, and the one after the last; held-out seeds must lie outside."""
    system_prompt: str | None = None
    """A first message before the first observation; none if left out."""

    def __post_init__(self) -> None:
        first, end = self.train_seeds
        is_range = 0 <= first < end
        require_setting(is_range, "env.train_seeds", "(first, end), 0 <= first < end", (first, end))
        spec(self.id)  # raises, with the nearest id


@dataclass(frozen=True, kw_only=True)
class ModelConfig:
    """Which language model: a folder, or a small one built from scratch."""

    path: str | None = None
    """A folder in Hugging Face's format, tokenizer included; if left out, built from scratch."""
    architecture: Architecture = "llama"
    """From scratch: the decoder's kind."""
    width: int = 64
    """From scratch: size of the hidden state, a multiple of 2 x heads."""
    layers: int = 2
    """From scratch: decoder layers, 1 or more."""
    heads: int = 4
    """From scratch: attention heads, 1 or more."""
    vocabulary: int = 450
    """From scratch: tokens, 300 or more (256 bytes, 3 markers, and frequent phrases)."""
    sample_episodes: int = 200
    """From scratch: episodes that the tokenizer learns its phrases from, 1 or more."""
    context_tokens: int = 512
    """The most tokens of an episode's context, 16 or more; at most what a model in `path` takes."""

    def __post_init__(self) -> None:
        kinds = get_args(Architecture)
        is_kind = self.architecture in kinds
        require_setting(is_kind, "model.architecture", f"one of {kinds}", self.architecture)
        _require_at_least(
            "model", self, layers=1, heads=1, vocabulary=300, sample_episodes=1, context_tokens=16
        )
        is_divisible = self.width > 0 and self.width % (2 * self.heads) == 0
        require_setting(is_divisible, "model.width", "a multiple of 2 x model.heads", self.width)


@dataclass(frozen=True, kw_only=True)
class RolloutConfig:
    """How the model plays."""

    episodes: int = 256
    """Episodes an iteration, 1 or more; a multiple of the algorithm's group size."""
    temperature: float = 1.0
    """Of sampling, above 0; the learner takes its log-probs at the same temperature."""
    max_new_tokens: int = 16
    """The most tokens of one answer, 1 or more."""
    max_concurrent: int = 256
    """The most episodes under way at once, 1 or more."""
    max_batch: int = 64
    """The most answers that the engine samples together, 1 or more."""
    deadline_s: float | None = None
    """Wall seconds after which an episode ends in `timeout`; never if left out."""

    def __post_init__(self) -> None:
        _require_at_least("rollout", self, episodes=1, max_new_tokens=1)
        _require_at_least("rollout", self, max_concurrent=1, max_batch=1)
        _require_above_zero("rollout", self, "temperature", "deadline_s")


@dataclass(frozen=True, kw_only=True)
class OptimizerConfig:
    """How weights follow gradients; the learning rate may rise at first and fall at the end."""

    matrices: Literal["adamw", "muon"] = "adamw"
    """What trains the matrices of the layers; AdamW trains everything else."""
    learning_rate: float = 1e-3
    """Of AdamW at its peak, above 0."""
    muon_learning_rate: float = 0.02
    """Of Muon at its peak, above 0."""
    warmup: int = 0
    """Steps (of the warm start) or iterations over which the rate rises, 0 or more."""
    decay: Literal["linear", "constant"] = "linear"
    """`linear` falls to 0 at the end of the phase."""
    weight_decay: float = 0.0
    """Of both optimizers, 0 or more."""
    max_grad_norm: float = 1.0
    """Gradients are scaled down to this norm, above 0; `inf` leaves them as they are."""

    def __post_init__(self) -> None:
        for name, kinds in (("matrices", ("adamw", "muon")), ("decay", ("linear", "constant"))):
            value = getattr(self, name)
            require_setting(value in kinds, f"optimizer.{name}", f"one of {kinds}", value)
        _require_at_least("optimizer", self, warmup=0, weight_decay=0)
        _require_above_zero("optimizer", self, "learning_rate", "muon_learning_rate")
        _require_above_zero("optimizer", self, "max_grad_norm")


@dataclass(frozen=True, kw_only=True)
class SftConfig:
    """The warm start: supervised fine-tuning on the episodes of a policy."""

    steps: int = 0
    """Optimizer steps, 0 or more; 0 leaves the warm start out."""
    policy: str | Policy = "random"
    """Whose episodes: a name, or (in a Python configuration) a policy."""
    episodes: int = 2000
    """How many are played, 1 or more; each step draws its batch from them."""
    batch: int = 32
    """Rows a step, 1 or more."""
    observation_weight: float = 0.0
    """Loss weight of tokens that the policy did not write, 0 or more; those it wrote weigh 1."""
    optimizer: OptimizerConfig = field(default_factory=OptimizerConfig)
    """Rates are per step."""

    def __post_init__(self) -> None:
        _require_at_least("sft", self, steps=0, episodes=1, batch=1, observation_weight=0)
        if isinstance(self.policy, str):
            _require_policy("sft.policy", self.policy)


@dataclass(frozen=True, kw_only=True)
class RlConfig:
    """Reinforcement learning."""

    iterations: int = 100
    """Batches to collect and learn from, 0 or more; 0 stops after the warm start."""
    algorithm: str | Algorithm = "reinforce_rebn"
    """A name of `gemenv.train.presets`, or (in a Python configuration) a composition."""
    settings: dict[str, Any] = field(default_factory=dict[str, Any])
    """Keywords of the named algorithm, such as `gamma` or `group_size`."""
    entropy_coef: float | None = None
    """Reward per nat of entropy, 0 or more; the algorithm's own if left out."""
    epochs: int = 1
    """Passes over a batch, 1 or more; more than one needs an algorithm with a clip."""
    minibatches: int = 1
    """Optimizer steps a pass, 1 or more; more than one needs an algorithm with a clip."""
    optimizer: OptimizerConfig = field(default_factory=OptimizerConfig)
    """Rates are per iteration: all steps of one iteration share one."""

    def __post_init__(self) -> None:
        _require_at_least("rl", self, iterations=0, epochs=1, minibatches=1)
        algorithm = self.make_algorithm()
        if self.epochs * self.minibatches > 1 and algorithm.rule.base == "current":
            raise ConfigError(
                problem="Without a clip, only the first step on a batch follows its gradient.",
                expected="rl.epochs = 1 and rl.minibatches = 1, or an algorithm with a clip",
                got={"epochs": self.epochs, "minibatches": self.minibatches},
                fix="take one step a batch, or use e.g. reinforce_rebn_prox",
            )

    def make_algorithm(self) -> Algorithm:
        """Build the algorithm that these settings describe.

        Raises:
            ConfigError: if there is no such algorithm, or its parts do not fit.
        """
        if isinstance(self.algorithm, str):
            algorithm = make_algorithm(self.algorithm, **self.settings)
        else:
            require_setting(not self.settings, "rl.settings", "empty beside a composition", 1)
            algorithm = self.algorithm
        if self.entropy_coef is not None:
            algorithm = dataclasses.replace(algorithm, entropy_coef=self.entropy_coef)
        return algorithm


@dataclass(frozen=True, kw_only=True)
class EvaluationConfig:
    """How progress is measured: on held-out seeds, before training, on the way, and at the end."""

    every: int = 10
    """Iterations between evaluations, 0 or more; 0 evaluates at the start and the end only."""
    episodes: int = 500
    """One for each held-out seed, 1 or more."""
    first_seed: int = NUM_SEEDS
    """The held-out seeds are this one and those that follow."""
    temperature: float | None = None
    """Of sampling, 0 (greedy) or more; that of the rollouts if left out."""
    references: tuple[str, ...] = ("random", "oracle")
    """Policies, by name, to compare with."""

    def __post_init__(self) -> None:
        _require_at_least("evaluation", self, every=0, episodes=1, first_seed=0)
        is_valid = self.temperature is None or 0 <= self.temperature < math.inf
        require_setting(is_valid, "evaluation.temperature", "0 or more", self.temperature)
        for name in self.references:
            _require_policy("evaluation.references", name)


@dataclass(frozen=True, kw_only=True)
class RunConfig:
    """Where a run lives, and what it may use; all but `seed` may change when it is resumed."""

    dir: str = "runs/default-seed{seed}"
    """The run's folder, made if absent; `{seed}` stands for the seed."""
    seed: int = 0
    """Everything random follows from it; 0 or more."""
    checkpoint_every: int = 10
    """Warm-start steps, or iterations, between checkpoints; 1 or more."""
    checkpoints_kept: int = 2
    """The newest so many stay, 1 or more."""
    episodes_kept: int = 16
    """Episodes of each iteration and each evaluation that go to `trajectories/`, 0 or more."""
    microbatch_tokens: int = 16384
    """The most token slots that are learned from at once, 1 or more; bounds the memory."""
    device: str = "cpu"
    """Where the model lives, as torch names it."""
    threads: int | None = None
    """CPU threads of torch, 1 or more; torch's own choice if left out."""

    def __post_init__(self) -> None:
        _require_at_least("run", self, seed=0, checkpoint_every=1, checkpoints_kept=1)
        _require_at_least("run", self, episodes_kept=0, microbatch_tokens=1)
        is_valid = self.threads is None or self.threads >= 1
        require_setting(is_valid, "run.threads", "1 or more", self.threads)


@dataclass(frozen=True, kw_only=True)
class TrainConfig:
    """A whole training run.

    Example:
        >>> config = TrainConfig(rl=RlConfig(algorithm="rloo", settings={"group_size": 4}))
        >>> config.rl.make_algorithm().group_size
        4
    """

    env: EnvConfig = field(default_factory=EnvConfig)
    """The environment."""
    model: ModelConfig = field(default_factory=ModelConfig)
    """The language model."""
    rollout: RolloutConfig = field(default_factory=RolloutConfig)
    """How it plays."""
    sft: SftConfig = field(default_factory=SftConfig)
    """The warm start."""
    rl: RlConfig = field(default_factory=RlConfig)
    """Reinforcement learning."""
    evaluation: EvaluationConfig = field(default_factory=EvaluationConfig)
    """How progress is measured."""
    run: RunConfig = field(default_factory=RunConfig)
    """Where the run lives."""

    def __post_init__(self) -> None:
        first, end = self.env.train_seeds
        held_out = self.evaluation.first_seed
        is_disjoint = held_out >= end or held_out + self.evaluation.episodes <= first
        domain = "held-out seeds outside env.train_seeds"
        require_setting(is_disjoint, "evaluation.first_seed", domain, held_out)
        group_size = self.rl.make_algorithm().group_size
        is_whole = self.rollout.episodes % group_size == 0
        domain = f"a multiple of the algorithm's group size, {group_size}"
        require_setting(is_whole, "rollout.episodes", domain, self.rollout.episodes)
        num_rows = self.rollout.episodes
        is_enough = self.rl.minibatches <= num_rows
        require_setting(is_enough, "rl.minibatches", f"at most {num_rows}", self.rl.minibatches)


def _require_at_least(section: str, config: object, **least: float) -> None:
    for name, bound in least.items():
        value = getattr(config, name)
        is_valid = bound <= value < math.inf
        require_setting(is_valid, f"{section}.{name}", f"a number of {bound} or more", value)


def _require_policy(setting: str, name: str) -> None:
    try:
        named_policy(name)
    except ArgumentError as error:
        raise ConfigError(
            problem=f"The setting {setting!r} is outside its domain.",
            expected=error.expected,
            got=name,
            fix=error.fix,
        ) from error


def _require_above_zero(section: str, config: object, *names: str) -> None:
    for name in names:
        value = getattr(config, name)
        is_valid = value is None or value > 0
        require_setting(is_valid, f"{section}.{name}", "a number above 0", value)
