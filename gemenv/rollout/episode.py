"""One episode: a policy and an environment take turns, and everything goes on record.

This is the boundary where a failure becomes an outcome: whatever the policy or the environment
raises ends this episode only, and is never turned into a reward.
"""

import asyncio
import time
from collections.abc import Sequence
from concurrent.futures import Executor
from dataclasses import dataclass
from typing import Any, cast

from gemenv.core.env import Env, Step
from gemenv.core.message import Message, Observation
from gemenv.core.seeding import Stream, make_generator
from gemenv.errors import ContextOverflow, GraderError
from gemenv.rollout.policy import Player, Policy, Reply
from gemenv.rollout.trajectory import Outcome, Segment, Span, Trajectory, Turn

_TURNS_UNTIL_YIELD = 8  # an episode that never waits lets deadlines in; counted, not timed, so
# that the order of the episodes, and with it every batch, is the same in every run


@dataclass(frozen=True, slots=True, kw_only=True)
class Start:
    """Where an episode starts.

    Args:
        seed: for `env.reset`; equal seeds start from equal states.
        group: which group it belongs to; by convention equal seeds, equal group.
        policy_seed: for the policy's own choices; differs within a group.
        options: for `env.reset`.
    """

    seed: int
    group: int = 0
    policy_seed: int = 0
    options: dict[str, Any] | None = None


async def run_episode(
    env: Env,
    policy: Policy,
    start: Start,
    *,
    deadline_s: float | None = None,
    system_prompt: str | None = None,
    executor: Executor | None = None,
) -> Trajectory:
    """Play one episode to its end.

    Args:
        env: not used by anybody else meanwhile.
        policy: who plays.
        start: from where.
        deadline_s: wall seconds after which the episode ends in `timeout`; None for never.
        system_prompt: a first message before the first observation.
        executor: where steps of a `blocking` environment run; None for asyncio's default.

    Returns:
        The whole record. It never raises for a failing policy or environment: see its `outcome`.
    """
    episode = _Episode(env, policy, start, executor)
    try:
        async with asyncio.timeout(deadline_s):
            await episode.play(system_prompt)
    except TimeoutError:
        episode.end("timeout", f"not finished within {deadline_s} s")
    return episode.trajectory


class _Episode:
    """An episode under way: the record, and whose turn it is (for the blame, if it fails)."""

    def __init__(self, env: Env, policy: Policy, start: Start, executor: Executor | None) -> None:
        self.env, self.policy, self.start, self.executor = env, policy, start, executor
        self.is_blocking = bool(env.metadata.get("blocking"))
        self.conversation: list[Message] = []
        self.num_seen = 0
        self.trajectory = Trajectory(
            env_id=env.env_id,
            env_kwargs=env.env_kwargs,
            seed=start.seed,
            group=start.group,
            policy=policy.name,
            turns=[],
            segments=[],
        )

    def end(self, outcome: Outcome, error: str | None = None, reason: str | None = None) -> None:
        record = self.trajectory
        record.outcome, record.error, record.truncation_reason = outcome, error, reason
        record.final_messages = self.conversation[self.num_seen :]

    async def play(self, system_prompt: str | None) -> None:
        try:
            await self._reset(system_prompt)
            rng = make_generator(self.start.policy_seed, Stream.POLICY)
        except Exception as error:  # the boundary: a broken environment ends this episode only
            return self.end("env_error", _described(error))
        player: Player | None = None
        while True:
            if len(self.trajectory.turns) % _TURNS_UNTIL_YIELD == _TURNS_UNTIL_YIELD - 1:
                await asyncio.sleep(0)
            began = time.perf_counter()
            try:
                player = player or self.policy.start(self.env, rng)
                reply = await player.act(self.conversation)
            except ContextOverflow as error:
                return self.end("truncated", str(error), "context_overflow")
            except Exception as error:  # the boundary, the policy's side
                return self.end("policy_error", _described(error))
            acted = time.perf_counter()
            try:
                step = await self._step(reply.text)
            except GraderError as error:
                return self.end("grader_error", _described(error))
            except Exception as error:  # the boundary, the environment's side
                return self.end("env_error", _described(error))
            self._record(reply, step, acted - began, time.perf_counter() - acted)
            if step.terminated:
                return self.end("completed")
            if step.truncated:
                return self.end("truncated", reason=step.info.get("stop_reason", "turn_limit"))

    async def _reset(self, system_prompt: str | None) -> None:
        observation, info = await self._call(
            lambda: self.env.reset(seed=self.start.seed, options=self.start.options)
        )
        if system_prompt is not None:
            self.conversation.append(Message(role="system", content=system_prompt))
        self._show(observation, info.get("role", "user"))

    async def _step(self, action: str) -> Step:
        return await self._call(lambda: self.env.step(action))

    async def _call(self, function: Any) -> Any:
        if not self.is_blocking:
            return function()
        return await asyncio.get_running_loop().run_in_executor(self.executor, function)

    def _show(self, observation: Observation, role: str) -> None:
        self.conversation.append(cast(Message, {"role": role, "content": observation}))

    def _record(self, reply: Reply, step: Step, policy_s: float, env_s: float) -> None:
        record = self.trajectory
        seen = self.conversation[self.num_seen :]
        record.turns.append(
            Turn(
                messages=seen,
                action=reply.text,
                reward=float(step.reward),
                info=dict(step.info),
                stop_reason=reply.stop_reason,
                version=reply.version,
                policy_s=policy_s,
                env_s=env_s,
            )
        )
        if reply.tokens is not None:
            append_tokens(record.segments, len(record.turns) - 1, reply)
        self.conversation.append(Message(role="assistant", content=reply.text))
        self.num_seen = len(self.conversation)
        self._show(step.observation, step.info.get("role", "user"))


def append_tokens(segments: list[Segment], turn: int, reply: Reply) -> None:
    """Add a turn's tokens: to the last segment if its context extends it, else to a new one.

    Nothing is encoded again: what was sampled stays as it was sampled.
    """
    tokens = reply.tokens
    assert tokens is not None, "only replies with tokens have segments"
    if not tokens.extends or not segments:
        segments.append(Segment(token_ids=[], logprobs=[], spans=[]))
    segment = segments[-1]
    known = len(segment.token_ids)
    assert tokens.context_ids[:known] == segment.token_ids, "an extending context begins with it"
    segment.token_ids += tokens.context_ids[known:]
    segment.logprobs += [0.0] * (len(segment.token_ids) - known)
    begin = len(segment.token_ids)
    segment.token_ids += tokens.token_ids
    segment.logprobs += tokens.logprobs
    segment.spans.append(Span(turn, begin, len(segment.token_ids)))


def _described(error: BaseException) -> str:
    return f"{type(error).__name__}: {error}"


def conversation_of(trajectory: Trajectory) -> Sequence[Message]:
    """Return an episode as one chat, the final observation included."""
    messages: list[Message] = []
    for turn in trajectory.turns:
        messages += [*turn.messages, Message(role="assistant", content=turn.action)]
    return [*messages, *trajectory.final_messages]
