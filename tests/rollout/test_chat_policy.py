"""The HTTP policy against a real server on this machine, scripted answer by answer."""

import asyncio
import json
from collections.abc import Awaitable, Callable
from typing import Any

import pytest
from aiohttp import web

from gemenv.core.seeding import Stream, make_generator
from gemenv.errors import ArgumentError, ContextOverflow, PolicyError
from gemenv.rollout.collect import collect, group_starts
from gemenv.rollout.policies import chat_policy
from gemenv.rollout.policies.chat_policy import ChatPolicy, ChatServer
from gemenv.rollout.policy import Reply
from gemenv.rollout.trajectory import Trajectory
from tests.rollout.toys import Counter

Answer = Callable[[web.Request], Awaitable[web.StreamResponse]]


@pytest.fixture(autouse=True)
def _short_backoff(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(chat_policy, "_BACKOFF_S", 0.01)


def says(content: str | None, finish_reason: str = "stop") -> Answer:
    message = {"role": "assistant", "content": content}
    return replies(200, {"choices": [{"message": message, "finish_reason": finish_reason}]})


def replies(status: int, body: Any) -> Answer:
    async def answer(request: web.Request) -> web.Response:
        text = body if isinstance(body, str) else json.dumps(body)
        return web.Response(status=status, text=text)

    return answer


async def hangs(request: web.Request) -> web.Response:
    await asyncio.sleep(60)
    return web.Response()


async def hangs_up(request: web.Request) -> web.Response:
    assert request.transport is not None
    request.transport.close()
    return web.Response()


class Served:
    """A server that gives its answers in turn, the last one for ever."""

    def __init__(self, *answers: Answer) -> None:
        self.answers = answers
        self.requests: list[dict[str, Any]] = []
        self.headers: list[dict[str, str]] = []

    async def handle(self, request: web.Request) -> web.StreamResponse:
        answer = self.answers[min(len(self.requests), len(self.answers) - 1)]
        self.requests.append(await request.json())
        self.headers.append(dict(request.headers))
        return await answer(request)

    async def open(self) -> tuple[web.AppRunner, str]:
        app = web.Application()
        app.router.add_post("/v1/chat/completions", self.handle)
        runner = web.AppRunner(app, handler_cancellation=True)
        await runner.setup()
        site = web.TCPSite(runner, "127.0.0.1", 0)
        await site.start()
        host, port = runner.addresses[0][:2]
        return runner, f"http://{host}:{port}/v1"


def complete(served: Served, **options: Any) -> Reply:
    """Ask the server once."""

    async def ask() -> Reply:
        runner, base_url = await served.open()
        server = ChatServer(**{"model": "m", "base_url": base_url, "api_key": "", **options})
        try:
            async with ChatPolicy(server) as policy:
                rng = make_generator(0, Stream.POLICY)
                return await policy.complete([{"role": "user", "content": "2 + 2?"}], rng)
        finally:
            await runner.cleanup()

    return asyncio.run(ask())


def test_the_conversation_goes_out_and_the_answer_comes_back():
    served = Served(says("four"))
    reply = complete(served, temperature=0.5, max_tokens=7)
    assert (reply.text, reply.stop_reason, reply.tokens) == ("four", "stop", None)
    (request,) = served.requests
    assert request.pop("seed") >= 0
    assert request == {
        "model": "m",
        "messages": [{"role": "user", "content": "2 + 2?"}],
        "temperature": 0.5,
        "max_tokens": 7,
    }


def test_an_answer_that_was_cut_off_says_so():
    assert complete(Served(says("fo", "length"))).stop_reason == "length"


def test_an_answer_without_content_is_no_answer():
    with pytest.raises(PolicyError, match="has no text"):
        complete(Served(says(None)))


@pytest.mark.parametrize("status", [408, 409, 429, 500, 503])
def test_an_overload_is_tried_again(status: int):
    served = Served(replies(status, "busy"), replies(status, "busy"), says("four"))
    assert complete(served).text == "four"
    assert len(served.requests) == 3
    assert served.requests[0] == served.requests[2]


def test_a_lost_connection_is_tried_again():
    served = Served(hangs_up, says("four"))
    assert complete(served).text == "four"


def test_an_overload_that_lasts_is_a_policy_error():
    served = Served(replies(429, "busy"))
    with pytest.raises(PolicyError, match="did not answer for model 'm'") as caught:
        complete(served, num_retries=2)
    assert "status 429: busy" in caught.value.got
    assert len(served.requests) == 3


def test_each_wait_is_longer_than_the_one_before(monkeypatch: pytest.MonkeyPatch):
    waits: list[float] = []
    sleep = asyncio.sleep

    async def remember(delay_s: float) -> None:
        waits.append(delay_s)
        await sleep(0)

    monkeypatch.setattr(chat_policy.asyncio, "sleep", remember)
    with pytest.raises(PolicyError):
        complete(Served(replies(500, "")), num_retries=4)
    backoffs = [wait for wait in waits if wait]
    assert [0.5 <= wait / (0.01 * 2**n) <= 1.5 for n, wait in enumerate(backoffs)] == [True] * 4


@pytest.mark.parametrize("status", [400, 401, 403, 404])
def test_a_refusal_is_final(status: int):
    served = Served(replies(status, "no"), says("four"))
    with pytest.raises(PolicyError) as caught:
        complete(served)
    assert f"status {status}: no" in caught.value.got
    assert not isinstance(caught.value, ContextOverflow)
    assert len(served.requests) == 1


@pytest.mark.parametrize(
    "body",
    [
        {"error": {"code": "context_length_exceeded"}},
        {"message": "This model's maximum context length is 512 tokens."},
    ],
)
def test_a_conversation_that_is_too_long_is_a_context_overflow(body: dict[str, Any]):
    with pytest.raises(ContextOverflow):
        complete(Served(replies(400, body)))


@pytest.mark.parametrize(
    "body", ["", "<html>", "[]", '{"choices": []}', '{"choices": [{"message": {"content": 7}}]}']
)
def test_an_answer_that_is_no_completion_is_a_policy_error(body: str):
    with pytest.raises(PolicyError, match="not a chat completion"):
        complete(Served(replies(200, body)))


def test_a_server_that_hangs_is_a_policy_error():
    with pytest.raises(PolicyError) as caught:
        complete(Served(hangs), timeout_s=0.05, num_retries=1)
    assert "Timeout" in caught.value.got


def test_a_server_that_is_not_there_is_a_policy_error():
    with pytest.raises(PolicyError) as caught:
        complete(Served(says("")), base_url="http://127.0.0.1:9/v1", num_retries=0)
    assert "127.0.0.1:9" in caught.value.got


def test_a_policy_that_is_not_open_says_how_to_open_it():
    policy = ChatPolicy(ChatServer(model="m"))
    with pytest.raises(PolicyError, match="not open"):
        asyncio.run(policy.complete([], make_generator(0, Stream.POLICY)))


def test_the_key_is_sent_and_an_empty_one_is_not(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("OPENAI_API_KEY", "from-env")
    for given, sent in (("mine", "Bearer mine"), (None, "Bearer from-env"), ("", None)):
        served = Served(says(""))
        complete(served, api_key=given)
        assert served.headers[0].get("Authorization") == sent


def test_the_address_comes_from_the_environment_where_none_is_given(
    monkeypatch: pytest.MonkeyPatch,
):
    monkeypatch.setenv("OPENAI_BASE_URL", "http://here:1/v1/")
    assert ChatServer(model="m").url == "http://here:1/v1/chat/completions"
    monkeypatch.delenv("OPENAI_BASE_URL")
    assert ChatServer(model="m").url == "https://api.openai.com/v1/chat/completions"


@pytest.mark.parametrize(
    "options",
    [
        {"model": ""},
        {"base_url": "localhost:8000"},
        {"temperature": -0.1},
        {"temperature": float("nan")},
        {"max_tokens": 0},
        {"timeout_s": 0.0},
        {"num_retries": -1},
        {"max_concurrent": 0},
    ],
)
def test_a_value_outside_its_domain_is_refused_by_name(options: dict[str, Any]):
    (name,) = options
    with pytest.raises(ArgumentError, match=f"^{name} of the chat server"):
        ChatServer(**{"model": "m", **options})


def test_episodes_over_http_run_together_and_a_refused_one_is_on_record():
    served = Served(replies(401, "no"), says("four"))

    async def roll_out() -> list[Trajectory]:
        runner, base_url = await served.open()
        try:
            server = ChatServer(model="m", base_url=base_url, api_key="")
            async with ChatPolicy(server) as policy:
                starts = group_starts(range(4))
                return await collect(lambda: Counter(num_turns=2), policy, starts)
        finally:
            await runner.cleanup()

    episodes = asyncio.run(roll_out())
    outcomes = sorted(episode.outcome for episode in episodes)
    assert outcomes == ["completed", "completed", "completed", "policy_error"]
    finished = next(episode for episode in episodes if episode.has_return)
    assert [turn.action for turn in finished.turns] == ["four", "four"]
    assert len(served.requests) == 7
