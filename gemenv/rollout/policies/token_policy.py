"""The policy of a language model: an engine samples, a renderer puts messages into tokens."""

from collections.abc import Sequence

from numpy.random import Generator

from gemenv.core.env import Env
from gemenv.core.message import Message
from gemenv.errors import PolicyError
from gemenv.rollout.engine import Engine, FinishReason, GenerateRequest, SamplingParams
from gemenv.rollout.policy import Player, Reply, SampledTokens
from gemenv.rollout.renderer import Renderer


class TokenPolicy:
    """A model that answers by sampling tokens; what it sampled is kept as sampled.

    Args:
        engine: samples.
        renderer: turns messages into tokens, only ever extending what is there.
        sampling: how to sample. The renderer's stop tokens are added to its own.
        name: what records call it.
    """

    def __init__(
        self, engine: Engine, renderer: Renderer, sampling: SamplingParams, name: str = "model"
    ) -> None:
        self.engine, self.renderer, self.name = engine, renderer, name
        stops = {*sampling.stop_token_ids, *renderer.stop_token_ids}
        self.sampling = SamplingParams(
            max_new_tokens=sampling.max_new_tokens,
            temperature=sampling.temperature,
            top_p=sampling.top_p,
            stop_token_ids=tuple(sorted(stops)),
        )

    def start(self, env: Env, rng: Generator) -> Player:
        """Return a player with an empty context."""
        return _TokenPlayer(self, rng)


class _TokenPlayer:
    """One episode's context: every token that the engine saw or sampled, in order."""

    def __init__(self, policy: TokenPolicy, rng: Generator) -> None:
        self.policy, self.rng = policy, rng
        self.seen: list[Message] = []
        self.context_ids: list[int] = []
        self.sampled_ids: list[int] = []
        self.finish_reason: FinishReason = "stop"

    async def act(self, conversation: Sequence[Message]) -> Reply:
        policy = self.policy
        extension = self._extension(conversation)
        extends = extension is not None
        if extension is None:
            self.context_ids = policy.renderer.start(conversation)
        else:
            self.context_ids = [*self.context_ids, *self.sampled_ids, *extension]
        request = GenerateRequest(
            prompt_ids=self.context_ids,
            sampling=policy.sampling,
            seed=int(self.rng.integers(2**63)),
        )
        result = await policy.engine.generate(request)
        if result.finish_reason == "abort":
            raise _aborted(policy.name)
        text = policy.renderer.decode(result.token_ids)
        self.seen = [*conversation, Message(role="assistant", content=text)]
        self.sampled_ids, self.finish_reason = result.token_ids, result.finish_reason
        return Reply(
            text=text,
            tokens=SampledTokens(
                context_ids=self.context_ids,
                token_ids=result.token_ids,
                logprobs=result.logprobs,
                extends=extends,
            ),
            stop_reason=result.finish_reason,
            version=result.version,
        )

    def _extension(self, conversation: Sequence[Message]) -> list[int] | None:
        """Return the tokens of the new messages, or None where the context must start anew."""
        num_seen = len(self.seen)
        if not self.seen or list(conversation[:num_seen]) != self.seen:
            return None
        return self.policy.renderer.extend(
            self.context_ids, self.sampled_ids, self.finish_reason, conversation[num_seen:]
        )


def _aborted(name: str) -> PolicyError:
    return PolicyError(
        problem=f"The engine of {name!r} gave up on a request.",
        expected="an answer that ended with a stop token or at the length limit",
        got="abort",
        fix="look at the engine's own log; the episode is recorded as a policy_error",
    )
