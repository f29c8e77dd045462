"""Training, from a configuration to a folder with a trained model and a report.

Read `train` first, then `_reinforce`: collect, update, sync, measure, evaluate, log, checkpoint.
Everything random in an iteration follows from the run's seed and the iteration's number, so a run
that was killed goes on from its last checkpoint and ends in the same place.
"""

import asyncio
import copy
import math
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any

import torch

from gemenv.core.seeding import Stream, make_generator
from gemenv.rollout.episode import conversation_of
from gemenv.rollout.policies.named import named_policy
from gemenv.rollout.policy import Policy
from gemenv.rollout.trajectory import Trajectory
from gemenv.train.batch import final_contexts, make_batch
from gemenv.train.checkpoint import Phase
from gemenv.train.config import TrainConfig
from gemenv.train.evaluation import Scores, scores
from gemenv.train.learner import Learner
from gemenv.train.metrics import rollout_metrics
from gemenv.train.model import LanguageModel, build_model, load_model
from gemenv.train.network import PolicyNetwork
from gemenv.train.optimizer import PolicyOptimizer
from gemenv.train.report import write_report
from gemenv.train.rollouts import ModelPlayer, play
from gemenv.train.run_folder import RunFolder
from gemenv.train.sft import imitate, make_demonstrations
from gemenv.train.weight_sync import sync_weights


@dataclass(frozen=True, kw_only=True)
class Progress:
    """A step was done."""

    phase: Phase
    """The warm start, or reinforcement learning."""
    step: int
    """Steps or iterations done in this phase."""
    total: int
    """How many there will be."""
    metrics: Mapping[str, Any]
    """Of this step, as in `metrics.jsonl`."""


@dataclass(frozen=True, kw_only=True)
class TrainResult:
    """What a run came to, on the held-out seeds."""

    path: Path
    """The run's folder."""
    before: Scores
    """After the warm start, before reinforcement learning."""
    after: Scores
    """At the end."""
    references: Sequence[Scores]
    """The policies to compare with."""


def train(
    config: TrainConfig,
    *,
    resume: bool = False,
    on_progress: Callable[[Progress], None] = lambda _: None,
) -> TrainResult:
    """Run a whole training. It runs its own event loop, so call it outside of any.

    Args:
        config: what to do.
        resume: go on if the folder holds this run already; without it that is an error.
        on_progress: called after each step.

    Returns:
        Scores before and after, and where the rest is.

    Raises:
        ConfigError: if the folder holds something else, or the configuration does not fit.
        CorruptFileError: if what is to be resumed was damaged.
        TrainingError: if a number is not finite, or there is nothing to learn from.
    """
    folder = RunFolder(config, resume=resume)
    if config.run.threads is not None:
        torch.set_num_threads(config.run.threads)
    with asyncio.Runner() as runner:
        return runner.run(_train(config, folder, on_progress))


async def _train(
    config: TrainConfig, folder: RunFolder, on_progress: Callable[[Progress], None]
) -> TrainResult:
    model = await _make_model(config)
    network = PolicyNetwork(
        model.network, has_critic=config.rl.make_algorithm().value is not None
    ).eval()  # without dropout, so that learner and engine are one policy
    run = _Run(config, folder, on_progress, model, network, ModelPlayer(config, model))
    folder.begin()  # not before everything that the configuration names could be made
    if folder.phase != "rl":
        await _warm_start(run)
    await _reinforce(run)
    folder.save_model(model)
    references = [
        scores(name, await _held_out(run, named_policy(name)))
        for name in config.evaluation.references
    ]
    lines = [line for line in folder.metrics() if line["phase"] == "rl"]
    before = _scores_of("model, before", lines[0])
    after = _scores_of("model, after", lines[-1])
    write_report(folder, config, [before, after, *references])
    return TrainResult(path=folder.path, before=before, after=after, references=references)


@dataclass(frozen=True)
class _Run:
    """What the phases of a run share."""

    config: TrainConfig
    folder: RunFolder
    on_progress: Callable[[Progress], None]
    model: LanguageModel
    network: PolicyNetwork
    player: ModelPlayer

    def done(self, phase: Phase, step: int, total: int, metrics: Mapping[str, Any]) -> None:
        """Log a step, and tell whoever watches."""
        self.folder.log({"phase": phase, "step": step, **metrics})
        self.on_progress(Progress(phase=phase, step=step, total=total, metrics=metrics))

    def checkpoint(self, phase: Phase, step: int, optimizer: PolicyOptimizer) -> None:
        """Save everything that changes."""
        state = {"network": self.network.state_dict(), "optimizer": optimizer.state_dict()}
        self.folder.save(phase, step, state)

    def restore(self, optimizer: PolicyOptimizer) -> int:
        """Go back to the checkpoint that the folder was opened at; return its step."""
        self.network.load_state_dict(self.folder.state["network"])
        optimizer.load_state_dict(self.folder.state["optimizer"])
        self.folder.state.clear()  # copies of everything: let them go
        return self.folder.step


async def _make_model(config: TrainConfig) -> LanguageModel:
    if config.model.path is not None:
        model = load_model(config.model.path)
    else:
        first, end = config.env.train_seeds
        seeds = range(first, min(end, first + config.model.sample_episodes))
        episodes = await play(config, _teacher(config), seeds)
        transcripts = [conversation_of(episode) for episode in episodes]
        model = build_model(config.model, transcripts, config.run.seed)
    return model.to(config.run.device)


async def _warm_start(run: _Run) -> None:
    """Imitate the episodes of a policy."""
    config, sft = run.config, run.config.sft
    if sft.steps == 0:
        return
    rng = make_generator(config.run.seed, Stream.TRAINING, 0)
    seeds = rng.integers(*config.env.train_seeds, size=sft.episodes).tolist()
    policy_seed = int(rng.integers(2**63))
    episodes = await play(config, _teacher(config), seeds, policy_seed=policy_seed)
    data = make_demonstrations(
        episodes,
        run.model,
        run.player.renderer,
        observation_weight=sft.observation_weight,
        max_tokens=config.model.context_tokens,
    )
    chosen_SB = rng.integers(len(data.ids_BT), size=(sft.steps, sft.batch))
    optimizer = PolicyOptimizer(run.network, sft.optimizer, sft.steps)
    first = run.restore(optimizer) if run.folder.phase == "sft" else 0
    for step in range(first, sft.steps):
        optimizer.set_progress(step)
        metrics = imitate(
            run.network,
            optimizer,
            data,
            chosen_SB[step],
            microbatch_tokens=config.run.microbatch_tokens,
        )
        run.done("sft", step + 1, sft.steps, metrics)
        if (step + 1) % config.run.checkpoint_every == 0:
            run.checkpoint("sft", step + 1, optimizer)


async def _reinforce(run: _Run) -> None:
    """Learn from the model's own episodes."""
    config, rl = run.config, run.config.rl
    learner = Learner(
        run.network,
        rl,
        temperature=config.rollout.temperature,
        max_new_tokens=config.rollout.max_new_tokens,
        microbatch_tokens=config.run.microbatch_tokens,
        failure_file=run.folder.path / "failed_step.json",
    )
    if run.folder.phase == "rl":
        first = run.restore(learner.optimizer)
    else:
        first = 0
        run.done("rl", 0, rl.iterations, await _evaluation_metrics(run, 0))
        run.checkpoint("rl", 0, learner.optimizer)
    if learner.algorithm.kl is not None:
        learner.reference = _reference(run)
    for iteration in range(first, rl.iterations):
        metrics = await _iterate(run, learner, iteration)
        done = iteration + 1
        is_last = done == rl.iterations
        if is_last or (config.evaluation.every and done % config.evaluation.every == 0):
            metrics |= await _evaluation_metrics(run, done)
        run.done("rl", done, rl.iterations, metrics)
        if is_last or done % config.run.checkpoint_every == 0:
            run.checkpoint("rl", done, learner.optimizer)


async def _iterate(run: _Run, learner: Learner, iteration: int) -> dict[str, float]:
    """Collect a batch under the present weights, and learn from it once."""
    config, player = run.config, run.player
    await sync_weights(run.network, player.engine, iteration)
    rng = make_generator(config.run.seed, Stream.TRAINING, 1 + iteration)
    group_size = learner.algorithm.group_size
    seeds = rng.integers(*config.env.train_seeds, size=config.rollout.episodes // group_size)
    began = time.perf_counter()
    episodes = await play(
        config,
        player.policy(config.rollout.temperature),
        seeds.tolist(),
        group_size=group_size,
        policy_seed=int(rng.integers(2**63)),
    )
    collected = time.perf_counter()
    run.folder.keep_training(episodes[: config.run.episodes_kept])
    batch = make_batch(episodes)
    contexts: dict[int, list[int]] = {}
    if run.network.has_critic:
        max_tokens = config.model.context_tokens
        contexts = final_contexts(episodes, batch.turns, player.renderer, max_tokens)
    metrics = rollout_metrics(episodes, iteration)
    metrics |= learner.update(batch, contexts, iteration, rng)
    return metrics | {"collect_s": collected - began, "update_s": time.perf_counter() - collected}


async def _evaluation_metrics(run: _Run, version: int) -> dict[str, Any]:
    """Let the model play the held-out seeds."""
    evaluation = run.config.evaluation
    temperature = evaluation.temperature
    if temperature is None:
        temperature = run.config.rollout.temperature
    await sync_weights(run.network, run.player.engine, version)
    began = time.perf_counter()
    episodes = await _held_out(run, run.player.policy(temperature))
    run.folder.keep_evaluation(episodes[: run.config.run.episodes_kept])
    found = asdict(scores("model", episodes))
    metrics = {f"eval/{name}": value for name, value in found.items() if name != "policy"}
    return metrics | {"evaluate_s": time.perf_counter() - began}


def _scores_of(policy: str, line: Mapping[str, Any]) -> Scores:
    """Read scores back from a line of metrics, where NaN is null."""
    found: dict[str, Any] = {"policy": policy}
    for name in (field.name for field in fields(Scores) if field.name != "policy"):
        value = line[f"eval/{name}"]
        found[name] = math.nan if value is None else value
    return Scores(**found)


async def _held_out(run: _Run, policy: Policy) -> list[Trajectory]:
    first = run.config.evaluation.first_seed
    return await play(run.config, policy, range(first, first + run.config.evaluation.episodes))


def _teacher(config: TrainConfig) -> Policy:
    policy = config.sft.policy
    return named_policy(policy) if isinstance(policy, str) else policy


def _reference(run: _Run) -> PolicyNetwork:
    """Return the policy at the start of reinforcement learning, frozen."""
    reference = copy.deepcopy(run.network)
    reference.load_state_dict(run.folder.start_of_rl()["network"])
    return reference.requires_grad_(False)
