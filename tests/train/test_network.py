import pytest
import torch

from gemenv.train.network import PolicyNetwork, no_positions
from tests.train.toys import tiny_model

IDS = torch.tensor([[5, 6, 7, 8, 9], [15, 16, 17, 0, 0]])
TOKENS = torch.tensor([0, 0, 1]), torch.tensor([1, 4, 2])
CPU = torch.device("cpu")


@pytest.mark.parametrize("temperature", [1.0, 0.6])
def test_log_probs_and_entropies_are_those_of_the_model(temperature: float):
    model = tiny_model().network
    outputs = PolicyNetwork(model)(IDS, TOKENS, no_positions(CPU), temperature)
    logp_BTV = (model(IDS).logits / temperature).log_softmax(-1)
    for m, (row, slot) in enumerate(zip(*TOKENS, strict=True)):
        before = logp_BTV[row, slot - 1]
        assert outputs.logp_M[m].item() == pytest.approx(before[IDS[row, slot]].item(), abs=1e-5)
        entropy = -(before.exp() * before).sum().item()
        assert outputs.entropy_M[m].item() == pytest.approx(entropy, abs=1e-5)


def test_padding_changes_nothing():
    network = PolicyNetwork(tiny_model().network)
    wide = torch.nn.functional.pad(IDS, (0, 7), value=99)
    narrow_M = network(IDS, TOKENS, no_positions(CPU), 1.0).logp_M
    torch.testing.assert_close(network(wide, TOKENS, no_positions(CPU), 1.0).logp_M, narrow_M)


def test_a_fresh_critic_says_zero_and_sees_the_last_token_of_its_state():
    network = PolicyNetwork(tiny_model().network, has_critic=True)
    states = torch.tensor([0]), torch.tensor([2])

    def value(ids: torch.Tensor) -> float:
        return network(ids, no_positions(CPU), states, 1.0).value_S.item()

    assert value(IDS) == 0.0
    assert network.value_head is not None
    torch.nn.init.ones_(network.value_head.weight)
    other_end, other_future = IDS.clone(), IDS.clone()
    other_end[0, 2], other_future[0, 3] = 77, 77
    assert value(other_end) != pytest.approx(value(IDS), abs=1e-6)
    assert value(other_future) == pytest.approx(value(IDS), abs=1e-6)


def test_a_critic_draws_nothing_from_the_global_generator():
    model = tiny_model().network
    before = torch.random.get_rng_state()
    PolicyNetwork(model, has_critic=True)
    assert torch.equal(torch.random.get_rng_state(), before)
