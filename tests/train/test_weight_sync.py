import asyncio
import math

import pytest
import torch

from gemenv.rollout.engines.torch_engine import TorchEngine
from gemenv.train.network import PolicyNetwork
from gemenv.train.weight_sync import sync_weights
from tests.train.toys import tiny_model


@pytest.mark.parametrize("is_shared", [True, False])
def test_the_engine_samples_with_the_weights_of_the_learner(is_shared: bool):
    network = PolicyNetwork(tiny_model().network, has_critic=True)
    engine = TorchEngine(network.model if is_shared else tiny_model(seed=1).network)

    async def synced() -> list[float]:
        with torch.no_grad():
            network.model.lm_head.weight.mul_(3.0)
        await sync_weights(network, engine, version=7)
        assert engine.version == 7
        return await engine.score([5, 6, 7])

    found = asyncio.run(synced())
    logp = network.model(torch.tensor([[5, 6, 7]])).logits[0].log_softmax(-1)
    assert math.isnan(found[0])
    assert found[1:] == pytest.approx([logp[0, 6].item(), logp[1, 7].item()], abs=1e-5)
