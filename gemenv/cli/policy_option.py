"""Which policy plays, and how: options that `gemenv play` and `gemenv eval` share."""

import re
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass, fields
from typing import Any

from gemenv.cli.extra import require_extra
from gemenv.errors import ArgumentError
from gemenv.rollout.engine import SamplingParams
from gemenv.rollout.policies.named import named_policy
from gemenv.rollout.policy import Policy

_TAKEN = {
    "chat": ("temperature", "max_new_tokens", "base_url"),
    "model": ("temperature", "max_new_tokens", "device"),
}
"""The options that each kind of model takes; other policies take none."""


@dataclass(frozen=True)
class PolicyOptions:
    """Who plays, and how it samples."""

    policy: str = "random"
    """random, constant, oracle, expert, human, a mixture such as
    mixture:random=0.7,expert=0.3, model:FOLDER (in Hugging Face's format, with a
    chat template), or chat:MODEL (on an OpenAI-compatible server)."""
    temperature: float | None = None
    """Of a model's sampling, 0 or more; 0 is greedy; 1 if left out."""
    max_new_tokens: int | None = None
    """The most tokens of a model's answer, 1 or more; 512 if left out."""
    base_url: str | None = None
    """Of a chat server, up to and including /v1; OPENAI_BASE_URL if left out. Its key is read
    from OPENAI_API_KEY."""
    device: str | None = None
    """Where a model folder runs, as torch names it; cpu if left out."""

    def __post_init__(self) -> None:
        taken = _TAKEN.get(self.kind, ())
        for option in fields(self)[1:]:  # all but the policy
            value = getattr(self, option.name)
            if value is not None and option.name not in taken:
                raise ArgumentError(
                    problem=f"The policy {self.policy!r} does not use {_flag(option.name)}.",
                    expected=" ".join(map(_flag, taken)) or "no option of a model",
                    got=value,
                    fix=f"leave {_flag(option.name)} out, or name another policy",
                )
        _ = self.sampling  # refuses what is outside its domain before any model is loaded

    @property
    def kind(self) -> str:
        """What stands before the colon: `chat`, `model`, or the name of a policy."""
        return self.policy.partition(":")[0]

    @property
    def is_person(self) -> bool:
        """Whether a person plays, alone or in a mixture."""
        return self.kind not in _TAKEN and "human" in re.split("[:=,]", self.policy)

    @property
    def sampling(self) -> SamplingParams:
        """How a model samples."""
        return SamplingParams(
            max_new_tokens=512 if self.max_new_tokens is None else self.max_new_tokens,
            temperature=1.0 if self.temperature is None else self.temperature,
        )


def _flag(name: str) -> str:
    return f"--{name.replace('_', '-')}"


@asynccontextmanager
async def open_policy(options: PolicyOptions) -> AsyncGenerator[Policy]:
    """Open a policy for a rollout, and close its connections or engine afterwards.

    Raises:
        ArgumentError: if there is no such policy, or an option is outside its domain.
        ConfigError: if a model folder cannot be read.
        MissingExtraError: if the policy needs what is not installed.
    """
    name = options.policy.partition(":")[2]
    if options.kind == "chat":
        from gemenv.rollout.policies.chat_policy import ChatPolicy, ChatServer  # needs aiohttp

        server = ChatServer(
            model=name,
            base_url=options.base_url or "",
            temperature=options.sampling.temperature,
            max_tokens=options.sampling.max_new_tokens,
        )
        async with ChatPolicy(server) as policy:
            yield policy
    elif options.kind == "model":
        async with _open_model(name, options) as policy:
            yield policy
    else:
        yield named_policy(options.policy)


@asynccontextmanager
async def _open_model(folder: str, options: PolicyOptions) -> AsyncGenerator[Policy]:
    require_extra("train", "torch", "transformers")  # which no other policy should wait for
    from transformers.utils.logging import disable_progress_bar

    from gemenv.rollout.engines.torch_engine import TorchEngine
    from gemenv.rollout.policies.token_policy import TokenPolicy
    from gemenv.rollout.renderer import make_renderer
    from gemenv.train.model import load_model

    disable_progress_bar()
    model: Any = load_model(folder)  # transformers is typed in part only
    renderer = make_renderer(model.tokenizer)  # as in training, so that it reads what it learned
    engine = TorchEngine(model.network.to(options.device or "cpu"))
    try:
        yield TokenPolicy(engine, renderer, options.sampling, name=folder)
    finally:
        await engine.close()
