"""A person as the policy."""

import asyncio
from collections.abc import Callable, Sequence

from numpy.random import Generator

from gemenv.core.env import Env
from gemenv.core.message import Message, text_of
from gemenv.rollout.policy import Player, Reply


class HumanPolicy:
    """A person who reads the latest observation and types an answer.

    Args:
        ask: shows a text and returns what was typed; `input` by default.
    """

    name = "human"

    def __init__(self, ask: Callable[[str], str] = input) -> None:
        self.ask = ask

    def start(self, env: Env, rng: Generator) -> Player:
        """Return a player that asks."""
        return _HumanPlayer(self.ask)


class _HumanPlayer:
    def __init__(self, ask: Callable[[str], str]) -> None:
        self.ask = ask

    async def act(self, conversation: Sequence[Message]) -> Reply:
        observation = text_of(conversation[-1]["content"])
        return Reply(text=await asyncio.to_thread(self.ask, f"{observation}\n> "))
