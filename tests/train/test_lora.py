"""Low-rank adapters."""

import pytest
import torch
from torch import nn

from gemenv.errors import ConfigError
from gemenv.train.lora import LoraLinear


def layer(rank: int = 2) -> LoraLinear:
    draw = torch.Generator().manual_seed(0)
    base = nn.Linear(4, 3, dtype=torch.float64)
    return LoraLinear(base, rank=rank, generator=draw)


def test_the_merged_weight_does_what_the_two_paths_do() -> None:
    adapted = layer()
    adapted.lora_b.data.normal_(generator=torch.Generator().manual_seed(1))
    x = torch.linspace(-1, 1, 8, dtype=torch.float64).reshape(2, 4)
    merged = nn.functional.linear(x, adapted.merged_weight(), adapted.base.bias)
    torch.testing.assert_close(adapted(x), merged)
    assert not torch.allclose(adapted(x), adapted.base(x))


def test_only_the_adapter_is_trained() -> None:
    trained = {name for name, p in layer().named_parameters() if p.requires_grad}
    assert trained == {"lora_a", "lora_b"}


def test_the_start_is_reproducible_and_draws_nothing_global() -> None:
    base, state = nn.Linear(4, 3), torch.random.get_rng_state()
    first, second = (
        LoraLinear(base, rank=2, generator=torch.Generator().manual_seed(7)) for _ in range(2)
    )
    assert torch.equal(first.lora_a, second.lora_a)
    assert torch.equal(state, torch.random.get_rng_state())


def test_a_rank_of_0_is_refused() -> None:
    with pytest.raises(ConfigError, match=r"lora\.rank"):
        layer(rank=0)
