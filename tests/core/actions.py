"""Action sets in every notation, with the actions that each can write."""

from dataclasses import dataclass
from typing import Annotated, Literal

import msgspec
from hypothesis import strategies as st

from gemenv.core.action import ActionForm, ActionSet, action_set
from gemenv.core.notation import boxed, fence, json_call, tag


@dataclass(frozen=True)
class Cell:
    """Choose a cell."""

    row: int
    col: int


@dataclass(frozen=True)
class Flag:
    """Flag a cell, or take the flag away."""

    row: int
    col: int
    on: bool


@dataclass(frozen=True)
class Go:
    """Go some way."""

    way: Literal["up", "down", "left", "right"]
    steps: Annotated[int, msgspec.Meta(ge=1, le=9)]


@dataclass(frozen=True)
class Say:
    """Say something."""

    text: str


@dataclass(frozen=True)
class Tell:
    """Tell somebody something."""

    name: Annotated[str, msgspec.Meta(pattern="^[A-Z][a-z]+$")]
    text: str


@dataclass(frozen=True)
class Weigh:
    """Weigh something."""

    grams: float


@dataclass(frozen=True)
class Query:
    """Search."""

    words: list[str]
    limit: int | None = None
    exact: bool = False


_INTS = st.integers(-(10**30), 10**30)
_WORDS = st.from_regex("[a-z]{1,12}", fullmatch=True)
_FLOATS = st.floats(-1e308, 1e308, exclude_min=True, exclude_max=True)
_TEXTS = st.lists(_WORDS, min_size=1, max_size=8).map(" ".join)
_PROGRAMS = st.lists(_TEXTS | st.just(""), max_size=6).map("\n    ".join)
_QUERIES = st.builds(Query, st.lists(st.text()), st.none() | _INTS, st.booleans())


ACTIONS: dict[str, tuple[ActionSet, st.SearchStrategy]] = {
    "boxed fields in order": (
        action_set(ActionForm(Cell, boxed())),
        st.builds(Cell, _INTS, _INTS),
    ),
    "boxed template": (
        action_set(ActionForm(Cell, boxed("reveal ({row}, {col})"))),
        st.builds(Cell, _INTS, _INTS),
    ),
    "boxed, two types": (
        action_set(
            ActionForm(Cell, boxed("reveal {row} {col}")),
            ActionForm(Flag, boxed("flag {on} {row} {col}")),
        ),
        st.builds(Cell, _INTS, _INTS) | st.builds(Flag, _INTS, _INTS, st.booleans()),
    ),
    "boxed choice": (
        action_set(ActionForm(Go, boxed("{way} {steps}"))),
        st.builds(Go, st.sampled_from(["up", "down", "left", "right"]), st.integers(1, 9)),
    ),
    "boxed domain": (
        action_set(ActionForm(Cell, boxed(), row=range(3), col=(2, 4, 6))),
        st.builds(Cell, st.integers(0, 2), st.sampled_from([2, 4, 6])),
    ),
    "boxed float": (action_set(ActionForm(Weigh, boxed())), st.builds(Weigh, _FLOATS)),
    "boxed text": (action_set(ActionForm(Say, boxed())), st.builds(Say, _TEXTS)),
    "boxed name and text": (
        action_set(ActionForm(Tell, boxed("{name}: {text}"))),
        st.builds(Tell, st.just("Ann") | st.just("Bob"), _TEXTS),
    ),
    "tag": (
        action_set(ActionForm(Cell, tag("cell", "{row}/{col}"))),
        st.builds(Cell, _INTS, _INTS),
    ),
    "tag text": (action_set(ActionForm(Say, tag("say-it"))), st.builds(Say, _TEXTS)),
    "fence": (action_set(ActionForm(Say, fence("python"))), st.builds(Say, _PROGRAMS.filter(bool))),
    "tool call": (
        action_set(*(ActionForm(kind, json_call()) for kind in (Cell, Say, Query))),
        st.builds(Cell, _INTS, _INTS) | st.builds(Say, st.text()) | _QUERIES,
    ),
    "tag and fence": (
        action_set(ActionForm(Cell, tag("cell")), ActionForm(Say, fence("text"))),
        st.builds(Cell, _INTS, _INTS) | st.builds(Say, _TEXTS),
    ),
}
"""By name: a set, and a strategy that draws actions which it can write."""
