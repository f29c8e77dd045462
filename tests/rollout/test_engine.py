import math

import pytest

from gemenv.errors import ArgumentError, ContextOverflow
from gemenv.rollout.engine import GenerateRequest, SamplingParams, answer_budget


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("temperature", -0.1),
        ("temperature", math.nan),
        ("temperature", math.inf),
        ("top_p", 0.0),
        ("top_p", 1.1),
        ("max_new_tokens", 0),
    ],
)
def test_sampling_params_outside_their_domain_are_refused_by_name(name: str, value: float):
    with pytest.raises(ArgumentError, match=f"^{name} is outside its domain"):
        SamplingParams(**{"max_new_tokens": 4, name: value})


def test_an_empty_prompt_and_a_negative_seed_are_refused():
    sampling = SamplingParams(max_new_tokens=1)
    with pytest.raises(ArgumentError, match="prompt_ids"):
        GenerateRequest(prompt_ids=[], sampling=sampling, seed=0)
    with pytest.raises(ArgumentError, match="seed"):
        GenerateRequest(prompt_ids=[1], sampling=sampling, seed=-1)


@pytest.mark.parametrize(("prompt_len", "budget"), [(1, 5), (5, 5), (6, 4), (9, 1)])
def test_the_budget_is_what_was_asked_for_or_what_the_context_holds(prompt_len: int, budget: int):
    request = GenerateRequest(
        prompt_ids=[0] * prompt_len, sampling=SamplingParams(max_new_tokens=5), seed=0
    )
    assert answer_budget(request, max_context_tokens=10) == budget


@pytest.mark.parametrize("prompt_len", [10, 11])
def test_a_prompt_that_fills_the_context_overflows(prompt_len: int):
    request = GenerateRequest(
        prompt_ids=[0] * prompt_len, sampling=SamplingParams(max_new_tokens=5), seed=0
    )
    with pytest.raises(ContextOverflow, match="fewer than 10 prompt tokens"):
        answer_budget(request, max_context_tokens=10)
