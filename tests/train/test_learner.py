import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from gemenv.errors import TrainingError
from gemenv.rollout.renderers.template import TemplateRenderer
from gemenv.rollout.trajectory import Trajectory
from gemenv.train.aggregation import Aggregation
from gemenv.train.algorithms import Algorithm
from gemenv.train.batch import final_contexts, make_batch
from gemenv.train.config import OptimizerConfig, RlConfig
from gemenv.train.learner import Learner
from gemenv.train.network import PolicyNetwork
from gemenv.train.presets import grpo, make_algorithm, ppo, reinforce, reinforce_rebn_prox
from tests.train.toys import episode, episodes, sampled_episodes, tiny_model

FAILURE = Path("never-written.json")


def learner(
    algorithm: Algorithm,
    *,
    microbatch_tokens: int = 10**6,
    minibatches: int = 1,
    rate: float = 1e-3,
    temperature: float = 1.0,
    failure_file: Path = FAILURE,
    **rl: Any,
) -> Learner:
    optimizer = OptimizerConfig(learning_rate=rate, max_grad_norm=1e9)
    config = RlConfig(algorithm=algorithm, minibatches=minibatches, optimizer=optimizer, **rl)
    network = PolicyNetwork(tiny_model().network, has_critic=algorithm.value is not None)
    reference = PolicyNetwork(tiny_model(seed=1).network) if algorithm.kl is not None else None
    return Learner(
        network,
        config,
        temperature=temperature,
        max_new_tokens=8,
        microbatch_tokens=microbatch_tokens,
        failure_file=failure_file,
        reference=reference,
    )


def update(
    trained: Learner,
    trajectories: Sequence[Trajectory],
    contexts: dict[int, list[int]] | None = None,
) -> dict[str, float]:
    rng = np.random.default_rng(0)
    return trained.update(make_batch(trajectories), contexts or {}, 0, rng)


def gradients(trained: Learner) -> dict[str, torch.Tensor]:
    return {n: p.grad for n, p in trained.network.named_parameters() if p.grad is not None}


ALGORITHMS = [
    make_algorithm("reinforce_rebn"),
    replace(reinforce_rebn_prox(), entropy_coef=0.01),
    grpo(group_size=2),
    ppo(),
    replace(reinforce(), aggregation=Aggregation("traj", "none")),
]


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_microbatches_cannot_change_the_gradient(algorithm: Algorithm):
    whole, split = learner(algorithm), learner(algorithm, microbatch_tokens=30)
    found, expected = update(split, episodes()), update(whole, episodes())
    assert found == pytest.approx(expected, rel=1e-4, abs=1e-6)
    split_gradients = gradients(split)
    for name, gradient in gradients(whole).items():
        torch.testing.assert_close(split_gradients[name], gradient, rtol=1e-4, atol=1e-7)


@pytest.mark.parametrize("algorithm", ALGORITHMS[1:4])
def test_minibatches_estimate_the_loss_of_the_whole_batch(algorithm: Algorithm):
    trajectories = [
        episode([float(i % 3)], group=i // 2, seed=i) for i in range(8)
    ]  # equally many rows in each of four minibatches
    whole = update(learner(algorithm, rate=1e-12), trajectories)
    quarters = update(learner(algorithm, rate=1e-12, minibatches=4), trajectories)
    assert quarters["loss"] == pytest.approx(whole["loss"], abs=1e-6)
    assert quarters["num_tokens"] == whole["num_tokens"]


def test_an_answer_that_paid_becomes_likelier_and_one_that_did_not_less():
    trajectories = [episode([1.0], seed=1), episode([0.0], seed=2)]
    trained = learner(make_algorithm("reinforce_rebn"))

    def logp() -> list[float]:
        batch = make_batch(trajectories)
        ids_BT = torch.tensor(batch.ids_BT)
        logp_BTV = trained.network.model(ids_BT).logits.log_softmax(-1)
        logp_BT = logp_BTV[:, :-1].gather(-1, ids_BT[:, 1:, None])[..., 0]
        return (logp_BT * torch.tensor(batch.mask_BT[:, 1:])).sum(1).tolist()

    before = logp()
    update(trained, trajectories)
    after = logp()
    assert after[0] > before[0] + 1e-3
    assert after[1] < before[1] - 1e-3


@pytest.mark.parametrize("temperature", [1.0, 0.5])
def test_learner_and_sampler_agree_at_the_sampling_temperature(temperature: float):
    trained = learner(reinforce_rebn_prox(), temperature=temperature)
    model = replace(tiny_model(), network=trained.network.model)
    played = sampled_episodes(model, temperature=temperature)
    played[0].turns[0].reward = 1.0
    metrics = update(trained, played)
    assert metrics["sampler_kl_v2"] < 1e-10
    assert metrics["sampler_missing"] == 0


def test_another_temperature_is_noticed():
    trained = learner(reinforce_rebn_prox(), temperature=0.5)
    model = replace(tiny_model(), network=trained.network.model)
    assert update(trained, sampled_episodes(model, temperature=1.0))["sampler_kl_v2"] > 1e-5


def test_a_critic_learns_the_returns():
    trained = learner(ppo(gamma=1.0), rate=3e-3, iterations=1000)
    batch = make_batch([episode([1.0], seed=1), episode([0.0], seed=2), episode([1.0], seed=3)])
    rng = np.random.default_rng(0)
    first = trained.update(batch, {}, 0, rng)
    for _ in range(60):
        last = trained.update(batch, {}, 0, rng)
    assert first["explained_variance"] == pytest.approx(0.0, abs=1e-6)
    assert last["explained_variance"] > 0.9
    assert last["value"] == pytest.approx(2 / 3, abs=0.1)


def test_a_critic_judges_the_state_in_which_an_episode_was_cut():
    trained = learner(ppo(gamma=1.0), rate=1e-12)
    assert trained.network.value_head is not None
    torch.nn.init.ones_(trained.network.value_head.bias)
    model = replace(tiny_model(), network=trained.network.model)
    played = sampled_episodes(model)
    batch = make_batch(played)
    contexts = final_contexts(played, batch.turns, TemplateRenderer(model.tokenizer), 512)
    assert contexts
    # rewards are 0, values 1 everywhere: cut episodes are worth 1, finished ones 0
    with_them, without = update(trained, played, contexts), update(trained, played)
    assert with_them["loss"] < without["loss"]


def test_a_reference_is_priced():
    metrics = update(learner(grpo(group_size=2)), episodes())
    assert metrics["ref_kl_k3"] > 0


def test_a_number_that_is_not_finite_stops_the_run_before_the_step(tmp_path: Path):
    file = tmp_path / "failed.json"
    trained = learner(make_algorithm("reinforce_rebn"), failure_file=file)
    weight = trained.network.model.lm_head.weight
    with torch.no_grad():
        weight[3, 0] = float("nan")
    before = weight.clone()
    with pytest.raises(TrainingError, match="not finite") as caught:
        update(trained, episodes())
    assert str(file) in caught.value.fix
    rows = json.loads(file.read_text())
    assert len(rows["token_ids"]) == len(rows["advantages"]) == len(make_batch(episodes()).ids_BT)
    assert torch.equal(weight.isnan(), before.isnan())
    assert torch.equal(weight[5], before[5])


def test_epochs_are_counted_once_in_the_tokens():
    once = update(learner(reinforce_rebn_prox()), episodes())
    twice = update(learner(reinforce_rebn_prox(), epochs=2), episodes())
    assert twice["num_tokens"] == once["num_tokens"]
