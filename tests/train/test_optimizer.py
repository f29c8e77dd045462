import pytest
import torch

from gemenv.train.config import OptimizerConfig
from gemenv.train.network import PolicyNetwork, no_positions
from gemenv.train.optimizer import PolicyOptimizer
from tests.train.toys import tiny_model

IDS = torch.tensor([[5, 6, 7, 8, 9]])
TOKENS = torch.tensor([0, 0]), torch.tensor([1, 4])


def network() -> PolicyNetwork:
    return PolicyNetwork(tiny_model().network, has_critic=True)


def backward(net: PolicyNetwork) -> None:
    states = torch.tensor([0]), torch.tensor([2])
    outputs = net(IDS, TOKENS, states, 1.0)
    torch.autograd.backward(outputs.value_S.sum() - outputs.logp_M.sum())


@pytest.mark.parametrize("matrices", ["adamw", "muon"])
def test_every_weight_is_trained(matrices: str):
    net = network()
    before = {name: weight.clone() for name, weight in net.named_parameters()}
    optimizer = PolicyOptimizer(net, OptimizerConfig(matrices=matrices), 10)  # pyright: ignore[reportArgumentType]
    optimizer.set_progress(0)
    for _ in range(2):  # a head of zeros lets no gradient through at first
        optimizer.zero_grad()
        backward(net)
        optimizer.step()
    unchanged = [
        name for name, weight in net.named_parameters() if torch.equal(weight, before[name])
    ]
    assert unchanged == []


def test_muon_takes_the_matrices_of_the_layers_only():
    net = network()
    optimizer = PolicyOptimizer(net, OptimizerConfig(matrices="muon"), 10)
    backward(net)
    optimizer.step()
    adamw, muon = optimizer.state_dict()
    num_matrices = sum(p.ndim == 2 and ".layers." in name for name, p in net.named_parameters())
    assert len(muon["state"]) == num_matrices == 7
    assert len(adamw["state"]) == len(list(net.parameters())) - num_matrices


def test_gradients_are_scaled_to_the_norm_that_is_allowed():
    net = network()
    backward(net)
    optimizer = PolicyOptimizer(net, OptimizerConfig(max_grad_norm=0.01), 10)
    assert optimizer.clip().item() > 0.01
    assert optimizer.clip().item() == pytest.approx(0.01, rel=1e-3)


def test_progress_sets_every_rate():
    config = OptimizerConfig(matrices="muon", learning_rate=1.0, muon_learning_rate=4.0)
    optimizer = PolicyOptimizer(network(), config, 4)
    assert optimizer.set_progress(3) == 0.25
    rates = [part["param_groups"][0]["lr"] for part in optimizer.state_dict()]
    assert rates == [0.25, 1.0]


def test_a_restored_optimizer_goes_on_as_if_it_had_never_stopped():
    def two_steps(*, is_restored: bool) -> list[torch.Tensor]:
        net = network()
        optimizer = PolicyOptimizer(net, OptimizerConfig(matrices="muon"), 10)
        for step in range(2):
            if is_restored and step == 1:
                state = optimizer.state_dict()
                optimizer = PolicyOptimizer(net, OptimizerConfig(matrices="muon"), 10)
                optimizer.load_state_dict(state)
            optimizer.set_progress(step)
            optimizer.zero_grad()
            backward(net)
            optimizer.step()
        return list(net.parameters())

    for whole, restored in zip(
        two_steps(is_restored=False), two_steps(is_restored=True), strict=True
    ):
        assert torch.equal(whole, restored)


def test_asking_for_nothing_needs_no_critic():
    outputs = PolicyNetwork(tiny_model().network)(
        IDS, TOKENS, no_positions(torch.device("cpu")), 1.0
    )
    assert outputs.value_S.shape == (0,)
