import asyncio
import copy
import math
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import numpy as np
import pytest
import torch
from transformers import (
    GPT2Config,
    GPT2LMHeadModel,
    LlamaConfig,
    LlamaForCausalLM,
    MistralConfig,
    MistralForCausalLM,
    PreTrainedModel,
    Qwen3Config,
    Qwen3ForCausalLM,
)

from gemenv.errors import ArgumentError, ContextOverflow, ContractError, PolicyError
from gemenv.rollout.engine import GenerateRequest, GenerateResult, SamplingParams
from gemenv.rollout.engines.torch_decoding import _inverse_cdf
from gemenv.rollout.engines.torch_engine import TorchEngine

VOCAB_SIZE = 60
SIZES = {
    "vocab_size": VOCAB_SIZE,
    "hidden_size": 32,
    "intermediate_size": 48,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "max_position_embeddings": 128,
    "initializer_range": 0.3,  # wide enough that distributions are far from uniform
}


def llama(**changes: object) -> LlamaForCausalLM:
    torch.manual_seed(0)
    return LlamaForCausalLM(LlamaConfig(**{**SIZES, "num_key_value_heads": 2, **changes})).eval()


def qwen3_with_tied_embeddings() -> Qwen3ForCausalLM:
    torch.manual_seed(1)
    config = {**SIZES, "num_key_value_heads": 2, "head_dim": 8, "tie_word_embeddings": True}
    return Qwen3ForCausalLM(Qwen3Config(**config)).eval()


def gpt2_with_learned_positions() -> GPT2LMHeadModel:
    torch.manual_seed(2)
    config = GPT2Config(
        vocab_size=VOCAB_SIZE,
        n_embd=32,
        n_layer=2,
        n_head=4,
        n_positions=128,
        initializer_range=0.3,
    )
    return GPT2LMHeadModel(config).eval()


def scaled_llama() -> LlamaForCausalLM:
    model = llama()
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.mul_(1.5)
    return model


def requests_of_all_kinds(num: int = 24, num_shared: int = 0) -> list[GenerateRequest]:
    """Prompts of 1 to 70 tokens after a common prefix; sampling differs from row to row."""
    rng = np.random.default_rng(7)
    shared = rng.integers(VOCAB_SIZE, size=num_shared).tolist()
    return [
        GenerateRequest(
            prompt_ids=shared + rng.integers(VOCAB_SIZE, size=rng.integers(1, 71)).tolist(),
            sampling=SamplingParams(
                max_new_tokens=int(rng.integers(1, 12)),
                temperature=[1.0, 0.7, 0.0, 1.5][row % 4],
                top_p=[1.0, 0.6, 0.5][row % 3],
                stop_token_ids=(3, 4, 5),
            ),
            seed=row,
        )
        for row in range(num)
    ]


def answer_all(engine: TorchEngine, requests: Sequence[GenerateRequest]) -> list[GenerateResult]:
    async def gather() -> list[GenerateResult]:
        return await asyncio.gather(*map(engine.generate, requests))

    return asyncio.run(gather())


def plain_logprobs(model: PreTrainedModel, request: GenerateRequest, sampled: list[int]):
    """Log-probs [T, V] before each sampled token, by one pass without padding or cache."""
    ids = torch.tensor([[*request.prompt_ids, *sampled]])
    with torch.no_grad():
        logits = model(input_ids=ids, use_cache=False).logits[0, len(request.prompt_ids) - 1 : -1]
    logprobs = torch.log_softmax(logits.double() / (request.sampling.temperature or 1.0), -1)
    if request.sampling.temperature and request.sampling.top_p < 1:
        for row in logprobs:
            order = row.argsort(descending=True)
            mass = row[order].exp().cumsum(-1)
            num_kept = int((mass < request.sampling.top_p).sum()) + 1
            row[order[num_kept:]] = -math.inf
            row -= row.logsumexp(-1)
    return logprobs


@contextmanager
def watched_passes(model: PreTrainedModel) -> Iterator[list[tuple[int, int]]]:
    """Record (rows, columns) of the tokens that each forward pass reads."""
    shapes: list[tuple[int, int]] = []
    handle = model.register_forward_pre_hook(
        lambda _module, _args, kwargs: shapes.append(tuple(kwargs["input_ids"].shape)),
        with_kwargs=True,
    )
    yield shapes
    handle.remove()


@pytest.mark.parametrize("num_shared", [0, 40])
@pytest.mark.parametrize(
    "make_model", [llama, qwen3_with_tied_embeddings, gpt2_with_learned_positions]
)
def test_logprobs_equal_a_forward_pass_without_padding_and_cache(make_model, num_shared: int):
    model = make_model()
    requests = requests_of_all_kinds(num_shared=num_shared)
    for request, result in zip(requests, answer_all(TorchEngine(model), requests), strict=True):
        expected = plain_logprobs(model, request, result.token_ids)
        chosen = expected.gather(-1, torch.tensor(result.token_ids)[:, None])[:, 0]
        assert result.logprobs == pytest.approx(chosen.tolist(), abs=1e-5)


def test_greedy_answers_take_the_likeliest_token():
    model = llama()
    requests = [r for r in requests_of_all_kinds() if r.sampling.temperature == 0]
    for request, result in zip(requests, answer_all(TorchEngine(model), requests), strict=True):
        likeliest = plain_logprobs(model, request, result.token_ids).argmax(-1)
        assert result.token_ids == likeliest.tolist()


def test_a_request_gets_the_same_tokens_alone_and_in_any_batch():
    model = llama()
    requests = requests_of_all_kinds(num=30, num_shared=30)
    alone = [answer_all(TorchEngine(model), [request])[0] for request in requests]
    for max_batch_size in (1, 4, 128):
        engine = TorchEngine(model, max_batch_size=max_batch_size)
        backwards = answer_all(engine, requests[::-1])[::-1]
        assert [r.token_ids for r in backwards] == [r.token_ids for r in alone]
        assert [r.finish_reason for r in backwards] == [r.finish_reason for r in alone]


def test_another_seed_gives_another_answer():
    sampling = SamplingParams(max_new_tokens=20, temperature=2.0)
    requests = [
        GenerateRequest(prompt_ids=[1, 2], sampling=sampling, seed=seed) for seed in (5, 5, 6)
    ]
    first, again, other = answer_all(TorchEngine(llama()), requests)
    assert first.token_ids == again.token_ids != other.token_ids


def test_tokens_are_drawn_with_their_probabilities_and_none_outside_the_nucleus():
    model = llama()
    sampling = SamplingParams(max_new_tokens=1, temperature=1.5, top_p=0.9)
    requests = [
        GenerateRequest(prompt_ids=[1, 2, 3], sampling=sampling, seed=seed) for seed in range(4000)
    ]
    counts = Counter(result.token_ids[0] for result in answer_all(TorchEngine(model), requests))
    probs = plain_logprobs(model, requests[0], [0])[0].exp()
    for token, prob in enumerate(probs.tolist()):
        error = math.sqrt(prob * (1 - prob) / 4000)
        assert counts[token] / 4000 == pytest.approx(prob, abs=4.5 * error)


def test_global_random_state_is_neither_read_nor_written():
    requests = requests_of_all_kinds(num=6)
    engine = TorchEngine(llama())
    torch.manual_seed(1)
    np.random.seed(1)
    before = torch.get_rng_state(), np.random.get_state()[1].tolist()
    first = answer_all(engine, requests)
    after = torch.get_rng_state(), np.random.get_state()[1].tolist()
    assert torch.equal(before[0], after[0])
    assert before[1] == after[1]
    torch.manual_seed(2)
    assert answer_all(engine, requests) == first


def test_an_answer_ends_with_its_stop_token_or_its_budget():
    requests = requests_of_all_kinds(num=40)
    results = answer_all(TorchEngine(llama()), requests)
    assert {result.finish_reason for result in results} == {"stop", "length"}
    for request, result in zip(requests, results, strict=True):
        *earlier, last = result.token_ids
        assert not set(earlier) & set(request.sampling.stop_token_ids)
        if result.finish_reason == "stop":
            assert last in request.sampling.stop_token_ids
        else:
            assert len(result.token_ids) == request.sampling.max_new_tokens
        assert len(result.logprobs) == len(result.token_ids)


def test_the_context_bounds_the_answer_and_a_full_one_overflows():
    engine = TorchEngine(llama(), max_context_tokens=10)
    sampling = SamplingParams(max_new_tokens=100)
    (result,) = answer_all(engine, [GenerateRequest(prompt_ids=[1] * 7, sampling=sampling, seed=0)])
    assert (len(result.token_ids), result.finish_reason) == (3, "length")
    with pytest.raises(ContextOverflow):
        answer_all(engine, [GenerateRequest(prompt_ids=[1] * 10, sampling=sampling, seed=0)])
    with pytest.raises(ContextOverflow):
        asyncio.run(engine.score([1] * 11))


def test_an_id_outside_the_vocabulary_is_refused_before_it_can_break_the_batch():
    request = GenerateRequest(
        prompt_ids=[1, VOCAB_SIZE], sampling=SamplingParams(max_new_tokens=1), seed=0
    )
    with pytest.raises(ContractError, match=r"got:\s+\[60\]"):
        answer_all(TorchEngine(llama()), [request])


def test_scores_are_the_logprobs_of_each_token_given_those_before():
    model, engine = llama(), TorchEngine(llama())
    ids = [5, 9, 2, 33, 7]
    with torch.no_grad():
        expected = torch.log_softmax(model(input_ids=torch.tensor([ids])).logits[0].double(), -1)
    first, *scores = asyncio.run(engine.score(ids))
    assert math.isnan(first)
    assert scores == pytest.approx(
        [expected[t, token].item() for t, token in enumerate(ids[1:])], abs=1e-5
    )


def test_no_tokens_have_no_scores():
    assert asyncio.run(TorchEngine(llama()).score([])) == []


def test_finished_rows_leave_the_batch_and_only_the_last_logits_are_computed():
    model = llama()
    budgets = [1, 1, 2, 5]
    requests = [
        GenerateRequest(prompt_ids=[9] * 6, sampling=SamplingParams(max_new_tokens=n), seed=n)
        for n in budgets
    ]
    widths: list[int] = []
    model.register_forward_hook(lambda _m, _a, output: widths.append(output.logits.shape[1]))
    with watched_passes(model) as shapes:
        answer_all(TorchEngine(model), requests)
    assert shapes == [(4, 6), (2, 1), (1, 1), (1, 1), (1, 1)]
    assert set(widths) == {1}


def test_what_all_prompts_share_is_read_once():
    model = llama()
    sampling = SamplingParams(max_new_tokens=1)
    requests = [
        GenerateRequest(prompt_ids=[8] * 50 + [row], sampling=sampling, seed=0) for row in range(20)
    ]
    with watched_passes(model) as shapes:
        answer_all(TorchEngine(model), requests)
    assert shapes == [(1, 50), (20, 1)]


def test_prompts_of_very_different_lengths_are_not_padded_to_the_longest():
    model = llama()
    sampling = SamplingParams(max_new_tokens=2)
    lengths = [4, 30, 60] * 10
    requests = [
        GenerateRequest(prompt_ids=[row] * n, sampling=sampling, seed=0)
        for row, n in enumerate(lengths)
    ]
    with watched_passes(model) as shapes:
        answer_all(TorchEngine(model), requests)
    assert shapes == [(10, 4), (10, 30), (10, 60), (30, 1)]


def test_batches_hold_prompts_of_like_length():
    model = llama()
    sampling = SamplingParams(max_new_tokens=1)
    requests = [
        GenerateRequest(prompt_ids=[row] * n, sampling=sampling, seed=0)
        for row, n in enumerate([9, 2, 8, 3])
    ]
    with watched_passes(model) as shapes:
        answer_all(TorchEngine(model, max_batch_size=2), requests)
    assert shapes == [(2, 3), (2, 9)]


def test_even_the_smallest_and_largest_uniform_draw_a_token_that_is_possible():
    logprob_BV = torch.tensor([[0.0, 0.3, 0.7, 0.0]]).log().repeat(3, 1)
    uniform_B1 = torch.tensor([[0.0], [0.3], [1 - 2**-53]], dtype=torch.float64)
    assert _inverse_cdf(logprob_BV, uniform_B1)[:, 0].tolist() == [1, 1, 2]
    assert _inverse_cdf(logprob_BV, torch.ones_like(uniform_B1))[:, 0].tolist() == [2, 2, 2]


def test_a_cancelled_request_leaves_the_others_unharmed():
    model = llama()
    requests = requests_of_all_kinds(num=12)
    expected = [result.token_ids for result in answer_all(TorchEngine(model), requests)]

    async def cancel_some(passes_before: int) -> list[object]:
        engine = TorchEngine(model, max_batch_size=5)
        tasks = [asyncio.create_task(engine.generate(request)) for request in requests]
        for _ in range(passes_before):
            await asyncio.sleep(0)
        for task in tasks[::3]:
            task.cancel()
        return await asyncio.gather(*tasks, return_exceptions=True)

    for passes_before in range(6):
        results = asyncio.run(cancel_some(passes_before))
        for row, result in enumerate(results):
            if row % 3 or isinstance(result, GenerateResult):
                assert result.token_ids == expected[row]
            else:
                assert isinstance(result, asyncio.CancelledError)


def test_an_error_in_the_forward_pass_reaches_every_request_and_the_engine_goes_on():
    model = llama()
    engine = TorchEngine(model)
    requests = requests_of_all_kinds(num=3)

    def explode(*_: object) -> None:
        raise MemoryError("no room for the cache")

    async def fail() -> list[object]:
        return await asyncio.gather(*map(engine.generate, requests), return_exceptions=True)

    handle = model.register_forward_pre_hook(explode)
    errors = asyncio.run(fail())
    handle.remove()
    for error in errors:
        assert isinstance(error, PolicyError)
        assert isinstance(error.__cause__, MemoryError)
    assert answer_all(engine, requests) == answer_all(TorchEngine(model), requests)


def test_logits_that_are_not_finite_fail_their_own_request_alone():
    model = llama()
    sampling = SamplingParams(max_new_tokens=1)
    prompts = [[1, 2, 3, 4], [50, 2], [7, 8, 9]]
    requests = [GenerateRequest(prompt_ids=ids, sampling=sampling, seed=0) for ids in prompts]
    expected = answer_all(TorchEngine(model), requests)
    with torch.no_grad():
        model.get_input_embeddings().weight[50] = math.nan

    async def gather() -> list[object]:
        engine = TorchEngine(model)
        return await asyncio.gather(*map(engine.generate, requests), return_exceptions=True)

    first, failed, third = asyncio.run(gather())
    assert isinstance(failed, PolicyError)
    assert isinstance(failed.__cause__, FloatingPointError)
    assert [first, third] == [expected[0], expected[2]]


def test_an_update_waits_for_the_running_batch_and_reaches_the_queued_requests():
    old, new = llama(), scaled_llama()
    request = GenerateRequest(
        prompt_ids=[1, 2, 3], sampling=SamplingParams(max_new_tokens=8), seed=0
    )

    async def update_in_between() -> list[GenerateResult]:
        engine = TorchEngine(copy.deepcopy(old), max_batch_size=1)
        running, queued = (asyncio.create_task(engine.generate(request)) for _ in range(2))
        for _ in range(3):
            await asyncio.sleep(0)
        await engine.update_weights(new.state_dict(), version=5)
        assert running.done()
        assert engine.version == 5
        return [await running, await queued]

    before, after = asyncio.run(update_in_between())
    assert before == answer_all(TorchEngine(old), [request])[0]
    assert after == answer_all(TorchEngine(new, version=5), [request])[0]
    assert before.token_ids != after.token_ids


@pytest.mark.parametrize("make_model", [llama, qwen3_with_tied_embeddings])
def test_an_update_copies_in_place_and_one_from_the_own_weights_copies_nothing(make_model):
    model, source = make_model(), make_model()
    engine = TorchEngine(model)
    places = [parameter.data_ptr() for parameter in model.parameters()]
    with torch.no_grad():
        for parameter in source.parameters():
            parameter.add_(1.0)
    asyncio.run(engine.update_weights(source.state_dict(), version=1))
    assert places == [parameter.data_ptr() for parameter in model.parameters()]
    for ours, theirs in zip(model.parameters(), source.parameters(), strict=True):
        assert torch.equal(ours, theirs)
        assert ours.data_ptr() != theirs.data_ptr()
    counts = [parameter._version for parameter in model.parameters()]
    asyncio.run(engine.update_weights(model.state_dict(), version=2))
    assert counts == [parameter._version for parameter in model.parameters()]
    assert engine.version == 2


def test_a_tied_name_may_be_left_out_of_an_update():
    model, source = qwen3_with_tied_embeddings(), qwen3_with_tied_embeddings().state_dict()
    del source["lm_head.weight"]
    asyncio.run(TorchEngine(model).update_weights(source, version=1))


@pytest.mark.parametrize("fault", ["missing", "unknown", "shape"])
def test_weights_that_do_not_fit_are_refused_and_change_nothing(fault: str):
    model = llama()
    engine = TorchEngine(model)
    before = copy.deepcopy(model.state_dict())
    source = {name: tensor + 1 for name, tensor in before.items()}
    if fault == "missing":
        del source["model.norm.weight"]
    elif fault == "unknown":
        source["other.weight"] = torch.zeros(1)
    else:
        source["model.norm.weight"] = torch.zeros(1)
    with pytest.raises(ContractError, match=r"other\.weight|model\.norm\.weight"):
        asyncio.run(engine.update_weights(source, version=1))
    assert engine.version == 0
    for name, tensor in model.state_dict().items():
        assert torch.equal(tensor, before[name])


def test_requests_queue_while_paused_and_an_update_does_not_resume():
    request = requests_of_all_kinds(num=1)[0]

    async def paused() -> GenerateResult:
        engine = TorchEngine(llama())
        await engine.pause()
        task = asyncio.create_task(engine.generate(request))
        await engine.update_weights(llama().state_dict(), version=3)
        for _ in range(20):
            await asyncio.sleep(0)
        assert not task.done()
        await engine.resume()
        return await task

    assert asyncio.run(paused()).version == 3


def test_a_cancelled_pause_does_not_stay_paused():
    requests = requests_of_all_kinds(num=4)

    async def cancel_pause() -> list[GenerateResult]:
        engine = TorchEngine(llama(), max_batch_size=1)
        tasks = [asyncio.create_task(engine.generate(request)) for request in requests]
        await asyncio.sleep(0)
        pause = asyncio.create_task(engine.pause())
        await asyncio.sleep(0)
        pause.cancel()
        return await asyncio.gather(*tasks)

    assert len(asyncio.run(cancel_pause())) == 4


def test_resuming_an_engine_that_is_not_paused_is_an_error():
    with pytest.raises(PolicyError, match="not paused"):
        asyncio.run(TorchEngine(llama()).resume())


def test_closing_aborts_what_runs_and_what_waits_and_refuses_what_comes():
    request = GenerateRequest(prompt_ids=[1, 2], sampling=SamplingParams(max_new_tokens=50), seed=0)

    async def close_midway() -> list[GenerateResult]:
        engine = TorchEngine(llama(), max_batch_size=1)
        tasks = [asyncio.create_task(engine.generate(request)) for _ in range(2)]
        for _ in range(4):
            await asyncio.sleep(0)
        await engine.close()
        await engine.close()
        with pytest.raises(PolicyError, match="closed"):
            await engine.generate(request)
        return await asyncio.gather(*tasks)

    running, waiting = asyncio.run(close_midway())
    assert running.finish_reason == waiting.finish_reason == "abort"
    assert 0 < len(running.token_ids) == len(running.logprobs) < 50
    assert waiting.token_ids == []


def test_one_engine_serves_one_event_loop_after_another():
    engine, requests = TorchEngine(llama()), requests_of_all_kinds(num=5)
    first = answer_all(engine, requests)
    asyncio.run(engine.update_weights(llama().state_dict(), version=0))
    assert answer_all(engine, requests) == first


def test_a_learner_can_train_the_same_model_between_requests():
    model = llama(attention_dropout=0.5).train()
    engine, requests = TorchEngine(model), requests_of_all_kinds(num=5)
    assert answer_all(engine, requests) == answer_all(engine, requests)  # no dropout
    assert all(module.training for module in model.modules())
    ids = torch.tensor([[1, 2, 3]])
    model(input_ids=ids, labels=ids).loss.backward()
    assert all(parameter.grad is not None for parameter in model.parameters())


def test_a_model_with_sliding_windows_is_refused():
    config = MistralConfig(**{**SIZES, "num_key_value_heads": 2, "sliding_window": 16})
    with pytest.raises(ArgumentError, match="whole context"):
        TorchEngine(MistralForCausalLM(config))


@pytest.mark.parametrize("limits", [{"max_batch_size": 0}, {"max_context_tokens": 129}])
def test_limits_out_of_range_are_refused(limits: dict[str, int]):
    with pytest.raises(ArgumentError, match=next(iter(limits))):
        TorchEngine(llama(), **limits)
