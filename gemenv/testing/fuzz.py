"""Whatever a model may write is answered: no crash, no delay, no flood."""

import functools
import itertools
import math
import re
import time
from collections.abc import Callable, Iterator
from typing import Any
from unittest import SkipTest

from numpy.random import Generator

from gemenv.core.env import Env, Step
from gemenv.core.notation import Frame
from gemenv.core.seeding import Stream, make_generator
from gemenv.errors import ConformanceError
from gemenv.testing.check import Factory, attempt, check
from gemenv.testing.plain import require_plain
from gemenv.testing.play import affordable, explore, freeze, replay, sample

NUM_ACTIONS = 2000
_MAX_CPU_S = 0.05  # for one action
_NUM_TRIES = 3  # a slow action may have met a garbage collection
_LONG = 1_000_000  # characters, about
_NUM_POSITIONS = 4

_PIECES = (
    *("\0", "\x1b[2J", "\udc80", "\ud83d", "😀", "é", "e\u0301\u0301", "\u202e", "\u2028"),
    *("²", "٣", "①", "½", "Ⅷ", "7", "-1", "+1", "1e309", "1_000", "0x10", "007", "9" * 30),
    *("9" * 5000, "-" + "9" * 5000, "NaN", "Infinity", "null", "None", "true", "False", "[]"),
    *("{", "}", "{{", "\\boxed{", "\\boxed", "$", "<", ">", "</", "<tool_call>", "</tool_call>"),
    *("```", "```python\n", "\n```", "`", '"', "'", "\\", "\\u0000", "%s", "{0}", "../", "; ls"),
    *(" ", "\n", "\t", "\r\n", "\u3000", ",", "|", "(", ")", "*", "?", "a", "Z", "I won", "\ufeff"),
)
"""What broken actions are made of: foreign digits, huge numbers, halves of notations, controls."""

_REPEATED = ("a", "9", " ", "\n", "\0", "{", "}", "<", "[", '"', "\\", "a ", "1 ", "\udc80", "😀")


@check
def check_fuzz(make: Factory, seed: int, num_actions: int = NUM_ACTIONS) -> None:
    """Any text is answered within 50 ms of CPU, by a short observation and info.

    A tenth of `num_actions` is tried where steps wait on something.
    """
    env = make()
    rewinds = _rewinds(env, seed)
    actions = hostile_actions(env, make_generator(seed, Stream.CHECK, 3))
    for i, action in enumerate(itertools.islice(actions, affordable(env, num_actions))):
        step = _answer(env, action, rewinds[i % len(rewinds)])
        try:
            require_plain(step.observation, "observation")
            require_plain(step.info, "info")
        except ConformanceError as error:
            raise ConformanceError(
                problem=f"After a strange action: {error.problem}",
                expected=error.expected,
                got=action,
                fix=error.fix,
            ) from None


def hostile_actions(env: Env, rng: Generator) -> Iterator[str]:
    """Yield some 40 texts of a megabyte for each notation, then broken actions without end."""
    for frame in {form.notation.frame: None for form in env.actions.forms}:
        yield from long_texts(frame)
    yield from _swollen(sample(env, rng))
    while True:
        text = sample(env, rng) if rng.random() < 0.75 else ""
        for _ in range(int(rng.integers(1, 5))):
            text = _broken(text, rng)
        yield text


def long_texts(frame: Frame) -> Iterator[str]:
    """Yield texts of about a megabyte on which careless parsers fail, or take quadratic time."""
    opening, around = frame.opening, frame.around
    for piece in _REPEATED:
        long = piece * (_LONG // len(piece))
        yield long
        yield around(long)
    num = _LONG // len(around(""))
    closing = around("\0").partition("\0")[2]
    yield opening * num
    yield closing * num
    yield opening * num + closing * num
    yield around("") * num
    yield around("1\n" * 1000) * (num // 1000)
    yield around('{"name": "a", "arguments": ' + '{"a": ' * num)
    yield around('{"name": "' + "a" * _LONG + '", "arguments": {}}')


def _swollen(text: str) -> Iterator[str]:
    """Yield a well-formed action with one of its words or numbers a megabyte long."""
    for word in re.finditer(r"\w+", text):
        for piece in ("a", "9"):
            yield text[: word.start()] + piece * _LONG + text[word.end() :]


def _broken(text: str, rng: Generator) -> str:
    start, stop = sorted(int(i) for i in rng.integers(0, len(text) + 1, size=2))
    piece = _PIECES[int(rng.integers(len(_PIECES)))]
    match int(rng.integers(4)):
        case 0:
            return text[:start] + piece + text[start:]
        case 1:
            return text[:start] + piece + text[stop:]
        case 2:
            return text[:start] + text[stop:]
        case _:
            return text[:stop] + text[start:]


def _rewinds(env: Env, seed: int) -> list[Callable[[], Any]]:
    """Return ways back to several positions of an episode."""
    actions = explore(env, seed, _NUM_POSITIONS)
    rewinds: list[Callable[[], Any]] = []
    for num in range(len(actions)):
        back = functools.partial(replay, env, seed, actions[:num])
        back()
        try:
            rewinds.append(functools.partial(env.restore, freeze(env)))
        except SkipTest:  # not to be frozen: it has to be played again
            rewinds.append(back)
    return rewinds


def _answer(env: Env, action: str, rewind: Callable[[], Any]) -> Step:
    spent_s = math.inf
    for _ in range(_NUM_TRIES):
        rewind()
        began = time.thread_time()
        step = attempt(
            lambda: env.step(action),
            f"The action {action[:40]!r} ({len(action)} characters) made step fail",
            expected="an answer to any text",
            fix="return an action error for what cannot be read or done",
        )
        spent_s = min(spent_s, time.thread_time() - began)
        if spent_s <= _MAX_CPU_S:
            return step
    raise ConformanceError(
        problem=f"An action of {len(action)} characters took {spent_s * 1e3:.0f} ms of CPU.",
        expected=f"at most {_MAX_CPU_S * 1e3:.0f} ms",
        got=action,
        fix="read it in linear time: no nested repetition in patterns, no repeated search",
    )
