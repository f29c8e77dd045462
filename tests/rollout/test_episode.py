import asyncio
import math
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from typing import ClassVar

import numpy as np
import pytest
from numpy.random import Generator

from gemenv import Env, Info, Step
from gemenv.errors import ArgumentError, ContextOverflow, ContractError, GraderError, PolicyError
from gemenv.rollout.episode import Start, append_tokens, conversation_of, run_episode
from gemenv.rollout.policy import Player, Reply, SampledTokens
from gemenv.rollout.trajectory import Segment, Span
from tests.rollout.toys import Counter, SlowPolicy, failing, play, raises, says


def overflow() -> ContextOverflow:
    return ContextOverflow(problem="Full.", expected="room", got=0, fix="shorten it")


def test_every_turn_is_on_record():
    episode = play(Counter(num_turns=2), says("hello"))
    start = f"start {Counter(num_turns=2).reset(seed=7)[0].split()[1]}"
    assert [turn.messages for turn in episode.turns] == [
        [{"role": "user", "content": start}],
        [{"role": "user", "content": "turn 1"}],
    ]
    assert [turn.action for turn in episode.turns] == ["hello", "hello"]
    assert [turn.reward for turn in episode.turns] == [0.5, 0.5]
    assert [turn.info["turn"] for turn in episode.turns] == [1, 2]
    assert episode.final_messages == [{"role": "user", "content": "end"}]
    assert (episode.outcome, episode.error, episode.truncation_reason) == ("completed", None, None)
    assert (episode.episode_return, episode.success) == (1.0, True)
    assert (episode.env_id, episode.seed, episode.policy) == ("toy:Counter-v0", 7, "function")


def test_the_chat_of_an_episode_is_what_was_said():
    episode = play(Counter(num_turns=1), says("hello"), system_prompt="Be brief.")
    roles = [message["role"] for message in conversation_of(episode)]
    assert roles == ["system", "user", "assistant", "user"]
    assert conversation_of(episode)[0]["content"] == "Be brief."


def test_a_turn_limit_truncates_and_keeps_the_return():
    episode = play(Counter(num_turns=9, max_turns=2), says())
    assert (episode.outcome, episode.truncation_reason) == ("truncated", "turn_limit")
    assert episode.episode_return == 1.0


def test_an_environment_that_fails_in_reset_has_no_turn():
    episode = play(Counter(fail=failing(ValueError("no board"), at=0)), says())
    assert (episode.outcome, episode.turns) == ("env_error", [])
    assert episode.error == "ValueError: no board"


def test_an_environment_that_fails_in_step_keeps_the_turns_before():
    episode = play(Counter(fail=failing(KeyError("cell"), at=2)), says())
    assert (episode.outcome, len(episode.turns)) == ("env_error", 1)
    assert episode.error == "KeyError: 'cell'"
    assert episode.final_messages == [{"role": "user", "content": "turn 1"}]


def test_a_grader_that_fails_is_not_a_wrong_answer():
    error = GraderError(problem="No verdict.", expected="one", got=None, fix="mend it")
    episode = play(Counter(fail=failing(error, at=1)), says())
    assert episode.outcome == "grader_error"
    assert not episode.has_return


@pytest.mark.parametrize("error", [RuntimeError("down"), TimeoutError("too slow"), ValueError("?")])
def test_a_policy_that_fails_is_blamed_itself(error: Exception):
    episode = play(Counter(), raises(error), deadline_s=60)
    assert episode.outcome == "policy_error"
    assert episode.error == f"{type(error).__name__}: {error}"


def test_a_policy_that_fails_to_start_is_blamed_itself():
    class Broken:
        name = "broken"

        def start(self, env: Env, rng: Generator) -> Player:
            raise PolicyError(problem="No.", expected="yes", got=0, fix="none")

    assert play(Counter(), Broken()).outcome == "policy_error"


def test_a_context_that_overflows_truncates():
    episode = play(Counter(), raises(overflow()))
    assert (episode.outcome, episode.truncation_reason) == ("truncated", "context_overflow")
    assert episode.episode_return == 0.0


def test_the_return_of_a_failed_episode_cannot_be_read():
    episode = play(Counter(), raises(RuntimeError("down")))
    with pytest.raises(ContractError, match="policy_error"):
        _ = episode.episode_return


def test_a_policy_that_does_not_answer_in_time_ends_the_episode():
    episode = play(Counter(), SlowPolicy(lambda seed: 60.0), deadline_s=0.05)
    assert (episode.outcome, episode.turns) == ("timeout", [])


def test_an_episode_that_never_waits_meets_its_deadline_too():
    episode = play(Counter(num_turns=10**9), says(), deadline_s=0.05)
    assert episode.outcome == "timeout"
    assert len(episode.turns) > 1


def test_a_cancelled_episode_does_not_pass_for_a_finished_one():
    async def cancel() -> None:
        job = asyncio.create_task(
            run_episode(Counter(), SlowPolicy(lambda seed: 60.0), Start(seed=7))
        )
        await asyncio.sleep(0.01)
        job.cancel()
        await job

    with pytest.raises(asyncio.CancelledError):
        asyncio.run(cancel())


class Waiting(Counter):
    """Its step waits until the event loop sets an event."""

    metadata: ClassVar = {"render_modes": [], "blocking": True}

    def __init__(self, event: threading.Event) -> None:
        super().__init__(num_turns=1)
        self.event, self.threads = event, set[str]()

    def advance(self, action: str) -> Step:
        self.threads.add(threading.current_thread().name)
        assert self.event.wait(timeout=10), "the event loop was blocked"
        return super().advance(action)


def test_a_blocking_environment_steps_in_the_executor_while_the_loop_goes_on():
    async def step_while_waiting() -> tuple[str, set[str]]:
        env = Waiting(threading.Event())
        with ThreadPoolExecutor(1, thread_name_prefix="envs") as executor:
            job = asyncio.create_task(run_episode(env, says(), Start(seed=7), executor=executor))
            await asyncio.sleep(0.01)
            env.event.set()
            return (await job).outcome, env.threads

    outcome, threads = asyncio.run(step_while_waiting())
    assert outcome == "completed"
    assert threads == {"envs_0"}


def test_a_cheap_environment_steps_in_the_loop_itself():
    threads: set[str] = set()
    play(Counter(fail=lambda turn: threads.add(threading.current_thread().name)), says())
    assert threads == {threading.main_thread().name}


def test_an_observation_is_shown_under_the_role_that_the_environment_names():
    class Tool(Counter):
        def advance(self, action: str) -> Step:
            step = super().advance(action)
            return step._replace(info=Info(**{**step.info, "role": "tool"}))

    episode = play(Tool(num_turns=2), says())
    assert [m["role"] for m in conversation_of(episode)] == [
        "user", "assistant", "tool", "assistant", "tool",
    ]  # fmt: skip


def tokens(context: list[int], sampled: list[int], *, extends: bool) -> Reply:
    logprobs = [-float(token) for token in sampled]
    return Reply(
        text="",
        tokens=SampledTokens(
            context_ids=context, token_ids=sampled, logprobs=logprobs, extends=extends
        ),
    )


def test_turns_whose_contexts_extend_each_other_share_a_segment():
    segments: list[Segment] = []
    append_tokens(segments, 0, tokens([1, 2], [3, 4], extends=False).tokens)
    append_tokens(segments, 1, tokens([1, 2, 3, 4, 5], [6], extends=True).tokens)
    assert segments == [
        Segment(
            token_ids=[1, 2, 3, 4, 5, 6],
            logprobs=[0, 0, -3, -4, 0, -6],
            spans=[Span(0, 2, 4), Span(1, 5, 6)],
        )
    ]


def test_a_rewritten_context_starts_a_new_segment():
    segments: list[Segment] = []
    append_tokens(segments, 0, tokens([1, 2], [3], extends=False).tokens)
    append_tokens(segments, 1, tokens([9], [8], extends=False).tokens)
    assert [segment.token_ids for segment in segments] == [[1, 2, 3], [9, 8]]
    assert segments[1].spans == [Span(1, 1, 2)]


class Broken(Counter):
    """Answers each step with what it was made with."""

    def __init__(self, result) -> None:
        super().__init__()
        self.result = result

    def step(self, action):
        return self.result


@pytest.mark.parametrize(
    ("result", "reason"),
    [
        (("on", math.nan, False, False, {}), "finite"),
        (("on", None, False, False, {}), "TypeError"),
        (("on", 0.0, True, True, {}), "terminated and truncated"),
        ((3, 0.0, True, False, {}), "text or content parts"),
        (("on", 0.0, True, False, {"x": {1, 2}}), "not JSON serializable"),
        (("on", 0.0), "TypeError"),
    ],
)
def test_a_step_against_the_contract_is_an_env_error(result, reason) -> None:
    episode = play(Broken(result), says())
    assert episode.outcome == "env_error"
    assert reason in episode.error
    assert not episode.has_return


def test_a_plain_tuple_is_a_step() -> None:
    episode = play(Broken(("end", 1, True, False, {"success": True})), says())
    assert (episode.outcome, episode.episode_return, episode.success) == ("completed", 1.0, True)


@pytest.mark.parametrize("answer", [None, "text", Reply(text=None)])
def test_a_reply_against_the_contract_is_a_policy_error(answer) -> None:
    class Wrong:
        name = "wrong"

        def start(self, env, rng):
            return self

        async def act(self, conversation):
            return answer

    episode = play(Counter(), Wrong())
    assert episode.outcome == "policy_error"
    assert "must return a Reply" in episode.error


def test_a_deadline_ends_an_environment_that_never_waits() -> None:
    class Slow(Counter):
        def step(self, action):
            time.sleep(0.06)
            return super().step(action)

    episode = play(Slow(num_turns=100), says(), deadline_s=0.1)
    assert episode.outcome == "timeout"
    assert len(episode.turns) <= 3


@pytest.mark.parametrize("deadline_s", [0, -1.0, math.nan])
def test_a_deadline_must_lie_ahead(deadline_s) -> None:
    with pytest.raises(ArgumentError, match="deadline"):
        play(Counter(), says(), deadline_s=deadline_s)


def test_numpy_seeds_become_plain_integers() -> None:
    start = Start(seed=np.int64(3), policy_seed=np.uint32(4))
    assert (type(start.seed), type(start.policy_seed)) == (int, int)
    with pytest.raises(ArgumentError):
        Start(seed=-1)


def test_an_episode_can_be_replayed_from_its_record() -> None:
    episode = play(Counter(), says())
    assert (episode.seed, episode.options, episode.policy_seed) == (7, None, 0)
