"""What every inference engine promises: token ids in, sampled token ids and their log-probs out.

The engine in this process, vLLM in this process and a server over HTTP all look the same to a
rollout. Text never crosses this line: `gemenv.rollout.renderer` turns messages into ids.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal, Protocol

from gemenv.errors import ArgumentError, ContextOverflow

FinishReason = Literal["stop", "length", "abort"]
"""Why sampling ended: a stop token was sampled; no token was left in the budget; the engine gave
up (it was closed), so the answer is not whole."""


@dataclass(frozen=True, kw_only=True, slots=True)
class SamplingParams:
    """How to sample an answer.

    Attributes:
        max_new_tokens: the most tokens to sample, >= 1; the context's end may come sooner.
        temperature: divides the logits, >= 0; 0 takes the likeliest token.
        top_p: sample from the smallest set of likeliest tokens that holds this much probability,
            in (0, 1]; 1 keeps all. Greedy sampling ignores it.
        stop_token_ids: sampling any of these ends the answer; the token belongs to the answer.

    Raises:
        ArgumentError: if a value is outside its domain.

    Example:
        >>> SamplingParams(max_new_tokens=16, temperature=0.7, stop_token_ids=(2,)).top_p
        1.0
    """

    max_new_tokens: int
    temperature: float = 1.0
    top_p: float = 1.0
    stop_token_ids: tuple[int, ...] = ()

    def __post_init__(self) -> None:
        _require(self.max_new_tokens >= 1, "max_new_tokens", "an int >= 1", self.max_new_tokens)
        _require(
            math.isfinite(self.temperature) and self.temperature >= 0,
            "temperature",
            "a finite number >= 0 (0 is greedy)",
            self.temperature,
        )
        _require(0 < self.top_p <= 1, "top_p", "a number in (0, 1]", self.top_p)


@dataclass(frozen=True, kw_only=True, slots=True)
class GenerateRequest:
    """One prompt to answer.

    Attributes:
        prompt_ids: the whole context, at least one token.
        sampling: how to sample.
        seed: >= 0; the same request with the same seed and weights gives the same tokens (up to
            floating-point noise between engines, devices and batches).

    Raises:
        ArgumentError: if the prompt is empty or the seed negative.
    """

    prompt_ids: Sequence[int]
    sampling: SamplingParams
    seed: int

    def __post_init__(self) -> None:
        _require(len(self.prompt_ids) > 0, "prompt_ids", "at least one token", self.prompt_ids)
        _require(self.seed >= 0, "seed", "an int >= 0", self.seed)


@dataclass(frozen=True, kw_only=True, slots=True)
class GenerateResult:
    """One sampled answer, exactly as sampled.

    Attributes:
        token_ids: the sampled tokens, the stop token included if one was sampled.
        logprobs: natural log of the probability with which each of `token_ids` was drawn, that is
            after temperature and top-p. A greedy token reports its log-prob at temperature 1.
        finish_reason: why sampling ended.
        version: of the weights that sampled every one of these tokens.
    """

    token_ids: list[int]
    logprobs: list[float]
    finish_reason: FinishReason
    version: int


class Engine(Protocol):
    """A sampler of tokens with replaceable weights.

    Many coroutines of one event loop may call `generate` at once; the engine batches them, and an
    answer does not depend on which other requests it was batched with.
    """

    @property
    def version(self) -> int:
        """The version of the weights that the next request will see."""
        ...

    @property
    def max_context_tokens(self) -> int:
        """The most tokens that a prompt and its answer may have together."""
        ...

    async def generate(self, request: GenerateRequest) -> GenerateResult:
        """Sample one answer.

        Raises:
            ContextOverflow: if the prompt leaves no room for a single token.
            PolicyError: if the engine failed or is closed; the cause is attached.
        """
        ...

    async def score(self, token_ids: Sequence[int]) -> list[float]:
        """Return the log-prob of each token given all tokens before it, at temperature 1.

        Entry t belongs to `token_ids[t]`. Entry 0 is nan, since nothing predicts the first token.

        Raises:
            ContextOverflow: if there are more than `max_context_tokens`.
        """
        ...

    async def update_weights(self, source: Any, version: int) -> None:
        """Replace the weights, and call the new ones `version`.

        No answer is sampled with two sets of weights unless its result can say so.

        Args:
            source: what this engine reads weights from, for example a state dict or a path.
            version: the number that results will carry from now on.

        Raises:
            ContractError: if the weights do not fit the model; the old ones stay in place.
        """
        ...

    async def pause(self) -> None:
        """Return once nothing is being sampled; requests queue until `resume`."""
        ...

    async def resume(self) -> None:
        """Undo one `pause`."""
        ...

    async def close(self) -> None:
        """Stop for good: unfinished requests end as "abort". Closing twice is safe."""
        ...


def answer_budget(request: GenerateRequest, max_context_tokens: int) -> int:
    """Say how many tokens this request may sample: what it asks for, or what the context holds.

    Args:
        request: the request.
        max_context_tokens: the most tokens of prompt and answer together.

    Returns:
        A number of tokens, >= 1.

    Raises:
        ContextOverflow: if the prompt fills the context.

    Example:
        >>> sampling = SamplingParams(max_new_tokens=8)
        >>> answer_budget(GenerateRequest(prompt_ids=[5, 6, 7], sampling=sampling, seed=0), 10)
        7
    """
    room = max_context_tokens - len(request.prompt_ids)
    if room < 1:
        raise ContextOverflow(
            problem="The prompt leaves no room for an answer.",
            expected=f"fewer than {max_context_tokens} prompt tokens",
            got=len(request.prompt_ids),
            fix="shorten the history, or use a model or engine with a longer context",
        )
    return min(request.sampling.max_new_tokens, room)


def _require(is_valid: bool, name: str, expected: str, got: object) -> None:
    if not is_valid:
        raise ArgumentError(
            problem=f"{name} is outside its domain.",
            expected=expected,
            got=got,
            fix=f"pass {name} as {expected}",
        )
