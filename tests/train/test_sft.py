import asyncio

import numpy as np
import pytest
import torch

from gemenv.errors import TrainingError
from gemenv.rollout.policies.named import named_policy
from gemenv.rollout.renderers.template import TemplateRenderer
from gemenv.rollout.trajectory import Trajectory
from gemenv.train.config import OptimizerConfig, TrainConfig
from gemenv.train.model import LanguageModel
from gemenv.train.network import PolicyNetwork
from gemenv.train.optimizer import PolicyOptimizer
from gemenv.train.rollouts import play
from gemenv.train.sft import Demonstrations, imitate, make_demonstrations
from tests.train.toys import episode, sampled_episodes, tiny_model


def expert_episodes(num: int = 6) -> list[Trajectory]:
    return asyncio.run(play(TrainConfig(), named_policy("expert"), range(num)))


def demonstrations(
    trajectories: list[Trajectory], model: LanguageModel, *, weight: float = 0.0, limit: int = 512
) -> Demonstrations:
    renderer = TemplateRenderer(model.tokenizer)
    return make_demonstrations(
        trajectories, model, renderer, observation_weight=weight, max_tokens=limit
    )


def test_what_the_policy_wrote_is_learned_and_the_rest_weighs_less():
    model, played = tiny_model(), expert_episodes()
    data = demonstrations(played, model, weight=0.3)
    for row, trajectory in enumerate(played):
        ids = data.ids_BT[row, : data.length_B[row]]
        weights = data.weight_BT[row, : data.length_B[row]]
        written = model.tokenizer.decode(ids[weights == 1.0])
        assert written == "".join(turn.action + "<|im_end|>" for turn in trajectory.turns)
        assert weights[0] == 0.0
        assert set(weights[1:].tolist()) == {0.3, 1.0}
        assert not data.weight_BT[row, data.length_B[row] :].any()


def test_a_demonstration_is_what_the_model_would_have_seen_and_sampled():
    model = tiny_model()
    played = sampled_episodes(model, num=2)
    for trajectory in played:
        for turn in trajectory.turns:
            turn.action = "5"
    first = demonstrations(played, model).ids_BT[0].tolist()
    prompt_end = played[0].segments[0].spans[0].start
    assert first[:prompt_end] == played[0].segments[0].token_ids[:prompt_end]


def test_turns_beyond_the_context_are_left_out():
    model, played = tiny_model(), expert_episodes()
    whole = demonstrations(played, model)
    limit = int(whole.length_B.max()) - 1
    cut = demonstrations(played, model, limit=limit)
    longest = int(whole.length_B.argmax())
    assert cut.length_B.max() <= limit
    assert cut.length_B[longest] < whole.length_B[longest]
    assert cut.weight_BT[longest, cut.length_B[longest] - 1] == 1.0  # it ends with a whole answer


def test_nothing_to_imitate_is_told():
    broken = episode([1.0], outcome="policy_error")
    broken.error = "NoReferenceError: no expert"
    with pytest.raises(TrainingError, match="nothing to imitate") as caught:
        demonstrations([broken], tiny_model())
    assert "no expert" in caught.value.got


def step(data: Demonstrations, chosen: list[int], tokens: int = 10**6) -> tuple[float, list[float]]:
    network = PolicyNetwork(tiny_model().network)
    optimizer = PolicyOptimizer(network, OptimizerConfig(), 10)
    metrics = imitate(network, optimizer, data, np.array(chosen), microbatch_tokens=tokens)
    gradient = network.model.get_input_embeddings().weight.grad
    return metrics["loss"], gradient.flatten().tolist()


def test_the_loss_is_the_weighted_mean_of_minus_log_probs():
    data = demonstrations(expert_episodes(), tiny_model(), weight=0.3)
    loss, _ = step(data, [0, 2])
    total = weight_sum = 0.0
    for row in (0, 2):
        ids = torch.tensor(data.ids_BT[row])[None]
        logp = tiny_model().network(ids).logits[0].log_softmax(-1)
        for t in range(1, int(data.length_B[row])):
            total -= data.weight_BT[row, t] * logp[t - 1, ids[0, t]].item()
            weight_sum += data.weight_BT[row, t]
    assert loss == pytest.approx(total / weight_sum, rel=1e-4)


def test_microbatches_cannot_change_the_gradient():
    data = demonstrations(expert_episodes(), tiny_model(), weight=0.3)
    whole, split = step(data, [0, 1, 1, 3, 5]), step(data, [0, 1, 1, 3, 5], tokens=60)
    assert split[0] == pytest.approx(whole[0], rel=1e-5)
    assert split[1] == pytest.approx(whole[1], rel=1e-4, abs=1e-7)


def test_imitation_makes_the_answers_likely():
    data = demonstrations(expert_episodes(), tiny_model())
    network = PolicyNetwork(tiny_model().network)
    optimizer = PolicyOptimizer(network, OptimizerConfig(learning_rate=1e-2), 30)
    rows = np.arange(6)
    losses = [
        imitate(network, optimizer, data, rows, microbatch_tokens=10**6)["loss"] for _ in range(30)
    ]
    assert losses[-1] < losses[0] / 3


def test_a_loss_that_is_not_finite_stops_the_run():
    data = demonstrations(expert_episodes(), tiny_model())
    network = PolicyNetwork(tiny_model().network)
    torch.nn.init.constant_(network.model.lm_head.weight, float("inf"))
    optimizer = PolicyOptimizer(network, OptimizerConfig(), 10)
    with pytest.raises(TrainingError, match="not finite"):
        imitate(network, optimizer, data, np.arange(2), microbatch_tokens=10**6)
