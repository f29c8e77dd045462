"""A network under FSDP2 learns the same, and its engine gets whole weights."""

import asyncio
from collections.abc import Iterator

import numpy as np
import pytest
import torch
import torch.distributed as dist
from torch.distributed.fsdp import fully_shard
from torch.distributed.tensor import DTensor

from gemenv.rollout.engines.torch_engine import TorchEngine
from gemenv.train.batch import make_batch
from gemenv.train.config import RlConfig
from gemenv.train.learner import Learner
from gemenv.train.network import PolicyNetwork
from gemenv.train.presets import ppo
from gemenv.train.weight_sync import sync_weights
from tests.train.test_learner import FAILURE
from tests.train.toys import episodes, tiny_model


@pytest.fixture
def process_group() -> Iterator[None]:
    dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=1)
    yield
    dist.destroy_process_group()


def learned(*, is_sharded: bool) -> PolicyNetwork:
    network = PolicyNetwork(tiny_model().network, has_critic=True)
    if is_sharded:
        fully_shard(network)
    trained = Learner(
        network,
        RlConfig(algorithm=ppo(), minibatches=2),
        temperature=1.0,
        max_new_tokens=8,
        microbatch_tokens=100,
        failure_file=FAILURE,
    )
    trained.update(make_batch(episodes()), {}, 0, np.random.default_rng(0))
    return network


@pytest.mark.usefixtures("process_group")
def test_sharding_changes_nothing():
    whole, sharded = learned(is_sharded=False), learned(is_sharded=True)
    expected = dict(whole.named_parameters())
    for name, weight in sharded.named_parameters():
        assert isinstance(weight, DTensor)
        torch.testing.assert_close(weight.full_tensor(), expected[name])
    engine = TorchEngine(tiny_model(seed=1).network)  # its own copy: it samples outside the shards

    async def scores(network: PolicyNetwork) -> list[float]:
        await sync_weights(network, engine, version=1)
        return await engine.score([5, 6, 7])

    found, wanted = asyncio.run(scores(sharded)), asyncio.run(scores(whole))
    assert found[1:] == pytest.approx(wanted[1:], abs=1e-6)
