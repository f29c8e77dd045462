"""The policy: whatever answers in an episode."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, Protocol

from numpy.random import Generator

from gemenv.core.env import Env
from gemenv.core.message import Message


@dataclass(frozen=True, slots=True, kw_only=True)
class SampledTokens:
    """The tokens behind an answer.

    Args:
        context_ids: everything the engine was given: the context of this turn.
        token_ids: what it sampled, the stop token included.
        logprobs: one for each sampled token, at the sampling temperature.
        extends: whether the context begins with the whole context and sample of the turn before.
    """

    context_ids: list[int]
    token_ids: list[int]
    logprobs: list[float]
    extends: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Reply:
    """A policy's answer.

    Args:
        text: what the environment is given.
        tokens: the tokens behind it, if the policy sampled any.
        stop_reason: "length" if it was cut off.
        version: the version of the weights that wrote it.
    """

    text: str
    tokens: SampledTokens | None = None
    stop_reason: Literal["stop", "length"] = "stop"
    version: int = 0


class Player(Protocol):
    """One episode's side of a policy; it may keep what it needs between turns."""

    async def act(self, conversation: Sequence[Message]) -> Reply:
        """Answer the conversation so far, whose last message is the latest observation.

        Raises:
            PolicyError: if it cannot answer; ContextOverflow if the conversation is too long.
        """
        ...


class Policy(Protocol):
    """A maker of players."""

    @property
    def name(self) -> str:
        """What records and tables call it."""
        ...

    def start(self, env: Env, rng: Generator) -> Player:
        """Return the player of a new episode.

        Args:
            env: the environment, just reset; reference policies ask it for their action.
            rng: the episode's own generator; every random choice comes from it.
        """
        ...
