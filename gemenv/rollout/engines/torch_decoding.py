"""Batched sampling from a causal language model with a key-value cache: tensors, no scheduling.

Shapes: B rows of the batch, T columns (token positions), V the vocabulary, 1 an axis that
broadcasts.
"""

import math
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from typing import Any, NamedTuple, cast

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.nn.functional import pad
from transformers import DynamicCache, PreTrainedModel

from gemenv.rollout.engine import GenerateRequest

_PASS_COST_CPU = 150
_PASS_COST_GPU = 4096
"""How many token positions one more forward pass costs. On a CPU: measured with two layers on one
thread, and less for wider models. On a GPU: not measured, so high that only long prompts split."""


@contextmanager
def evaluating(model: PreTrainedModel) -> Generator[None]:
    """Make passes without gradients and without dropout, and leave the model as it was found."""
    training = [module for module in model.modules() if module.training] if model.training else []
    for module in training:
        module.training = False
    try:
        with torch.inference_mode():
            yield
    finally:
        for module in training:
            module.training = True


def score_tokens(model: PreTrainedModel, token_ids: Sequence[int]) -> list[float]:
    """Return the log-prob of each token given those before it; nan for the first."""
    token_1T = torch.tensor([list(token_ids)], device=model.device)
    logit_TV = model(input_ids=token_1T, use_cache=False).logits[0, :-1]
    logprob_TV = torch.log_softmax(logit_TV.float(), dim=-1)
    return [math.nan, *_listed(logprob_TV.gather(-1, token_1T[0, 1:, None])[:, 0])]


class DecodeBatch:
    """Requests that are answered together, one forward pass per token.

    Prompts are padded on the left. Padding is masked and position ids count real tokens, so a row
    is computed as if it were alone. What all prompts begin with is computed once, and prompts of
    very different lengths are read in several passes, since a padded position costs as much as a
    real one. Use it inside `evaluating`: `sample`; then, token by token, `keep` the rows that go
    on, `advance` and `sample` again.

    Args:
        model: every layer must attend to the whole context.
        requests: B requests, best ordered by the length of the prompt.
        budgets: B times the most tokens to sample, >= 1.
    """

    def __init__(
        self, model: PreTrainedModel, requests: Sequence[GenerateRequest], budgets: Sequence[int]
    ) -> None:
        sampling = [request.sampling for request in requests]
        prompts = [list(request.prompt_ids) for request in requests]
        device = model.device
        self._model = model
        self._num_sampled = 0
        self._uniform_BT = torch.as_tensor(_uniforms(requests, budgets), device=device)
        self._has_greedy = any(p.temperature == 0 for p in sampling)
        self._has_top_p = any(p.top_p < 1 for p in sampling)
        temperature = [[p.temperature or 1.0] for p in sampling]
        top_p = [[p.top_p if p.temperature else 1.0] for p in sampling]
        self._is_greedy_B1 = torch.tensor([[p.temperature == 0] for p in sampling], device=device)
        self._temperature_B1 = torch.tensor(temperature, device=device)
        self._top_p_B1 = torch.tensor(top_p, device=device)
        self._length_B1 = torch.tensor([[len(prompt)] for prompt in prompts], device=device)
        self._cache, self._is_real_BT, self._logit_BV = _read(model, prompts)

    def sample(self) -> tuple[list[int], list[float]]:
        """Draw the next token of every row.

        Returns:
            B token ids, and B log-probs of drawing them: nan for a row whose logits are not finite.
        """
        logprob_BV = torch.log_softmax(self._logit_BV.float() / self._temperature_B1, dim=-1)
        if self._has_top_p:
            logprob_BV = _nucleus(logprob_BV, self._top_p_B1)
        token_B1 = _inverse_cdf(logprob_BV, self._uniform_BT[:, self._num_sampled, None])
        if self._has_greedy:
            likeliest_B1 = logprob_BV.argmax(-1, keepdim=True)
            token_B1 = torch.where(self._is_greedy_B1, likeliest_B1, token_B1)
        self._token_B1 = token_B1
        self._num_sampled += 1
        chosen_B1 = logprob_BV.gather(-1, token_B1)
        return _listed(token_B1[:, 0]), _listed(chosen_B1[:, 0])

    def keep(self, rows: Sequence[int]) -> None:
        """Go on with these rows alone, in this order."""
        index = torch.tensor(rows, device=self._model.device)
        self._cache.batch_select_indices(index)
        self._uniform_BT = self._uniform_BT[index]
        self._is_greedy_B1 = self._is_greedy_B1[index]
        self._temperature_B1 = self._temperature_B1[index]
        self._top_p_B1 = self._top_p_B1[index]
        self._is_real_BT = self._is_real_BT[index]
        self._length_B1 = self._length_B1[index]
        self._token_B1 = self._token_B1[index]

    def advance(self) -> None:
        """Feed the tokens just drawn to the model, so that the next ones can be drawn."""
        self._is_real_BT = pad(self._is_real_BT, (0, 1), value=True)
        self._logit_BV = _last_logits(
            self._model, self._token_B1, self._length_B1, self._is_real_BT, self._cache
        )
        self._length_B1 = self._length_B1 + 1


class _Read(NamedTuple):
    """What the model keeps of prompts that it has read; the columns end with the prompts."""

    cache: DynamicCache
    is_real: Tensor  # [B, T] bool: False for padding
    logits: Tensor  # [B, V] after each prompt


def _read(model: PreTrainedModel, prompts: Sequence[list[int]]) -> _Read:
    pass_cost = _PASS_COST_CPU if model.device.type == "cpu" else _PASS_COST_GPU
    num_shared = _num_shared_tokens(prompts)
    if num_shared * (len(prompts) - 1) < pass_cost:
        num_shared = 0
    shared = DynamicCache()
    if num_shared:
        shared_1T = torch.tensor([prompts[0][:num_shared]], device=model.device)
        model(input_ids=shared_1T, past_key_values=shared, use_cache=True, logits_to_keep=1)
    rests = [prompt[num_shared:] for prompt in prompts]
    parts = [_read_rests(model, shared, rests[part]) for part in _parts(rests, pass_cost)]
    return parts[0] if len(parts) == 1 else _stacked(parts)


def _read_rests(model: PreTrainedModel, shared: DynamicCache, rests: Sequence[list[int]]) -> _Read:
    """Read what follows the shared prefix; the columns are the prefix, the padding, the rest."""
    num_rows, num_shared, width = len(rests), shared.get_seq_length(), max(map(len, rests))
    token_BT = np.zeros((num_rows, width), np.int64)
    is_real_BT = np.ones((num_rows, num_shared + width), np.bool_)
    for row, rest in enumerate(rests):
        num_padding = width - len(rest)
        token_BT[row, num_padding:] = rest
        is_real_BT[row, num_shared : num_shared + num_padding] = False
    position_BT = np.maximum(is_real_BT.cumsum(-1)[:, num_shared:] - 1, 0)
    token_BT, position_BT, is_real_BT = (
        torch.as_tensor(array, device=model.device) for array in (token_BT, position_BT, is_real_BT)
    )
    cache = DynamicCache(
        [
            (keys.expand(num_rows, -1, -1, -1), values.expand(num_rows, -1, -1, -1))
            for keys, values in _layers(shared)
        ]
    )
    logit_BV = _last_logits(model, token_BT, position_BT, is_real_BT, cache)
    return _Read(cache, is_real_BT, logit_BV)


def _stacked(parts: Sequence[_Read]) -> _Read:
    """Put the rows of all parts under each other, padded on the left to the same width."""
    widths = [part.is_real.shape[1] for part in parts]
    missing = [max(widths) - width for width in widths]

    def rows(states: Sequence[Tensor]) -> Tensor:
        return torch.cat([pad(s, (0, 0, n, 0)) for s, n in zip(states, missing, strict=True)])

    by_layer = zip(*(_layers(part.cache) for part in parts), strict=True)
    cache = DynamicCache(
        [(rows([k for k, _ in layer]), rows([v for _, v in layer])) for layer in by_layer]
    )
    is_real_BT = torch.cat([pad(p.is_real, (n, 0)) for p, n in zip(parts, missing, strict=True)])
    return _Read(cache, is_real_BT, torch.cat([part.logits for part in parts]))


def _layers(cache: DynamicCache) -> list[tuple[Tensor, Tensor]]:
    """Return the keys and values [B, heads, T, head width] of every layer."""
    return [(keys, values) for keys, values, _ in cast("Any", cache)]


def _last_logits(
    model: PreTrainedModel,
    token_BT: Tensor,
    position_BT: Tensor,
    is_real_BT: Tensor,
    cache: DynamicCache,
) -> Tensor:
    """Append the tokens to the cache, and return the logits [B, V] after the last of them."""
    output = model(
        input_ids=token_BT,
        position_ids=position_BT,
        attention_mask=is_real_BT,
        past_key_values=cache,
        use_cache=True,
        logits_to_keep=1,
    )
    return output.logits[:, -1]


def _num_shared_tokens(prompts: Sequence[list[int]]) -> int:
    """Count the leading tokens that all prompts share, short of a whole prompt."""
    low, high = min(prompts), max(prompts)  # what these two share, all between them share
    same = next((i for i, (a, b) in enumerate(zip(low, high, strict=False)) if a != b), len(low))
    return min(same, min(map(len, prompts)) - 1)


def _parts(rests: Sequence[list[int]], pass_cost: int) -> list[slice]:
    """Split rows where the padding of one more row would cost more than another pass."""
    starts, num_real, longest = [0], 0, 0
    for row, rest in enumerate(rests):
        num_real += len(rest)
        longest = max(longest, len(rest))
        if (row + 1 - starts[-1]) * longest - num_real > pass_cost:
            starts.append(row)
            num_real = longest = len(rest)
    return [slice(start, end) for start, end in zip(starts, [*starts[1:], None], strict=True)]


def _uniforms(requests: Sequence[GenerateRequest], budgets: Sequence[int]) -> NDArray[np.float64]:
    """Return [B, T] numbers in [0, 1): entry t of a row depends on its seed and t alone."""
    uniform_BT = np.zeros((len(requests), max(budgets)))
    for row, (request, budget) in enumerate(zip(requests, budgets, strict=True)):
        generator = np.random.Generator(np.random.Philox(request.seed))
        uniform_BT[row, :budget] = generator.random(budget)
    return uniform_BT


def _nucleus(logprob_BV: Tensor, top_p_B1: Tensor) -> Tensor:
    """Keep the fewest likeliest tokens that hold `top_p` together, and normalise them.

    A token stays if less than `top_p` lies before it, so the likeliest always stays.
    """
    sorted_BV, order_BV = logprob_BV.sort(dim=-1, descending=True, stable=True)
    prob_BV = sorted_BV.exp()
    is_out_sorted_BV = (prob_BV.cumsum(-1) - prob_BV >= top_p_B1) & (top_p_B1 < 1)
    is_out_BV = torch.zeros_like(is_out_sorted_BV).scatter(-1, order_BV, is_out_sorted_BV)
    return torch.log_softmax(logprob_BV.masked_fill(is_out_BV, -torch.inf), dim=-1)


def _inverse_cdf(logprob_BV: Tensor, uniform_B1: Tensor) -> Tensor:
    """Map each row's uniform number to a token, in float64; never to one of probability 0."""
    cdf_BV = logprob_BV.double().exp().cumsum(-1)
    total_B1 = cdf_BV[:, -1:].contiguous()
    token_B1 = torch.searchsorted(cdf_BV, uniform_B1 * total_B1, right=True)
    last_B1 = torch.searchsorted(cdf_BV, total_B1)  # where rounding up would run past the end
    return torch.minimum(token_B1, last_B1).clamp(max=cdf_BV.shape[-1] - 1)


def _listed(values: Any) -> list[Any]:  # torch leaves Tensor.tolist untyped
    return values.tolist()
