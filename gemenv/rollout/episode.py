"""One episode: a policy and an environment take turns, and everything goes on record.

This is the boundary where a failure becomes an outcome: whatever the policy or the environment
raises, or returns against its contract, ends this episode only, and never becomes a reward.
"""

import asyncio
import json
import math
import time
from collections.abc import Callable, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass
from typing import Any, Literal, TypeVar, cast

from gemenv.core.env import Env, Step
from gemenv.core.message import Message, Observation
from gemenv.core.seeding import Stream, checked_seed, make_generator
from gemenv.errors import ArgumentError, ContextOverflow, ContractError, GraderError
from gemenv.rollout.policy import Player, Policy, Reply, SampledTokens
from gemenv.rollout.trajectory import Outcome, Segment, Span, Trajectory, Turn

T = TypeVar("T")

_TURNS_UNTIL_YIELD = 8  # an episode that never waits lets others in; counted, not timed, so that
# the order of the episodes, and with it every batch, is the same in every run


@dataclass(frozen=True, slots=True, kw_only=True)
class Start:
    """Where an episode starts.

    Args:
        seed: for `env.reset`, 0 or more; equal seeds start from equal states.
        group: which group it belongs to; by convention equal seeds, equal group.
        policy_seed: for the policy's own choices, 0 or more; differs within a group.
        options: for `env.reset`.

    Raises:
        ArgumentError: if a seed is negative or not an integer.
    """

    seed: int
    group: int = 0
    policy_seed: int = 0
    options: dict[str, Any] | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "seed", checked_seed(self.seed))
        object.__setattr__(self, "policy_seed", checked_seed(self.policy_seed))


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
        deadline_s: wall seconds, above 0, after which the episode ends in `timeout`; a step that
            does not wait is not interrupted. None for never.
        system_prompt: a first message before the first observation.
        executor: where steps of a `blocking` environment run; None for asyncio's default.

    Returns:
        The whole record. It never raises for a failing policy or environment: see its `outcome`.

    Raises:
        ArgumentError: if the deadline is not above 0.
    """
    return await Episode(env, policy, start, executor).run(deadline_s, system_prompt)


class Episode:
    """An episode under way: the record so far.

    Args:
        env: see `run_episode`, like the others.
        policy: who plays.
        start: from where.
        executor: where blocking steps run.

    Attributes:
        record: what happened so far.
        blocking_call: the last call to a blocking environment; after a `timeout` it may still run,
            and the environment must not be closed before it is done.
    """

    def __init__(
        self, env: Env, policy: Policy, start: Start, executor: Executor | None = None
    ) -> None:
        self.env, self.policy, self.start, self.executor = env, policy, start, executor
        self.is_blocking = bool(env.metadata.get("blocking"))
        self.blocking_call: asyncio.Future[Any] | None = None
        self.player: Player | None = None
        self.conversation: list[Message] = []
        self.num_seen = 0
        self.record = empty_record(env, policy, start)

    async def run(self, deadline_s: float | None, system_prompt: str | None) -> Trajectory:
        """Play to the end; see `run_episode`."""
        if deadline_s is not None and not deadline_s > 0:
            raise ArgumentError(
                problem="A deadline must lie ahead.",
                expected="seconds above 0, or None for no deadline",
                got=deadline_s,
                fix="give the episodes some time",
            )
        limit_s = math.inf if deadline_s is None else deadline_s
        task = asyncio.current_task()
        try:
            async with asyncio.timeout(deadline_s):
                await self._play(system_prompt, time.monotonic() + limit_s)
        except TimeoutError:
            self._end("timeout", f"not finished within {deadline_s} s")
        except asyncio.CancelledError:
            if task is not None and task.cancelling():
                raise
            self._end("cancelled", "what the episode waited for was cancelled")
        return self.record

    def _end(
        self, outcome: Outcome, error: str | None = None, reason: str | None = None
    ) -> Literal[False]:
        """Put the outcome on record; the episode does not go on."""
        record = self.record
        record.outcome, record.error, record.truncation_reason = outcome, error, reason
        record.final_messages = self.conversation[self.num_seen :]
        return False

    async def _play(self, system_prompt: str | None, deadline: float) -> None:
        try:
            await self._reset(system_prompt)
        except Exception as error:  # the boundary: a broken environment ends this episode only
            self._end("env_error", described(error))
            return
        is_running = True
        while is_running:
            if time.monotonic() >= deadline:
                raise TimeoutError
            is_running = await self._take_turn()
            if len(self.record.turns) % _TURNS_UNTIL_YIELD == 0:
                await asyncio.sleep(0)

    async def _take_turn(self) -> bool:
        """Let the policy answer and the environment step; tell whether the episode goes on."""
        began = time.perf_counter()
        try:
            self.player = self.player or self._start_player()
            reply = _checked_reply(await self.player.act(self.conversation), self.record.segments)
        except ContextOverflow as error:
            return self._end("truncated", str(error), "context_overflow")
        except Exception as error:  # the boundary, the policy's side
            return self._end("policy_error", described(error))
        acted = time.perf_counter()
        try:
            step = _checked_step(await self._call(lambda: self.env.step(reply.text)))
        except GraderError as error:
            return self._end("grader_error", described(error))
        except Exception as error:  # the boundary, the environment's side
            return self._end("env_error", described(error))
        self._keep(reply, step, acted - began, time.perf_counter() - acted)
        if step.terminated:
            return self._end("completed")
        if step.truncated:
            return self._end("truncated", reason=step.info.get("stop_reason", "turn_limit"))
        return True

    def _start_player(self) -> Player:
        return self.policy.start(self.env, make_generator(self.start.policy_seed, Stream.POLICY))

    async def _reset(self, system_prompt: str | None) -> None:
        start = self.start
        observation, info = await self._call(
            lambda: self.env.reset(seed=start.seed, options=start.options)
        )
        if system_prompt is not None:
            self.conversation.append(Message(role="system", content=system_prompt))
        self._show(observation, info.get("role", "user"))

    async def _call(self, function: Callable[[], T]) -> T:
        if not self.is_blocking:
            return function()
        loop = asyncio.get_running_loop()
        self.blocking_call = loop.run_in_executor(self.executor, function)
        return await asyncio.shield(self.blocking_call)

    def _show(self, observation: Observation, role: str) -> None:
        self.conversation.append(cast(Message, {"role": role, "content": observation}))

    def _keep(self, reply: Reply, step: Step, policy_s: float, env_s: float) -> None:
        turns = self.record.turns
        turns.append(
            Turn(
                messages=self.conversation[self.num_seen :],
                action=reply.text,
                reward=step.reward,
                info=dict(step.info),
                stop_reason=reply.stop_reason,
                version=reply.version,
                policy_s=policy_s,
                env_s=env_s,
            )
        )
        if reply.tokens is not None:
            append_tokens(self.record.segments, len(turns) - 1, reply.tokens)
        self.conversation.append(Message(role="assistant", content=reply.text))
        self.num_seen = len(self.conversation)
        self._show(step.observation, step.info.get("role", "user"))


def empty_record(env: Env, policy: Policy, start: Start) -> Trajectory:
    """Return the record of an episode that has not begun."""
    return Trajectory(
        env_id=env.env_id,
        env_kwargs=env.env_kwargs,
        seed=start.seed,
        options=start.options,
        policy=policy.name,
        policy_seed=start.policy_seed,
        group=start.group,
        turns=[],
        segments=[],
    )


def append_tokens(segments: list[Segment], turn: int, tokens: SampledTokens) -> None:
    """Add a turn's tokens: to the last segment if its context extends it, else to a new one.

    Nothing is encoded again: what was sampled stays as it was sampled.
    """
    if not tokens.extends or not segments:
        segments.append(Segment(token_ids=[], logprobs=[], spans=[]))
    segment = segments[-1]
    known = len(segment.token_ids)
    segment.token_ids += tokens.context_ids[known:]
    segment.logprobs += [0.0] * (len(segment.token_ids) - known)
    begin = len(segment.token_ids)
    segment.token_ids += tokens.token_ids
    segment.logprobs += tokens.logprobs
    segment.spans.append(Span(turn, begin, len(segment.token_ids)))


def described(error: BaseException) -> str:
    """Return what a record says of an error."""
    return f"{type(error).__name__}: {error}"


def conversation_of(trajectory: Trajectory) -> Sequence[Message]:
    """Return an episode as one chat, the final observation included."""
    messages: list[Message] = []
    for turn in trajectory.turns:
        messages += [*turn.messages, Message(role="assistant", content=turn.action)]
    return [*messages, *trajectory.final_messages]


def _checked_reply(reply: Any, segments: Sequence[Segment]) -> Reply:
    """Return a reply that keeps the policy's contract, its text as a plain string."""
    if not isinstance(reply, Reply) or not isinstance(reply.text, str):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise _broken("policy", "A player must return a Reply with a text.", reply)
    tokens = reply.tokens
    if tokens is not None:
        if not len(tokens.token_ids) == len(tokens.logprobs) > 0:
            raise _broken("policy", "Each sampled token needs its log-prob.", tokens)
        if tokens.extends and segments and not _is_extension(tokens, segments[-1]):
            raise _broken("policy", "The context does not extend the one before.", tokens)
    return reply if type(reply.text) is str else _with_plain_text(reply)


def _is_extension(tokens: SampledTokens, segment: Segment) -> bool:
    """Tell whether a context goes on after what was sampled last (the rest was checked before)."""
    known, begin = len(segment.token_ids), segment.spans[-1].start
    return tokens.context_ids[begin:known] == segment.token_ids[begin:]


def _with_plain_text(reply: Reply) -> Reply:
    return Reply(
        text=str(reply.text),
        tokens=reply.tokens,
        stop_reason=reply.stop_reason,
        version=reply.version,
    )


def _checked_step(result: Any) -> Step:
    """Return a step that keeps the environment's contract; Gymnasium's plain tuples are fine."""
    step = Step(*result)
    reward = float(step.reward)
    if not math.isfinite(reward):
        raise _broken("environment", "A reward must be finite.", step.reward)
    if step.terminated and step.truncated:
        raise _broken("environment", "A step must not be terminated and truncated.", step.info)
    if not isinstance(step.observation, str | list):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise _broken("environment", "An observation is text or content parts.", step.observation)
    json.dumps(step.info, allow_nan=False)  # raises for what no file could hold
    return step._replace(reward=reward)


def _broken(side: str, problem: str, got: Any) -> ContractError:
    return ContractError(
        problem=problem,
        expected=f"what the {side}'s contract promises",
        got=got,
        fix=f"mend the {side}; the episode is recorded without a return",
    )
