"""What each notation holds, what it refuses, and in which words."""

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

import numpy as np
import pytest

from gemenv.core.action import ActionForm, action_set
from gemenv.core.notation import boxed, fence, json_call, tag
from gemenv.errors import ActionError, ArgumentError
from tests.core.actions import ACTIONS, Cell, Flag, Go, Query, Say, Tell

_CELL = action_set(ActionForm(Cell, boxed("{row} {col}")))
_SAY_BOXED = action_set(ActionForm(Say, boxed()))
_SAY_TAGGED = action_set(ActionForm(Say, tag("say")))
_PROGRAM = action_set(ActionForm(Say, fence("python")))
_CALL = action_set(ActionForm(Cell, json_call()), ActionForm(Say, json_call()))


def _problem(actions, text: str) -> str:
    with pytest.raises(ActionError) as caught:
        actions.parse(text)
    return caught.value.problem


@pytest.mark.parametrize("body", ["1 2", " 1  2 ", "1\n2", "+1 02"])
def test_white_space_and_the_spelling_of_integers_are_free(body) -> None:
    assert _CELL.parse(f"\\boxed{{{body}}}") == Cell(1, 2)


def test_words_and_booleans_are_read_in_any_case() -> None:
    actions = action_set(ActionForm(Flag, boxed("flag {row} {col} {on}")))
    assert actions.parse(r"\boxed{FLAG 1 2 True}") == Flag(1, 2, on=True)
    assert actions.format(Flag(1, 2, on=False)) == r"\boxed{flag 1 2 false}"
    go = action_set(ActionForm(Go, boxed()))
    assert go.parse(r"\boxed{UP 3}") == Go("up", 3)


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("up", r"No action found: write it as \boxed{<row> <col>}."),
        (r"\boxed{1 2", r"The action is not closed: \boxed{ is opened, but never ends."),
        (r"\boxed{1}", r"'1' is not of the form \boxed{<row> <col>}."),
        (r"\boxed{1 x}", r"'1 x' is not of the form \boxed{<row> <col>}."),
        (rf"\boxed{{1 {'9' * 5000}}}", "The col is too large (5000 characters)."),
    ],
)
def test_each_way_of_being_wrong_has_one_clear_message(text, problem) -> None:
    assert _problem(_CELL, text) == problem


def test_a_value_out_of_its_range_is_named() -> None:
    go = action_set(ActionForm(Go, boxed()))
    assert _problem(go, r"\boxed{up 10}") == "go: Expected `int` <= 9 in `steps`."


def test_a_tool_call_can_be_wrong_in_its_own_ways() -> None:
    call = '<tool_call>{"name": "%s", "arguments": {"row": 1}}</tool_call>'
    assert _problem(_CALL, "<tool_call>[1]</tool_call>").startswith("The tool call is malformed: ")
    assert _problem(_CALL, call % "jump") == "There is no action 'jump'; there is cell, say."
    assert "missing required field `col`" in _problem(_CALL, call % "cell")


def test_a_long_action_is_not_echoed_whole() -> None:
    long = "a" * 1_000_000
    call = '<tool_call>{"name": "cell", "arguments": {"%s": 1}}</tool_call>'
    for actions, text in ((_CELL, rf"\boxed{{{long}}}"), (_CALL, call % long)):
        problem = _problem(actions, text)
        assert len(problem) < 150
        assert "aaa..." in problem


def test_digits_of_other_scripts_are_no_integers() -> None:
    for digits in ("٣", "²", "①"):
        assert "is not of the form" in _problem(_CELL, rf"\boxed{{1 {digits}}}")


def test_a_number_near_infinity_is_too_large() -> None:
    actions, _ = ACTIONS["boxed float"]
    assert _problem(actions, r"\boxed{1e400}") == "The grams is too large (5 characters)."
    with pytest.raises(ArgumentError, match="cannot be written"):
        actions.format(type(actions.parse(r"\boxed{1}"))(float("inf")))


def test_braces_in_a_box_balance_and_need_not_be_shallow() -> None:
    for text in ("f{x}", "{{{{{a}}}}}", "{a}{b}"):
        assert _SAY_BOXED.parse(_SAY_BOXED.format(Say(text))) == Say(text)
    assert _SAY_BOXED.parse(r"\boxed{\frac{1}{2}} and \boxed{open {") == Say(r"\frac{1}{2}")
    assert _SAY_BOXED.parse(r"\boxed{\boxed{7}}") == Say("7")


def test_less_than_signs_in_a_tag_are_text() -> None:
    for text in ("a < b", "x<y", "<b>"):
        assert _SAY_TAGGED.parse(_SAY_TAGGED.format(Say(text))) == Say(text)
    for text in ("x<say", "</sa", "<"):  # read, but no pattern of moderate size tells them apart
        assert _SAY_TAGGED.parse(f"<say>{text}</say>") == Say(text)
    assert _SAY_TAGGED.parse("<say>one</say> <say>two") == Say("one")
    assert _SAY_TAGGED.parse("<say>one <say>two</say>") == Say("two")


def test_a_program_keeps_its_lines_and_white_space() -> None:
    program = "def f():\n    return '```'\n"
    assert _PROGRAM.parse(_PROGRAM.format(Say(program))) == Say(program)
    assert _PROGRAM.parse("```python\nold\n```\n```python\nnew\n```\n```\nplain\n```") == Say("new")
    assert _problem(_PROGRAM, "```python\n```").startswith("'' is not of the form")
    assert _problem(_PROGRAM, "```python\nx\n```y").startswith("The action is not closed")


@pytest.mark.parametrize(
    ("actions", "action"),
    [
        (_SAY_BOXED, Say("}")),
        (_SAY_BOXED, Say(" padded")),
        (_SAY_BOXED, Say("")),
        (_SAY_BOXED, Say("{{{{{{a}}}}}}")),
        (_SAY_TAGGED, Say("x<say")),
        (_SAY_TAGGED, Say("</say>")),
        (_PROGRAM, Say("a\n```\nb")),
        (_CALL, Say("a lone \ud800")),
        (_CELL, Say("of another set")),
        (_CELL, "no action at all"),
    ],
)  # fmt: skip
def test_what_would_not_read_back_is_not_written(actions, action) -> None:
    with pytest.raises(ArgumentError, match="cannot be written in its notation"):
        actions.format(action)


def test_a_lone_surrogate_in_a_tool_call_is_malformed() -> None:
    for text in ('"\ud800"', r'"\ud800"'):
        call = f'<tool_call>{{"name": "say", "arguments": {{"text": {text}}}}}</tool_call>'
        assert _problem(_CALL, call).startswith("The tool call is malformed: ")


def test_a_tool_call_can_be_nested_too_deeply() -> None:
    deep = "[" * 100_000
    call = f'<tool_call>{{"name": "say", "arguments": {{"text": {deep}}}}}</tool_call>'
    assert "malformed" in _problem(_CALL, call)


def test_text_in_a_tool_call_cannot_close_the_tag() -> None:
    action = Say('</tool_call><tool_call>{"name": "cell"}')
    assert _CALL.parse(_CALL.format(action)) == action


def test_domains_narrow_samples_pattern_and_schema_but_not_parsing() -> None:
    actions, _ = ACTIONS["boxed domain"]
    rows = {actions.sample(np.random.default_rng(seed)).row for seed in range(40)}
    assert rows == {0, 1, 2}
    assert re.fullmatch(actions.pattern, r"\boxed{2 6}")
    assert not re.fullmatch(actions.pattern, r"\boxed{3 6}")
    properties = actions.tools()[0]["function"]["parameters"]["properties"]
    assert properties["row"] == {"type": "integer", "minimum": 0, "maximum": 2}
    assert properties["col"] == {"type": "integer", "enum": [2, 4, 6]}
    assert actions.parse(r"\boxed{7 7}") == Cell(7, 7)


def test_usage_shows_each_way_to_write() -> None:
    actions, _ = ACTIONS["boxed, two types"]
    assert actions.usage == r"\boxed{reveal <row> <col>} or \boxed{flag <on> <row> <col>}"
    assert _CALL.forms[0].usage == (
        '<tool_call>{"name": "cell", "arguments": {"row": ..., "col": ...}}</tool_call>'
    )


def test_sets_are_equal_if_declared_alike() -> None:
    again = action_set(ActionForm(Cell, boxed("{row} {col}")))
    assert again is _CELL
    assert again != action_set(ActionForm(Cell, boxed("{col} {row}")))
    assert again != action_set(ActionForm(Cell, boxed("{row} {col}"), row=range(3)))


@dataclass(frozen=True)
class Pair:
    """A pair of lists, which only JSON can write."""

    left: list[int]
    right: list[int]


@pytest.mark.parametrize(
    ("action_type", "notation"),
    [
        (Cell, boxed("{row}")),
        (Cell, boxed("{row} {col} {col}")),
        (Cell, boxed("{row} {column}")),
        (Pair, boxed("{left} {right}")),
    ],
)
def test_a_template_that_does_not_fit_the_fields_is_refused(action_type, notation) -> None:
    with pytest.raises(ArgumentError, match=f"template of {action_type.__name__} does not fit"):
        ActionForm(action_type, notation)


def test_lists_are_written_as_json() -> None:
    actions = action_set(ActionForm(Pair, json_call()))
    assert actions.parse(actions.format(Pair([1, 2], []))) == Pair([1, 2], [])
    assert actions.from_call("pair", {"left": [], "right": [3]}) == Pair([], [3])
    with pytest.raises(ActionError, match="Expected `int`, got `str`"):
        actions.from_call("pair", {"left": ["one"], "right": []})


def test_a_field_of_a_type_that_no_notation_can_write_is_refused() -> None:
    @dataclass(frozen=True)
    class Odd:
        """Hold bytes."""

        raw: bytes

    with pytest.raises(ArgumentError, match="cannot be a field"):
        ActionForm(Odd, json_call())


@pytest.mark.parametrize("action_type", [Query, Tell])
def test_a_field_with_nothing_to_draw_from_asks_for_a_domain(action_type) -> None:
    actions = action_set(ActionForm(action_type, json_call()))
    with pytest.raises(ArgumentError, match="has nothing to be drawn from"):
        actions.sample(np.random.default_rng(0))


@dataclass(frozen=True)
class Turn:
    """Turn."""

    way: Literal["left", "right"]


@dataclass(frozen=True)
class Words:
    """Two words."""

    first: str
    second: str


def test_choices_fold_ascii_case_only() -> None:
    actions = action_set(ActionForm(Turn, boxed("{way}")))
    assert actions.parse(r"\boxed{LEFT}") == Turn("left")
    assert "is not of the form" in _problem(actions, "\\boxed{r\u0131ght}")


def test_a_word_ends_where_the_literal_after_it_begins() -> None:
    actions = action_set(ActionForm(Words, boxed("{first},{second}")))
    assert actions.parse(r"\boxed{a,b,c}") == Words("a", "b,c")


@pytest.mark.parametrize(
    "declare",
    [
        lambda: ActionForm(Turn, boxed("{way}"), wya=("left",)),
        lambda: ActionForm(Turn, boxed("{way}"), way=()),
        lambda: ActionForm(Turn, boxed("{way} {")),
        lambda: action_set(ActionForm(Turn, boxed("{way}")), ActionForm(Turn, boxed("go {way}"))),
        lambda: action_set(ActionForm(Turn, json_call("x")), ActionForm(Say, tag("x"))),
        lambda: action_set(),
    ],
)
def test_a_declaration_that_cannot_work_is_refused(declare: Callable[[], object]) -> None:
    with pytest.raises(ArgumentError):
        declare()


def test_a_tool_call_with_an_unknown_argument_is_refused() -> None:
    actions = action_set(ActionForm(Turn, json_call()))
    with pytest.raises(ActionError, match="takes no 'speed'"):
        actions.from_call("turn", {"way": "left", "speed": 3})
