"""Tokens per second of `TorchEngine` over those of `transformers.generate`, on the same requests.

Run it as `OMP_NUM_THREADS=1 python tests/benchmarks/torch_engine.py`. The model is tiny (2 layers,
64 wide, 450 tokens), prompts have 20 to 80 tokens, answers exactly 6 (no stop token, so that both
sides sample equally many). The two take turns within one run, so that a busy machine slows both;
each number is a median. "alike" prompts share their first 40 tokens, as the rules of a game do.
"""

import asyncio
import statistics
import time
from collections.abc import Callable

import numpy as np
import torch
from transformers import LlamaConfig, LlamaForCausalLM

from gemenv.rollout.engine import GenerateRequest, SamplingParams
from gemenv.rollout.engines.torch_engine import TorchEngine

VOCAB_SIZE = 450
NUM_NEW_TOKENS = 6
NUM_ROUNDS = 25


def tiny_model() -> LlamaForCausalLM:
    config = LlamaConfig(
        vocab_size=VOCAB_SIZE,
        hidden_size=64,
        intermediate_size=176,
        num_hidden_layers=2,
        num_attention_heads=4,
        max_position_embeddings=512,
        pad_token_id=0,
        bos_token_id=None,
        eos_token_id=None,
    )
    return LlamaForCausalLM(config).eval()


def make_prompts(num: int, num_shared: int) -> list[list[int]]:
    rng = np.random.default_rng(0)
    prompts = [rng.integers(1, VOCAB_SIZE, rng.integers(20, 81)).tolist() for _ in range(num)]
    shared = rng.integers(1, VOCAB_SIZE, num_shared).tolist()
    return [shared + prompt[: max(1, len(prompt) - num_shared)] for prompt in prompts]


def ours(engine: TorchEngine, prompts: list[list[int]], loop: asyncio.Runner) -> Callable[[], None]:
    sampling = SamplingParams(max_new_tokens=NUM_NEW_TOKENS)

    async def answer_all() -> None:
        requests = [
            GenerateRequest(prompt_ids=prompt, sampling=sampling, seed=seed)
            for seed, prompt in enumerate(prompts)
        ]
        await asyncio.gather(*map(engine.generate, requests))

    return lambda: loop.run(answer_all())


def theirs(model: LlamaForCausalLM, prompts: list[list[int]]) -> Callable[[], None]:
    def answer_all() -> None:
        width = max(map(len, prompts))
        ids = torch.tensor([[0] * (width - len(prompt)) + prompt for prompt in prompts])
        model.generate(
            ids,
            attention_mask=(ids != 0).long(),
            do_sample=True,
            top_k=0,
            max_new_tokens=NUM_NEW_TOKENS,
        )

    return answer_all


def median_seconds(*runs: Callable[[], None]) -> list[tuple[float, float]]:
    """Return (CPU, wall) seconds of each run, taking turns."""
    samples: list[list[tuple[float, float]]] = [[] for _ in runs]
    for _ in range(NUM_ROUNDS + 2):
        for run, taken in zip(runs, samples, strict=True):
            cpu, wall = time.process_time(), time.perf_counter()
            run()
            taken.append((time.process_time() - cpu, time.perf_counter() - wall))
    return [
        (statistics.median(cpu for cpu, _ in taken[2:]), statistics.median(w for _, w in taken[2:]))
        for taken in samples
    ]


def main() -> None:
    torch.manual_seed(0)
    model = tiny_model()
    engine = TorchEngine(model)
    print(f"{'requests':>8} {'prompts':>8} {'tokens/s':>9} {'CPU ratio':>9} {'wall ratio':>10}")
    with asyncio.Runner() as loop:  # one loop, as in a rollout
        for num, num_shared in [(1, 0), (16, 0), (64, 0), (256, 0), (64, 40), (256, 40)]:
            prompts = make_prompts(num, num_shared)
            (cpu, wall), (their_cpu, their_wall) = median_seconds(
                ours(engine, prompts, loop), theirs(model, prompts)
            )
            kind = "alike" if num_shared else "random"
            rate = num * NUM_NEW_TOKENS / cpu
            print(f"{num:8} {kind:>8} {rate:9.0f} {their_cpu / cpu:9.2f} {their_wall / wall:10.2f}")


if __name__ == "__main__":
    main()
