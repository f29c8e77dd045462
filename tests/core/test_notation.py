"""Laws of every notation: what is written reads back, and whatever is read can be written."""

import contextlib
import json
import pickle
import re
import time

import msgspec
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gemenv.core.action import action_set
from gemenv.errors import ActionError
from gemenv.testing.fuzz import long_texts
from tests.core.actions import ACTIONS

_EACH = pytest.mark.parametrize("name", ACTIONS)
_NOT_DRAWN = {"boxed name and text", "tool call"}  # a pattern, a list: nothing to draw from
_LAW = settings(deadline=None)  # wall time says nothing on a busy machine
_MAX_CPU_S = 0.05


@_EACH
@_LAW
@given(data=st.data())
def test_what_is_formatted_matches_the_pattern_and_reads_back(name, data) -> None:
    actions, strategy = ACTIONS[name]
    action = data.draw(strategy)
    text = actions.format(action)
    assert actions.parse(text) == action
    assert re.fullmatch(actions.pattern, text)


@_EACH
@_LAW
@given(data=st.data())
def test_whatever_matches_the_pattern_reads_and_can_be_written(name, data) -> None:
    actions, _ = ACTIONS[name]
    action = actions.parse(data.draw(st.from_regex(actions.pattern, fullmatch=True)))
    assert actions.parse(actions.format(action)) == action


@_EACH
@_LAW
@given(data=st.data())
def test_text_before_and_after_does_not_matter(name, data) -> None:
    actions, strategy = ACTIONS[name]
    action = data.draw(strategy)
    around = st.text().filter(
        lambda text: not any(f.notation.frame.opening in text for f in actions.forms)
    )
    before, after = data.draw(around), data.draw(around)
    assert actions.parse(f"{before}\n{actions.format(action)}\n{after}") == action


@_EACH
@_LAW
@given(data=st.data())
def test_the_last_complete_action_wins(name, data) -> None:
    actions, strategy = ACTIONS[name]
    answers = data.draw(st.lists(strategy, min_size=1, max_size=4))
    frame = actions.forms[0].notation.frame
    text = "\nor ".join(["\n" + actions.format(action) for action in answers])
    assert actions.parse(text) == answers[-1]
    assert actions.parse(f"{text}\n{frame.opening} but never mind") == answers[-1]


@pytest.mark.parametrize("name", [name for name in ACTIONS if name not in _NOT_DRAWN])
def test_samples_are_well_formed_and_follow_the_generator_alone(name) -> None:
    actions, _ = ACTIONS[name]
    samples = [actions.sample(np.random.default_rng(seed)) for seed in range(20)]
    assert len(set(samples)) > 1
    for seed, action in enumerate(samples):
        assert re.fullmatch(actions.pattern, actions.format(action))
        assert actions.sample(np.random.default_rng(seed)) == action


@_EACH
@_LAW
@given(data=st.data())
def test_tool_calls_carry_every_action(name, data) -> None:
    actions, strategy = ACTIONS[name]
    action = data.draw(strategy)
    tools = {tool["function"]["name"]: tool["function"] for tool in actions.tools()}
    form = next(form for form in actions.forms if form.action_type is type(action))
    arguments = json.loads(msgspec.json.encode(action))
    schema = tools[form.name]["parameters"]
    assert set(schema["required"]) <= set(arguments) <= set(schema["properties"])
    assert schema["additionalProperties"] is False
    assert tools[form.name]["description"] == type(action).__doc__
    assert actions.from_call(form.name, arguments) == action


@_EACH
@_LAW
@given(text=st.text() | st.binary().map(lambda raw: raw.decode("utf-8", "surrogateescape")))
def test_any_text_is_read_or_refused(name, text) -> None:
    actions, _ = ACTIONS[name]
    for candidate in (text, actions.forms[0].notation.frame.around(text)):
        with contextlib.suppress(ActionError):
            actions.parse(candidate)


@_EACH
def test_a_megabyte_of_anything_is_read_in_linear_time(name) -> None:
    actions, _ = ACTIONS[name]
    for form in actions.forms:
        for text in long_texts(form.notation.frame):
            spent_s = (_parse_cpu_s(actions, text) for _ in range(3))  # the first may be unlucky
            assert any(spent < _MAX_CPU_S for spent in spent_s), text[:60]


def _parse_cpu_s(actions, text: str) -> float:
    began = time.thread_time()
    with contextlib.suppress(ActionError):
        actions.parse(text)
    return time.thread_time() - began


@_EACH
def test_sets_are_values_that_pickle(name) -> None:
    actions, _ = ACTIONS[name]
    assert pickle.loads(pickle.dumps(actions)) is actions, "equal forms share one set"
    assert action_set(*actions.forms) is actions
