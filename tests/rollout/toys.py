"""An environment and policies that fail on request, for the tests of rollouts."""

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from numpy.random import Generator

from gemenv import ActionForm, Env, Info, Message, Observation, Step, action_set, boxed
from gemenv.rollout.episode import Start, run_episode
from gemenv.rollout.policies.text_policy import FunctionPolicy
from gemenv.rollout.policy import Player, Reply
from gemenv.rollout.trajectory import Trajectory


@dataclass(frozen=True)
class Say:
    """Say a number."""

    number: int


class Counter(Env):
    """Pays 0.5 a turn and ends after `num_turns`; `fail` may raise in `reset`, or at a turn."""

    def __init__(
        self,
        *,
        num_turns: int = 3,
        max_turns: int | None = None,
        fail: Callable[[int], None] = lambda turn: None,
    ) -> None:
        super().__init__(
            actions=action_set(ActionForm(Say, boxed("{number}"), number=range(10))),
            max_turns=max_turns,
        )
        self.num_turns, self.fail = num_turns, fail
        self.env_id = "toy:Counter-v0"
        self.is_closed = False

    def begin(self, options: dict[str, Any]) -> tuple[Observation, Info]:
        self.fail(0)
        self.state = int(self.np_random.integers(10**6))
        return f"start {self.state}", Info()

    def advance(self, action: str) -> Step:
        self.fail(self.turn)
        if self.turn < self.num_turns:
            return Step(f"turn {self.turn}", 0.5, False, False, Info())
        return Step("end", 0.5, True, False, Info(success=True, stop_reason="success"))

    def close(self) -> None:
        self.is_closed = True


def failing(error: Exception, *, at: int) -> Callable[[int], None]:
    """Return a `fail` that raises at one turn; turn 0 is `reset`."""

    def fail(turn: int) -> None:
        if turn == at:
            raise error

    return fail


class SlowPolicy:
    """Waits before each answer; remembers how many players waited at once."""

    name = "slow"

    def __init__(self, delay_s: Callable[[int], float] = lambda seed: 0.0) -> None:
        self.delay_s = delay_s
        self.num_waiting = self.most_waiting = 0

    def start(self, env: Env, rng: Generator) -> Player:
        return _SlowPlayer(self, env)


class _SlowPlayer:
    def __init__(self, policy: SlowPolicy, env: Env) -> None:
        self.policy, self.env = policy, env

    async def act(self, conversation: Sequence[Message]) -> Reply:
        policy = self.policy
        policy.num_waiting += 1
        policy.most_waiting = max(policy.most_waiting, policy.num_waiting)
        await asyncio.sleep(policy.delay_s(self.env.np_random_seed))
        policy.num_waiting -= 1
        return Reply(text="answer")


def says(text: str = "answer") -> FunctionPolicy:
    """Return a policy that always says the same."""
    return FunctionPolicy(lambda conversation, rng: text)


def raises(error: Exception) -> FunctionPolicy:
    """Return a policy that never answers."""

    def answer(conversation: Sequence[Message], rng: Generator) -> str:
        raise error

    return FunctionPolicy(answer)


def play(env: Env, policy: Any, **options: Any) -> Trajectory:
    """Play one episode from seed 7."""
    return asyncio.run(run_episode(env, policy, Start(seed=7), **options))
