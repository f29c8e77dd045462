"""Our own inference engine for small causal language models, in this process, on CPU or GPU.

Requests that wait together are answered together: sorted by length, `max_batch_size` at a time,
one forward pass per token (`gemenv.rollout.engines.torch_decoding`). This file decides who is
answered when, and when the weights may change.
"""

import asyncio
import math
from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor
from transformers import PreTrainedModel

from gemenv.errors import ArgumentError, ContextOverflow, ContractError, PolicyError
from gemenv.rollout.engine import FinishReason, GenerateRequest, GenerateResult, answer_budget
from gemenv.rollout.engines.torch_decoding import DecodeBatch, evaluating, score_tokens


class TorchEngine:
    """An `Engine` on a transformers causal language model.

    Sampling runs inside the event loop, one forward pass between two turns of the loop, so what is
    batched with what depends on the order of the calls alone. The model may be the very object
    that a learner trains: its training mode is put back after every pass, and an update from its
    own state dict copies nothing.

    Args:
        model: a causal language model whose layers all attend to the whole context.
        max_batch_size: the most requests decoded together, >= 1. A hundred is fast on a CPU,
            where the prompts of a batch should be of like length.
        max_context_tokens: the most tokens of prompt and answer; the model's own limit if None.
        version: of the weights that the model has now.

    Raises:
        ArgumentError: for a model with sliding-window layers, or a limit out of range.

    Example:
        >>> from transformers import LlamaConfig, LlamaForCausalLM
        >>> from gemenv.rollout.engine import SamplingParams
        >>> config = LlamaConfig(vocab_size=8, hidden_size=8, intermediate_size=8,
        ...                      num_hidden_layers=1, num_attention_heads=1)
        >>> engine = TorchEngine(LlamaForCausalLM(config))
        >>> sampling = SamplingParams(max_new_tokens=3)
        >>> request = GenerateRequest(prompt_ids=[1, 2], sampling=sampling, seed=0)
        >>> asyncio.run(engine.generate(request)).finish_reason
        'length'
    """

    def __init__(
        self,
        model: PreTrainedModel,
        *,
        max_batch_size: int = 128,
        max_context_tokens: int | None = None,
        version: int = 0,
    ) -> None:
        _check_full_attention(model)
        config: Any = model.config
        model_limit: int = config.get_text_config().max_position_embeddings
        limit = model_limit if max_context_tokens is None else max_context_tokens
        _check_limit("max_batch_size", max_batch_size, math.inf)
        _check_limit("max_context_tokens", limit, model_limit)
        self._model = model
        embeddings: Any = model.get_input_embeddings()
        self._vocab_size: int = embeddings.num_embeddings
        self._max_batch_size = max_batch_size
        self._max_context_tokens = limit
        self._version = version
        self._arrivals: list[_Job] = []  # requests since the current round began
        self._round: deque[_Job] = deque()  # sorted by prompt length, so that padding is short
        self._batch: list[_Job] = []
        self._runner: asyncio.Task[None] | None = None
        self._num_pauses = 0
        self._is_closed = False

    @property
    def version(self) -> int:
        """The version of the weights that the next request will see."""
        return self._version

    @property
    def max_context_tokens(self) -> int:
        """The most tokens that a prompt and its answer may have together."""
        return self._max_context_tokens

    async def generate(self, request: GenerateRequest) -> GenerateResult:
        """Sample one answer; see `Engine.generate`."""
        self._check_ids(request.prompt_ids)
        budget = answer_budget(request, self._max_context_tokens)
        job = _Job(request, budget, asyncio.get_running_loop().create_future())
        self._arrivals.append(job)
        self._start_runner()
        return await job.answer

    async def score(self, token_ids: Sequence[int]) -> list[float]:
        """Return the log-prob of each token given all tokens before it; see `Engine.score`."""
        self._check_ids(token_ids)
        if len(token_ids) > self._max_context_tokens:
            raise ContextOverflow(
                problem="The text to score is longer than the context.",
                expected=f"at most {self._max_context_tokens} tokens",
                got=len(token_ids),
                fix="score a shorter text, or use a model with a longer context",
            )
        with evaluating(self._model):
            return score_tokens(self._model, token_ids) if len(token_ids) else []

    async def update_weights(self, source: Mapping[str, Tensor], version: int) -> None:
        """Copy a state dict into the model once the running batch has ended.

        Requests that were still queued are answered with the new weights. Tensors that are the
        model's own are not copied.

        Raises:
            ContractError: if names or shapes differ from the model's; nothing is copied then.
        """
        await self.pause()
        try:
            _copy_weights(self._model, source)
            self._version = version
        finally:
            await self.resume()

    async def pause(self) -> None:
        """Let the running batch end, and queue all other requests until `resume`."""
        self._num_pauses += 1
        try:
            await self._idle()
        except asyncio.CancelledError:
            await self.resume()
            raise

    async def resume(self) -> None:
        """Undo one `pause`.

        Raises:
            PolicyError: if the engine is not paused.
        """
        if self._num_pauses == 0:
            raise PolicyError(
                problem="An engine that is not paused cannot resume.",
                expected="one resume for every pause",
                got="no pause",
                fix="call pause first",
            )
        self._num_pauses -= 1
        self._start_runner()

    async def close(self) -> None:
        """End every unfinished request as "abort", with the tokens it has so far."""
        self._is_closed = True
        for job in [*self._batch, *self._round, *self._arrivals]:
            job.finish("abort", self._version)
        await self._idle()

    def _check_ids(self, token_ids: Sequence[int]) -> None:
        """Refuse ids that the model lacks: on a GPU they would break the whole process."""
        if self._is_closed:
            raise PolicyError(
                problem="The engine is closed.",
                expected="an open engine",
                got="a request after close",
                fix="make a new engine",
            )
        if min(token_ids, default=0) < 0 or max(token_ids, default=0) >= self._vocab_size:
            raise ContractError(
                problem="A token id is not in the model's vocabulary.",
                expected=f"ids from 0 to {self._vocab_size - 1}",
                got=[token for token in token_ids if not 0 <= token < self._vocab_size],
                fix="render the prompt with this model's own tokenizer",
            )

    def _start_runner(self) -> None:
        is_idle = self._runner is None or self._runner.done()
        if is_idle and self._num_pauses == 0 and (self._round or self._arrivals):
            self._runner = asyncio.get_running_loop().create_task(self._run())

    async def _idle(self) -> None:
        if self._runner is not None and not self._runner.done():
            await asyncio.wait([self._runner])

    async def _run(self) -> None:
        """Answer batch after batch until nobody waits or somebody pauses."""
        while self._num_pauses == 0 and (self._round or self._arrivals):
            self._batch = self._next_batch()
            try:
                await self._answer(self._batch)
            except Exception as error:  # a failed pass is the outcome of these requests alone
                for job in self._batch:
                    job.fail(error)
            await asyncio.sleep(0)  # whoever was answered may ask again

    def _next_batch(self) -> list["_Job"]:
        """Take the next jobs of like length; who comes during a round waits for the next one."""
        if not self._round:
            self._round.extend(sorted(self._arrivals, key=lambda job: len(job.request.prompt_ids)))
            self._arrivals.clear()
        jobs: list[_Job] = []
        while self._round and len(jobs) < self._max_batch_size:
            job = self._round.popleft()
            if not job.answer.done():  # cancelled while it waited
                jobs.append(job)
        return jobs

    async def _answer(self, jobs: list["_Job"]) -> None:
        """Sample until no job is left; those that end or are cancelled leave the batch at once."""
        if not jobs:
            return
        with evaluating(self._model):
            requests, budgets = [job.request for job in jobs], [job.budget for job in jobs]
            batch = DecodeBatch(self._model, requests, budgets)
            sampled = batch.sample()
        while True:
            for job, token_id, logprob in zip(jobs, *sampled, strict=True):
                job.take(token_id, logprob, self._version)
            await asyncio.sleep(0)  # answers are delivered, and others may cancel theirs
            rows = [row for row, job in enumerate(jobs) if not job.answer.done()]
            if not rows:
                return
            with evaluating(self._model):
                if len(rows) < len(jobs):
                    batch.keep(rows)
                    jobs = [jobs[row] for row in rows]
                batch.advance()
                sampled = batch.sample()


@dataclass
class _Job:
    """A request, the tokens sampled for it so far, and whoever awaits them."""

    request: GenerateRequest
    budget: int
    answer: asyncio.Future[GenerateResult]
    token_ids: list[int] = field(default_factory=list[int])
    logprobs: list[float] = field(default_factory=list[float])

    def take(self, token_id: int, logprob: float, version: int) -> None:
        """Append a sampled token, and finish if it is the last."""
        if not math.isfinite(logprob):
            self.fail(FloatingPointError("the model's logits are not finite"))
            return
        self.token_ids.append(token_id)
        self.logprobs.append(logprob)
        if token_id in self.request.sampling.stop_token_ids:
            self.finish("stop", version)
        elif len(self.token_ids) == self.budget:
            self.finish("length", version)

    def finish(self, reason: FinishReason, version: int) -> None:
        if not self.answer.done():
            result = GenerateResult(
                token_ids=self.token_ids,
                logprobs=self.logprobs,
                finish_reason=reason,
                version=version,
            )
            self.answer.set_result(result)

    def fail(self, cause: Exception) -> None:
        if not self.answer.done():
            error = PolicyError(
                problem="The engine failed while it sampled an answer.",
                expected="a forward pass with finite logits",
                got=cause,
                fix="read the cause above; check the weights, the dtype and the free memory",
            )
            error.__cause__ = cause
            self.answer.set_exception(error)


def _copy_weights(model: PreTrainedModel, source: Mapping[str, Tensor]) -> None:
    own = model.state_dict()
    given = {own[name].data_ptr() for name in source.keys() & own.keys()}
    wrong = [name for name in source if name not in own or own[name].shape != source[name].shape]
    wrong += [name for name in own if own[name].data_ptr() not in given]  # tied names count as one
    if wrong:
        raise ContractError(
            problem="The new weights do not fit the model.",
            expected="a state dict with the model's own names and shapes",
            got=wrong,
            fix="update from a model of the same architecture and configuration",
        )
    with torch.no_grad():
        for name, tensor in source.items():
            if own[name].data_ptr() != tensor.data_ptr():
                own[name].copy_(tensor)


def _check_full_attention(model: PreTrainedModel) -> None:
    whole: Any = model.config
    config = whole.get_text_config()
    default = ["full_attention" if getattr(config, "sliding_window", None) is None else "sliding"]
    kinds: list[str] = getattr(config, "layer_types", None) or default
    if set(kinds) != {"full_attention"}:
        raise ArgumentError(
            problem="The model has layers that do not attend to the whole context.",
            expected="full attention in every layer",
            got=sorted(set(kinds)),
            fix="serve this model with vLLM",
        )


def _check_limit(name: str, value: int, largest: float) -> None:
    if not 1 <= value <= largest:
        raise ArgumentError(
            problem=f"{name} is outside its domain.",
            expected=f"an int from 1 to {largest}",
            got=value,
            fix=f"pass another {name}",
        )
