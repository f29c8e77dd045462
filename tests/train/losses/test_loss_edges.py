"""Edges of the losses: settings, shapes, caps, excluded tokens."""

import math
from typing import Any

import pytest
import torch

from gemenv.errors import ConfigError, ContractError
from gemenv.train.losses.entropy import entropy_from_logits
from gemenv.train.losses.kl import KlPenalty, kl_terms
from gemenv.train.losses.off_policy import OffPolicy
from gemenv.train.losses.surrogate import Cispo, Gmpo, Gspo, Ppo
from gemenv.train.losses.value import ValueLoss
from gemenv.train.losses.verifree import verifree_loss

TIS: dict[str, Any] = {"level": "token", "mode": "truncate", "high": 2.0}


@pytest.mark.parametrize(
    ("part", "settings"),
    [
        (Ppo, {"clip_low": 0.0}),
        (Ppo, {"clip_low": 1.5}),
        (Ppo, {"clip_high": -0.1}),
        (Ppo, {"clip_high": float("nan")}),
        (Ppo, {"dual_clip": 1.0}),
        (Gspo, {"clip_low": -1.0}),
        (Gmpo, {"clip_high": 0.0}),
        (Cispo, {"cap_high": 0.0}),
        (KlPenalty, {"coef": 0.0}),
        (KlPenalty, {"coef": 0.1, "kind": "k1"}),
        (OffPolicy, TIS | {"level": "row"}),
        (OffPolicy, TIS | {"mode": "drop"}),
        (OffPolicy, TIS | {"numerator": "ref"}),
        (OffPolicy, TIS | {"low": -0.5}),
        (OffPolicy, TIS | {"low": 2.0}),
        (ValueLoss, {"coef": 0.0}),
        (ValueLoss, {"clip": 0.0}),
    ],
)
def test_a_setting_outside_its_domain_is_refused(part: Any, settings: dict[str, Any]) -> None:
    with pytest.raises(ConfigError, match="outside its domain"):
        part(**settings)


def test_an_unknown_estimator_is_refused() -> None:
    one = torch.ones(1, 1)
    with pytest.raises(ConfigError, match=r"kl\.kind"):
        kl_terms(one, one, one.bool(), kind="k4")  # pyright: ignore[reportArgumentType]


def test_a_rows_ratio_is_capped_and_its_gradient_cut() -> None:
    logp = torch.zeros(1, 2, dtype=torch.float64, requires_grad=True)
    base, mask = torch.full((1, 2), -30.0).double(), torch.tensor([[True, True]])
    loss_BT = Gmpo()(logp, base, -torch.ones_like(logp), mask).loss_BT
    assert loss_BT[0, 0].item() == pytest.approx(math.exp(20.0))
    assert torch.autograd.grad(loss_BT.sum(), logp)[0].tolist() == [[0.0, 0.0]]


def test_off_policy_weights_carry_no_gradient() -> None:
    logp = torch.zeros(1, 2, requires_grad=True)
    assert not OffPolicy(**TIS).weights(logp, logp - 0.1, logp == 0.0).requires_grad


def test_values_that_would_broadcast_are_refused() -> None:
    three = torch.ones(3)
    with pytest.raises(ContractError, match="target_N"):
        ValueLoss()(three, three, three[:, None], weight_N=three)


def test_the_gradient_of_the_entropy_survives_excluded_tokens() -> None:
    logits = torch.tensor([0.5, -0.5, float("-inf")], dtype=torch.float64, requires_grad=True)
    entropy = entropy_from_logits(logits)
    (grad,) = torch.autograd.grad(entropy, logits)
    (expected,) = torch.autograd.grad(entropy_from_logits(logits[:2]), logits)
    torch.testing.assert_close(grad, expected)


def test_a_reasoning_that_never_ends_earns_nothing() -> None:
    logp = torch.zeros(2, 2)
    think, answer = torch.tensor([[True, False]] * 2), torch.tensor([[False, True]] * 2)
    finished = torch.tensor([True, False])
    result = verifree_loss(logp, think, answer, [0, 0], is_finished_B=finished)
    assert result.reward_B.tolist() == [1.0, 0.0]
    assert result.advantage_B.tolist() == [1.0, -1.0]
