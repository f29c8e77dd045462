"""The trajectory: the one record of an episode that training, evaluation and viewers read.

An episode is a list of turns. Where a policy samples tokens it also has segments: a segment is a
maximal run of turns whose contexts extend each other token for token, stored once. A context that
was rewritten starts a new segment. A segment is a training row.
"""

import math
from typing import Any, Literal

import msgspec

from gemenv.core.message import Message
from gemenv.errors import ContractError

FORMAT_VERSION = 1

Outcome = Literal[
    "completed", "truncated", "policy_error", "env_error", "grader_error", "timeout", "cancelled"
]
"""How an episode ended; only `completed` and `truncated` episodes have a return."""


class Span(msgspec.Struct, frozen=True):
    """The tokens that one turn sampled: `token_ids[start:end]` of its segment."""

    turn: int
    start: int
    end: int


class Segment(msgspec.Struct, kw_only=True):
    """A run of turns whose contexts extend each other; one training row.

    Attributes:
        token_ids: everything the engine saw and sampled, in order. Length T.
        logprobs: [T] log-probability of each sampled token at the sampling temperature, given
            all before it; 0.0 where the token was not sampled.
        spans: which tokens were sampled, by turn, in order; never empty spans.
    """

    token_ids: list[int]
    logprobs: list[float]
    spans: list[Span]

    @property
    def sampled_mask(self) -> list[bool]:
        """[T] True where the policy sampled the token."""
        mask = [False] * len(self.token_ids)
        for span in self.spans:
            mask[span.start : span.end] = [True] * (span.end - span.start)
        return mask


class Turn(msgspec.Struct, kw_only=True):
    """One action and what came of it.

    Attributes:
        messages: the messages that are new since the turn before: what the agent saw.
        action: the text that the environment was given.
        reward: what the environment paid for it; 0.0 only if it said so.
        info: the environment's info after the action, JSON-safe.
        stop_reason: why the policy stopped writing: "stop", or "length" if it was cut off.
        version: the version of the weights that wrote it.
        policy_s: wall seconds until the policy had answered.
        env_s: wall seconds of `env.step`.
    """

    messages: list[Message]
    action: str
    reward: float
    info: dict[str, Any]
    stop_reason: Literal["stop", "length"] = "stop"
    version: int = 0
    policy_s: float = 0.0
    env_s: float = 0.0


class Trajectory(msgspec.Struct, kw_only=True, tag="trajectory", tag_field="record"):
    """One episode, whole.

    Attributes:
        env_id: the environment's full id.
        env_kwargs: the keywords beyond the id's own.
        seed: what `reset` was given; with `options` and the actions the episode can be replayed.
        options: what else `reset` was given.
        group: episodes of one group share their initial state.
        policy: the policy's name.
        policy_seed: from which the policy drew.
        turns: in order; the last one ended the episode, unless an error did.
        segments: the tokens; empty for policies that answer in text.
        outcome: how it ended.
        truncation_reason: for `truncated`: "turn_limit", "context_overflow" or the env's own.
        error: for the other outcomes: what happened.
        final_messages: what the agent would have seen next.
        format_version: of this record.
    """

    env_id: str
    env_kwargs: dict[str, Any] = {}
    seed: int = 0
    options: dict[str, Any] | None = None
    group: int = 0
    policy: str = ""
    policy_seed: int = 0
    turns: list[Turn] = []
    segments: list[Segment] = []
    outcome: Outcome = "cancelled"
    truncation_reason: str | None = None
    error: str | None = None
    final_messages: list[Message] = []
    format_version: int = FORMAT_VERSION

    @property
    def has_return(self) -> bool:
        """Whether the episode ended as an episode, and not in an error."""
        return self.outcome in ("completed", "truncated")

    @property
    def episode_return(self) -> float:
        """The undiscounted sum of rewards.

        Raises:
            ContractError: if the episode ended in an error; an error is not a reward of 0.
        """
        if not self.has_return:
            raise ContractError(
                problem=f"An episode that ended in {self.outcome!r} has no return.",
                expected="an episode that was completed or truncated",
                got=self.error,
                fix="leave it out: filter on trajectory.has_return",
            )
        return math.fsum(turn.reward for turn in self.turns)

    @property
    def success(self) -> bool:
        """Whether the environment said that the task was solved."""
        return bool(self.turns) and bool(self.turns[-1].info.get("success", False))

    @property
    def num_sampled_tokens(self) -> int:
        """How many tokens the policy sampled."""
        return sum(span.end - span.start for segment in self.segments for span in segment.spans)
