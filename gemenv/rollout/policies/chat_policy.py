"""A model behind an OpenAI-compatible HTTP server as the policy (vLLM, SGLang, OpenAI, ...)."""

import asyncio
import os
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal, Self

import msgspec
import numpy as np
from numpy.random import Generator

from gemenv.core.env import Env
from gemenv.core.message import Message
from gemenv.errors import ArgumentError, ContextOverflow, MissingExtraError, PolicyError
from gemenv.rollout.policy import Player, Reply

try:
    import aiohttp
except ImportError as error:
    raise MissingExtraError(
        problem="The HTTP policy needs aiohttp, which is not installed.",
        expected="the extra 'http'",
        got="no module aiohttp",
        fix='pip install "gemenv[http]"',
    ) from error

_BACKOFF_S = 0.5  # before the first retry; doubled for each further one, times 0.5 to 1.5
_MAX_BODY_CHARS = 300
_OVERLOADED = (408, 409, 429)


class _Reply(msgspec.Struct):
    content: str | None = None


class _Choice(msgspec.Struct):
    message: _Reply
    finish_reason: str | None = None


class _Completion(msgspec.Struct):
    choices: list[_Choice]


@dataclass(frozen=True, kw_only=True)
class ChatServer:
    """An OpenAI-compatible server, and how to ask it.

    Args:
        model: the model's name on the server.
        base_url: up to and including `/v1`; by default OPENAI_BASE_URL, else OpenAI's own.
        api_key: by default OPENAI_API_KEY; "" sends none.
        temperature: 0 or more.
        max_tokens: the most tokens of an answer, 1 or more.
        timeout_s: wall seconds for one request, above 0.
        num_retries: after an overload, a server error or a lost connection; 0 or more.
        max_concurrent: how many requests are under way at once, 1 or more.

    Raises:
        ArgumentError: if a value is outside its domain.
    """

    model: str
    base_url: str = ""
    api_key: str | None = None
    temperature: float = 1.0
    max_tokens: int = 1024
    timeout_s: float = 300.0
    num_retries: int = 4
    max_concurrent: int = 128

    def __post_init__(self) -> None:
        _require(bool(self.model), "model", "a name", self.model)
        is_address = self.url.startswith(("http://", "https://"))
        _require(is_address, "base_url", "an address with http:// or https://", self.url)
        _require(self.temperature >= 0, "temperature", "0 or more", self.temperature)
        _require(self.max_tokens >= 1, "max_tokens", "1 or more", self.max_tokens)
        _require(self.timeout_s > 0, "timeout_s", "above 0", self.timeout_s)
        _require(self.num_retries >= 0, "num_retries", "0 or more", self.num_retries)
        _require(self.max_concurrent >= 1, "max_concurrent", "1 or more", self.max_concurrent)

    @property
    def url(self) -> str:
        """Where completions are asked for."""
        default = os.environ.get("OPENAI_BASE_URL", "https://api.openai.com/v1")
        return f"{(self.base_url or default).rstrip('/')}/chat/completions"

    @property
    def headers(self) -> dict[str, str]:
        """The authorization, where there is a key."""
        key = os.environ.get("OPENAI_API_KEY", "") if self.api_key is None else self.api_key
        return {"Authorization": f"Bearer {key}"} if key else {}


class ChatPolicy:
    """Sends the conversation to a server and answers what it answers.

    Use it as an async context manager; the connections close at its end.

    Args:
        server: which server, and how to ask it.
    """

    def __init__(self, server: ChatServer) -> None:
        self.server = server
        self.name = server.model
        self._session: aiohttp.ClientSession | None = None
        self._jitter = np.random.default_rng()  # of its own: retries must not change an episode

    async def __aenter__(self) -> Self:
        connector = aiohttp.TCPConnector(limit=self.server.max_concurrent)
        timeout = aiohttp.ClientTimeout(total=self.server.timeout_s)
        self._session = aiohttp.ClientSession(
            connector=connector, timeout=timeout, headers=self.server.headers
        )
        return self

    async def __aexit__(self, *_: object) -> None:
        if self._session is not None:
            await self._session.close()
            self._session = None

    def start(self, env: Env, rng: Generator) -> Player:
        """Return a player; its requests carry seeds from `rng`."""
        return _ChatPlayer(self, rng)

    async def complete(self, messages: Sequence[Message], rng: Generator) -> Reply:
        """Ask once, with retries.

        Raises:
            ContextOverflow: if the server says that the conversation is too long.
            PolicyError: if it refuses, or does not answer after all retries.
        """
        body = {
            "model": self.server.model,
            "messages": list(messages),
            "temperature": self.server.temperature,
            "max_tokens": self.server.max_tokens,
            "seed": int(rng.integers(2**31)),
        }
        problem = ""
        for attempt in range(self.server.num_retries + 1):
            if attempt:
                await asyncio.sleep(
                    _BACKOFF_S * 2 ** (attempt - 1) * self._jitter.uniform(0.5, 1.5)
                )
            status, text = await self._post(body)
            if status == 200:
                return _reply(text)
            problem = f"status {status}: {text[:_MAX_BODY_CHARS]}" if status else text
            if 400 <= status < 500 and status not in _OVERLOADED:
                break
        raise self._refused(problem)

    async def _post(self, body: dict[str, Any]) -> tuple[int, str]:
        """Return the status and the body; status 0 and the reason if no answer came."""
        if self._session is None:
            raise PolicyError(
                problem="The HTTP policy is not open.",
                expected="async with ChatPolicy(server) as policy: ...",
                got="a request outside of it",
                fix="open it around the rollout",
            )
        try:
            async with self._session.post(self.server.url, json=body) as response:
                return response.status, await response.text()
        except (aiohttp.ClientError, TimeoutError) as error:
            return 0, f"{type(error).__name__}: {error}"

    def _refused(self, problem: str) -> PolicyError:
        is_too_long = "context length" in problem or "context_length" in problem
        kind = ContextOverflow if is_too_long else PolicyError
        return kind(
            problem=f"The server did not answer for model {self.server.model!r}.",
            expected=f"a chat completion from {self.server.url}",
            got=problem,
            fix="check base_url, api_key and the model's name; is the server up?",
        )


class _ChatPlayer:
    def __init__(self, policy: ChatPolicy, rng: Generator) -> None:
        self.policy, self.rng = policy, rng

    async def act(self, conversation: Sequence[Message]) -> Reply:
        return await self.policy.complete(conversation, self.rng)


def _require(is_valid: bool, name: str, domain: str, value: object) -> None:
    if not is_valid:
        raise ArgumentError(
            problem=f"{name} of the chat server is outside its domain.",
            expected=domain,
            got=value,
            fix=f"pass {name} as {domain}",
        )


def _reply(text: str) -> Reply:
    try:
        choice = msgspec.json.decode(text, type=_Completion).choices[0]
    except (msgspec.DecodeError, IndexError) as error:
        raise PolicyError(
            problem="The server's answer is not a chat completion.",
            expected='{"choices": [{"message": {"content": ...}}]}',
            got=text[:_MAX_BODY_CHARS],
            fix="check that base_url is an OpenAI-compatible /v1",
        ) from error
    stop_reason: Literal["stop", "length"] = (
        "length" if choice.finish_reason == "length" else "stop"
    )
    if choice.message.content is None:
        raise PolicyError(
            problem="The server's answer has no text.",
            expected="a message with content",
            got=choice.finish_reason,
            fix="look at the server's filters, or at the model's tool settings",
        )
    return Reply(text=choice.message.content, stop_reason=stop_reason)
