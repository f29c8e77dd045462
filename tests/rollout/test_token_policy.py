"""What the engine saw and sampled is what the trajectory holds, token for token."""

import asyncio
from collections.abc import Sequence
from functools import cache
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gemenv import ActionForm, Env, Info, Message, Observation, Step, action_set, boxed
from gemenv.core.seeding import Stream, make_generator
from gemenv.errors import ContextOverflow, PolicyError
from gemenv.rollout.engine import FinishReason, GenerateRequest, GenerateResult, SamplingParams
from gemenv.rollout.policies.token_policy import TokenPolicy
from gemenv.rollout.renderers.template import TemplateRenderer
from gemenv.rollout.trajectory import Trajectory
from tests.rollout import chat_tokenizers
from tests.rollout.toys import Say, play

CHATML = chat_tokenizers.CHATML


class Told(Env):
    """Shows a list of observations, one a turn."""

    def __init__(self, observations: Sequence[str]) -> None:
        super().__init__(actions=action_set(ActionForm(Say, boxed("{number}"))))
        self.observations = observations

    def begin(self, options: dict[str, Any]) -> tuple[Observation, Info]:
        return self.observations[0], Info()

    def advance(self, action: str) -> Step:
        is_over = self.turn == len(self.observations) - 1
        return Step(self.observations[self.turn], 0.0, is_over, False, Info())


class ScriptedEngine:
    """Samples what it is told to, and remembers what it was asked."""

    version = 5
    max_context_tokens = 10**6

    def __init__(self, samples: Sequence[list[int]], finish_reason: FinishReason = "stop") -> None:
        self.samples, self.finish_reason = list(samples), finish_reason
        self.requests: list[GenerateRequest] = []

    async def generate(self, request: GenerateRequest) -> GenerateResult:
        sampled = self.samples[len(self.requests)]
        self.requests.append(request)
        return GenerateResult(
            token_ids=sampled,
            logprobs=[-0.5 * (place + 1) for place in range(len(sampled))],
            finish_reason=self.finish_reason,
            version=self.version,
        )


def user(content: str) -> Message:
    return Message(role="user", content=content)


@cache
def renderer(template: str) -> tuple[TemplateRenderer, int, int]:
    """Return a renderer, the size of its vocabulary, and its end-of-turn token."""
    tokenizer = chat_tokenizers.chatml(template)
    end_of_turn = tokenizer.convert_tokens_to_ids("<|im_end|>")
    return TemplateRenderer(tokenizer), len(tokenizer), end_of_turn


def rolled_out(
    template: str, observations: Sequence[str], engine: Any, **sampling: Any
) -> Trajectory:
    params = SamplingParams(**{"max_new_tokens": 8, **sampling})
    return play(Told(observations), TokenPolicy(engine, renderer(template)[0], params))


def assert_tokens_are_those_of_the_engine(episode: Trajectory, engine: ScriptedEngine) -> None:
    """Each turn's context and sample lie in its segment, exactly as they went in and came out."""
    spans = [(segment, span) for segment in episode.segments for span in segment.spans]
    assert [span.turn for _, span in spans] == list(range(len(engine.requests)))
    for (segment, span), request, sampled in zip(
        spans, engine.requests, engine.samples, strict=True
    ):
        assert segment.token_ids[: span.start] == list(request.prompt_ids)
        assert segment.token_ids[span.start : span.end] == sampled
        expected = [-0.5 * (place + 1) for place in range(len(sampled))]
        assert segment.logprobs[span.start : span.end] == expected
    for segment in episode.segments:
        assert len(segment.logprobs) == len(segment.token_ids) == segment.spans[-1].end
        pairs = zip(segment.logprobs, segment.sampled_mask, strict=True)
        assert all(logprob == 0.0 for logprob, is_sampled in pairs if not is_sampled)


TEMPLATES = [CHATML, chat_tokenizers.CHATML_WITHOUT_OLD_THINKING]


@settings(max_examples=60, deadline=None)
@given(st.data(), st.sampled_from(TEMPLATES), st.sampled_from(["stop", "length"]))
def test_segments_hold_what_the_engine_saw_and_sampled(
    data: st.DataObject, template: str, finish_reason: FinishReason
):
    _, vocabulary_size, end_of_turn = renderer(template)
    texts = st.text(max_size=20) | st.sampled_from(["<|im_end|>", "<think>no</think>", "</think>"])
    observations = data.draw(st.lists(texts, min_size=2, max_size=5))
    ids = st.integers(0, vocabulary_size - 1)
    samples = data.draw(
        st.lists(
            st.lists(ids, min_size=1, max_size=8),
            min_size=len(observations) - 1,
            max_size=len(observations) - 1,
        )
    )
    if finish_reason == "stop":
        samples = [[*sample, end_of_turn] for sample in samples]
    engine = ScriptedEngine(samples, finish_reason)
    episode = rolled_out(template, observations, engine)
    assert (episode.outcome, episode.error) == ("completed", None)
    assert_tokens_are_those_of_the_engine(episode, engine)


def test_a_conversation_that_extends_is_one_segment():
    end = renderer(CHATML)[2]
    engine = ScriptedEngine([[300, 301, end], [302, end], [303, end]])
    episode = rolled_out(CHATML, ["a", "b", "c", "d"], engine)
    assert len(episode.segments) == 1
    assert episode.num_sampled_tokens == 7
    assert_tokens_are_those_of_the_engine(episode, engine)


def test_a_conversation_that_was_rewritten_starts_anew():
    engine = ScriptedEngine([[300], [301], [302]], "length")
    policy = TokenPolicy(engine, renderer(CHATML)[0], SamplingParams(max_new_tokens=8))
    player = policy.start(Told(["a"]), make_generator(0, Stream.POLICY))

    async def ask() -> list[bool]:
        first = await player.act([user("a")])
        said = Message(role="assistant", content=first.text)
        conversations = [[user("a"), said, user("b")], [user("summary"), said, user("c")]]
        replies = [first, *[await player.act(conversation) for conversation in conversations]]
        return [reply.tokens.extends for reply in replies if reply.tokens]

    assert asyncio.run(ask()) == [False, True, False]
    anew = renderer(CHATML)[0].start([user("summary")])
    end_of_turn = anew.index(renderer(CHATML)[2])
    assert list(engine.requests[2].prompt_ids)[:end_of_turn] == anew[:end_of_turn]


def test_the_renderers_stop_tokens_are_added_to_the_engines():
    engine = ScriptedEngine([[1]])
    rolled_out(CHATML, ["a", "b"], engine, stop_token_ids=(7,))
    stops = engine.requests[0].sampling.stop_token_ids
    assert {7, renderer(CHATML)[2]} <= set(stops)


def test_each_turn_samples_with_a_seed_of_its_own_and_every_run_alike():
    def seeds() -> list[int]:
        engine = ScriptedEngine([[1], [1], [1]], "length")
        rolled_out(CHATML, ["a", "b", "c", "d"], engine)
        return [request.seed for request in engine.requests]

    assert len(set(seeds())) == 3
    assert seeds() == seeds()


def test_a_turn_carries_its_stop_reason_and_the_version_of_the_weights():
    episode = rolled_out(CHATML, ["a", "b"], ScriptedEngine([[1]], "length"))
    assert (episode.turns[0].stop_reason, episode.turns[0].version) == ("length", 5)


def test_an_engine_that_gave_up_is_a_policy_error():
    episode = rolled_out(CHATML, ["a", "b"], ScriptedEngine([[1]], "abort"))
    assert episode.outcome == "policy_error"
    assert episode.segments == []


@pytest.mark.parametrize(
    ("kind", "outcome"), [(PolicyError, "policy_error"), (ContextOverflow, "truncated")]
)
def test_what_the_engine_raises_ends_the_episode(kind: type[PolicyError], outcome: str):
    class Failing(ScriptedEngine):
        async def generate(self, request: GenerateRequest) -> GenerateResult:
            raise kind(problem="No.", expected="yes", got=0, fix="none")

    assert rolled_out(CHATML, ["a", "b"], Failing([])).outcome == outcome
