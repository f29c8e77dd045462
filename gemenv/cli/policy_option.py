"""Which policy plays, and how: options that `gemenv play` and `gemenv eval` share."""

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

from gemenv.cli.extra import require_extra
from gemenv.rollout.policies.named import named_policy
from gemenv.rollout.policy import Policy


@dataclass(frozen=True)
class PolicyOptions:
    """Who plays, and how it samples."""

    policy: str = "random"
    """random, constant, oracle, expert, a mixture such as
    mixture:random=0.7,expert=0.3, model:FOLDER (in Hugging Face's format, with a
    chat template), or chat:MODEL (on an OpenAI-compatible server)."""
    temperature: float = 1.0
    """Of a model's sampling, 0 or more; 0 is greedy."""
    max_new_tokens: int = 512
    """The most tokens of a model's answer, 1 or more."""
    base_url: str = ""
    """Of the server, up to and including /v1; by default OPENAI_BASE_URL. Its key is read from
    OPENAI_API_KEY."""
    device: str = "cpu"
    """Where a model folder runs, as torch names it."""


@asynccontextmanager
async def open_policy(options: PolicyOptions) -> AsyncGenerator[Policy]:
    """Open a policy for a rollout, and close its connections or engine afterwards.

    Raises:
        ArgumentError: if there is no such policy, or an option is outside its domain.
        ConfigError: if a model folder cannot be read.
        MissingExtraError: if the policy needs what is not installed.
    """
    kind, _, rest = options.policy.partition(":")
    if kind == "chat":
        from gemenv.rollout.policies.chat_policy import ChatPolicy, ChatServer  # needs aiohttp

        server = ChatServer(
            model=rest,
            base_url=options.base_url,
            temperature=options.temperature,
            max_tokens=options.max_new_tokens,
        )
        async with ChatPolicy(server) as policy:
            yield policy
    elif kind == "model":
        async with _open_model(rest, options) as policy:
            yield policy
    else:
        yield named_policy(options.policy)


@asynccontextmanager
async def _open_model(folder: str, options: PolicyOptions) -> AsyncGenerator[Policy]:
    require_extra("train", "torch", "transformers")  # which no other policy should wait for
    from transformers.utils.logging import disable_progress_bar

    from gemenv.rollout.engine import SamplingParams
    from gemenv.rollout.engines.torch_engine import TorchEngine
    from gemenv.rollout.policies.token_policy import TokenPolicy
    from gemenv.rollout.renderers.template import TemplateRenderer
    from gemenv.train.model import load_model

    disable_progress_bar()
    sampling = SamplingParams(
        max_new_tokens=options.max_new_tokens, temperature=options.temperature
    )
    model: Any = load_model(folder)  # transformers is typed in part only
    engine = TorchEngine(model.network.to(options.device))
    try:
        yield TokenPolicy(engine, TemplateRenderer(model.tokenizer), sampling, name=folder)
    finally:
        await engine.close()
