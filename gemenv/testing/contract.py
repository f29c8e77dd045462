"""The order of calls, and what each call returns."""

import json
import math
import re
import warnings
from collections.abc import Callable, Iterator
from typing import Any
from unittest import SkipTest

import msgspec
from gymnasium.utils.env_checker import check_env as check_gymnasium_env

from gemenv.core.env import Info, Step
from gemenv.core.seeding import Stream, make_generator
from gemenv.errors import ActionTypeError, ConformanceError, EpisodeOver, ResetNeeded
from gemenv.testing.check import Factory, attempt, check, require
from gemenv.testing.plain import require_plain
from gemenv.testing.play import (
    answer_nonsense,
    ask_oracle,
    explore,
    follow,
    is_over,
    oracle_answer,
    play,
    replay,
    require_same,
    sample,
)

_NUM_EPISODES = 3
_NUM_SAMPLES = 100
_MAX_ORACLE_TURNS = 30  # an oracle may be slow; check_oracle plays to the end


@check
def check_reset_first(make: Factory, seed: int) -> None:
    """A step before the first reset raises ResetNeeded."""
    env = make()
    _require_raises(ResetNeeded, lambda: env.step("too early"), "Stepping before reset")


@check
def check_step_after_end(make: Factory, seed: int) -> None:
    """A step after the end raises EpisodeOver, and a reset starts the next episode."""
    env = make()
    if not is_over(play(env, seed, sample)[-1]):
        raise SkipTest("no episode ended within 1,000 turns")
    action = sample(env, make_generator(seed, Stream.CHECK))
    _require_raises(EpisodeOver, lambda: env.step(action), "Stepping after the end")
    env.reset()
    env.step(action)


@check
def check_action_type(make: Factory, seed: int) -> None:
    """An action that is not text raises ActionTypeError, and costs nothing."""
    actions = explore(make(), seed)
    expected = replay(make(), seed, actions)
    env = make()
    seen = [repr(env.reset(seed=seed))]
    wrongs: tuple[Any, ...] = (None, 7, b"bytes", ["text"], {"action": "text"})
    for wrong in wrongs:
        name = f"An action of type {type(wrong).__name__}"
        _require_raises(ActionTypeError, lambda wrong=wrong: env.step(wrong), name)
    problem = "The episode went on differently after an action that is not text"
    fix = "look at the action's type before anything else"
    require_same(expected, seen + follow(env, actions), problem, fix=fix)


@check
def check_close(make: Factory, seed: int) -> None:
    """Closing is safe at any time, and twice."""
    for num_actions in (None, 0, 1):
        env = make()
        if num_actions is not None:
            replay(env, seed, explore(env, seed)[:num_actions])
        env.close()
        attempt(env.close, "Closing twice failed", expected="no effect", fix="let close() do it")


@check
def check_flags(make: Factory, seed: int) -> None:
    """No step is both terminated and truncated; both are plain booleans."""
    for step in _steps(make, seed):
        require(
            [step.terminated, step.truncated] in ([False, False], [True, False], [False, True])
            and type(step.terminated) is type(step.truncated) is bool,
            "A step has impossible flags.",
            expected="two bools, at most one of them True",
            got={"terminated": step.terminated, "truncated": step.truncated},
            fix="terminate where the task itself ends, and truncate only what goes on otherwise",
        )


@check
def check_rewards(make: Factory, seed: int) -> None:
    """Every reward is a finite number inside `reward_range`."""
    low, high = make().reward_range
    for step in _steps(make, seed):
        is_number = isinstance(step.reward, int | float) and not isinstance(step.reward, bool)  # pyright: ignore[reportUnnecessaryIsInstance]
        require(
            is_number and math.isfinite(step.reward) and low <= step.reward <= high,
            "A reward is not inside the reward range.",
            expected=f"a finite number from {low} to {high}",
            got=step.reward,
            fix="mend the reward, or declare the right reward_range",
        )


@check
def check_info(make: Factory, seed: int) -> None:
    """Every info is JSON, with the keys of `gemenv.Info`; the last one tells how it ended."""
    _, info = make().reset(seed=seed)
    require_plain(info, "info")
    _require_key(info, "turn", (0,))
    num_ends = 0
    for step in _steps(make, seed):
        require_plain(step.info, "info")
        _require_key(step.info, "action_error", (None, "format", "invalid"))
        _require_key(step.info, "role", (None, "user", "tool"))
        if is_over(step):
            num_ends += 1
            _require_key(step.info, "success", (True, False))
            require(
                isinstance(step.info.get("stop_reason"), str),
                "The last info does not tell why the episode ended.",
                expected="'stop_reason', a text such as 'success' or 'turn_limit'",
                got=step.info,
                fix="put stop_reason into the info of each step that terminates or truncates",
            )
    if not num_ends:
        raise SkipTest("no episode ended within 1,000 turns")


@check
def check_turns(make: Factory, seed: int) -> None:
    """The info of each step counts the actions that were taken, and the turn limit is kept."""
    env = make()
    for player in (sample, answer_nonsense):
        steps = play(env, seed, player)
        turns = [step.info.get("turn") for step in steps]
        require(
            turns == list(range(1, len(steps) + 1)) and len(steps) <= env.turn_limit(),
            "The turns are not counted as they are taken.",
            expected=f"1, 2, 3 ... up to the limit of {env.turn_limit()}",
            got=turns,
            fix="leave the counting to Env, or count every action, readable or not",
        )


@check
def check_observations(make: Factory, seed: int) -> None:
    """Every observation is in its space, and can be written as UTF-8."""
    env = make()
    first, _ = env.reset(seed=seed)
    for observation in (first, *(step.observation for step in _steps(make, seed))):
        require(
            observation in env.observation_space,
            "An observation is not in the observation space.",
            expected="text, or a list of content parts",
            got=observation,
            fix="return a str, or OpenAI content parts",
        )
        require_plain(observation, "observation")


@check
def check_actions(make: Factory, seed: int) -> None:
    """Sampled actions read back, match the grammar, and are accepted as tool calls."""
    env = make()
    pattern = re.compile(env.actions.pattern)
    names = {form.action_type: form.name for form in env.actions.forms}
    rng = make_generator(seed, Stream.CHECK)
    for _ in range(_NUM_SAMPLES):
        action = env.actions.sample(rng)
        text = env.actions.format(action)
        call = json.loads(msgspec.json.encode(action))
        for way, is_kept in (
            ("does not match the regular expression", pattern.fullmatch(text) is not None),
            ("does not read back", env.actions.parse(f"So: {text}\n") == action),
            ("is not in the action space", text in env.action_space),
            (
                "is not accepted as a tool call",
                env.actions.from_call(names[type(action)], call) == action,
            ),
        ):
            require(
                is_kept,
                f"A sampled action {way}.",
                expected=f"a text of the form {env.actions.usage}",
                got=text,
                fix="mend the notation, or the fields' types and domains",
            )
    require_plain(env.actions.tools(), "list of tools")


@check
def check_gymnasium(make: Factory, seed: int) -> None:
    """Gymnasium's own checker passes, without a warning."""
    env = make()
    env.reset(seed=seed)
    if env.turn_limit() < 2:
        raise SkipTest("Gymnasium's checker wants a turn that does not truncate")
    with warnings.catch_warnings():
        warnings.simplefilter("error", UserWarning)
        warnings.filterwarnings("ignore", ".*different from the unwrapped version")  # wrappers
        check_gymnasium_env(make(), skip_render_check=True)


def _steps(make: Factory, seed: int) -> Iterator[Step]:
    env = make()
    for each in range(seed, seed + _NUM_EPISODES):
        yield from play(env, each, sample)
        yield from play(env, each, answer_nonsense)
        env.reset(seed=each)
        if oracle_answer(env) is not None:
            yield from play(env, each, ask_oracle, _MAX_ORACLE_TURNS)


def _require_raises(kind: type[Exception], call: Callable[[], Any], what: str) -> None:
    try:
        call()
    except kind:
        return
    raise ConformanceError(
        problem=f"{what} did not raise {kind.__name__}.",
        expected=f"gemenv.errors.{kind.__name__}",
        got="a step",
        fix="implement begin() and advance(), and leave reset() and step() to Env",
    )


def _require_key(info: Info, key: str, allowed: tuple[Any, ...]) -> None:
    require(
        info.get(key) in allowed,
        f"The {key!r} of an info is wrong.",
        expected=f"one of {allowed}",
        got=info,
        fix="see gemenv.Info for what each key means",
    )
