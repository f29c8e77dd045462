"""Policies that answer in text without a model: the base, and the simplest ones."""

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence

from numpy.random import Generator

from gemenv.core.env import Env
from gemenv.core.message import Message
from gemenv.errors import ArgumentError, NoReferenceError, PolicyError
from gemenv.rollout.policy import Player, Policy, Reply


class TextPolicy(ABC):
    """A policy that needs the environment, the conversation and a generator, and keeps no state."""

    name: str = ""

    @abstractmethod
    def answer(self, env: Env, conversation: Sequence[Message], rng: Generator) -> str:
        """Return the answer to a conversation whose last message is the latest observation."""

    def start(self, env: Env, rng: Generator) -> Player:
        """Return a player that calls `answer` each turn."""
        return _TextPlayer(self, env, rng)


class _TextPlayer:
    def __init__(self, policy: TextPolicy, env: Env, rng: Generator) -> None:
        self.policy, self.env, self.rng = policy, env, rng

    async def act(self, conversation: Sequence[Message]) -> Reply:
        return Reply(text=self.policy.answer(self.env, conversation, self.rng))


class RandomPolicy(TextPolicy):
    """A legal action drawn evenly where the environment lists them, else a well-formed one."""

    name = "random"

    def answer(self, env: Env, conversation: Sequence[Message], rng: Generator) -> str:
        """Draw an action."""
        try:
            legal = env.legal_actions()
        except NoReferenceError:
            return env.actions.format(env.actions.sample(rng))
        return legal[int(rng.integers(len(legal)))]


class OraclePolicy(TextPolicy):
    """The best action, knowing the hidden state: the top of the score scale."""

    name = "oracle"

    def answer(self, env: Env, conversation: Sequence[Message], rng: Generator) -> str:
        """Ask the environment."""
        return env.oracle_action()


class ExpertPolicy(TextPolicy):
    """The best known action from what the player has seen."""

    name = "expert"

    def answer(self, env: Env, conversation: Sequence[Message], rng: Generator) -> str:
        """Ask the environment."""
        return env.expert_action()


class FunctionPolicy(TextPolicy):
    """A policy written as a function.

    Args:
        function: from the conversation and the episode's generator to an answer.
        name: what records call it.
    """

    def __init__(
        self, function: Callable[[Sequence[Message], Generator], str], name: str = "function"
    ) -> None:
        self.function, self.name = function, name

    def answer(self, env: Env, conversation: Sequence[Message], rng: Generator) -> str:
        """Call the function."""
        return self.function(conversation, rng)


class ConstantPolicy:
    """One random action, repeated for the whole episode: what an env must not pay for."""

    name = "constant"

    def start(self, env: Env, rng: Generator) -> Player:
        """Draw the episode's action."""
        answer = RandomPolicy().answer(env, (), rng)
        return ScriptedPolicy([answer], repeat_last=True).start(env, rng)


class ScriptedPolicy:
    """Answers read from a list.

    Args:
        answers: one for each turn.
        repeat_last: go on with the last one; otherwise a script that runs out is a PolicyError.
    """

    name = "scripted"

    def __init__(self, answers: Sequence[str], *, repeat_last: bool = False) -> None:
        self.answers, self.repeat_last = answers, repeat_last

    def start(self, env: Env, rng: Generator) -> Player:
        """Return a player at the start of the script."""
        return _ScriptPlayer(self)


class _ScriptPlayer:
    def __init__(self, policy: ScriptedPolicy) -> None:
        self.policy, self.turn = policy, 0

    async def act(self, conversation: Sequence[Message]) -> Reply:
        answers = self.policy.answers
        turn = min(self.turn, len(answers) - 1) if self.policy.repeat_last else self.turn
        if not 0 <= turn < len(answers):
            raise PolicyError(
                problem="The script ran out before the episode ended.",
                expected=f"at most {len(answers)} turns",
                got=self.turn + 1,
                fix="write more answers, or pass repeat_last=True",
            )
        self.turn += 1
        return Reply(text=answers[turn])


class MixturePolicy:
    """Each turn, one of several policies answers, drawn by weight.

    Args:
        weights: a finite weight above 0 for each policy; they need not sum to 1.

    Raises:
        ArgumentError: if there is no policy, or a weight is not finite and above 0.
    """

    def __init__(self, weights: Mapping[Policy, float]) -> None:
        if not weights or not all(0 < weight < math.inf for weight in weights.values()):
            raise ArgumentError(
                problem="A mixture needs policies with weights above 0.",
                expected="e.g. {RandomPolicy(): 0.7, ExpertPolicy(): 0.3}",
                got=weights,
                fix="leave out the policies that should never answer",
            )
        self.weights = dict(weights)
        self.name = "mixture:" + ",".join(f"{p.name}={w:g}" for p, w in weights.items())

    def start(self, env: Env, rng: Generator) -> Player:
        """Start a player of each policy."""
        return _MixturePlayer(self, env, rng)


class _MixturePlayer:
    def __init__(self, policy: MixturePolicy, env: Env, rng: Generator) -> None:
        self.players = [member.start(env, rng) for member in policy.weights]
        total = sum(policy.weights.values())
        self.shares = [weight / total for weight in policy.weights.values()]
        self.rng = rng

    async def act(self, conversation: Sequence[Message]) -> Reply:
        chosen = int(self.rng.choice(len(self.players), p=self.shares))
        return await self.players[chosen].act(conversation)
