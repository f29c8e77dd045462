r"""Notations: where in free text an action stands, and how its fields are written there.

A notation is a frame (`\boxed{...}`, `<tag>...</tag>`, a fence, a tool call) around a body (a
template such as `"{row} {col}"`, or JSON). The last complete frame in the text is the action.
Finding it takes linear time for any input.
"""

import collections
import re
from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np


class Found(NamedTuple):
    """The last complete frame of a text: where it starts, and what stands in it."""

    start: int
    body: str


class Frame(ABC):
    """What surrounds an action in free text; frames are values: equal if written alike."""

    opening: str
    word: str
    """Regular expression of one word that this frame can hold."""
    free_text: str
    """Regular expression of the texts that this frame can hold."""
    strips: bool = True
    """Whether white space around the body means nothing."""

    @abstractmethod
    def find(self, text: str) -> Found | None:
        """Find the last complete occurrence."""

    @abstractmethod
    def around(self, body: str, escape: bool = False) -> str:
        """Put the frame around a body; `escape` makes the frame itself a regular expression."""


def _braced(levels: int) -> str:
    """Return the pattern of balanced braces; a regular expression cannot count deeper."""
    group = r"\{[^{}]*\}"
    for _ in range(levels - 1):
        group = rf"\{{(?:[^{{}}]|{group})*\}}"
    return group


@dataclass(frozen=True)
class Boxed(Frame):
    r"""`\boxed{...}`, as in mathematics; braces inside must balance."""

    opening = "\\boxed{"
    word = r"[^\s{}]+"
    _group = _braced(levels=5)
    free_text = rf"(?:[^\s{{}}]|{_group})(?:(?:[^{{}}]|{_group})*(?:[^\s{{}}]|{_group}))?"
    _plain = re.compile(r"([^{}]*)\}")

    def find(self, text: str) -> Found | None:
        """Find the last complete occurrence."""
        start = text.rfind(self.opening)
        if start < 0:
            return None
        plain = self._plain.match(text, start + len(self.opening))
        return Found(start, plain[1]) if plain else self._find_balanced(text)

    def _find_balanced(self, text: str) -> Found | None:
        codes = np.frombuffer(text.encode("utf-32-le", "surrogatepass"), dtype="<u4")
        depth = np.cumsum((codes == ord("{")).astype(np.int32) - (codes == ord("}")))
        lowest_after = np.minimum.accumulate(depth[::-1])[::-1]
        braces = np.array([m.end() - 1 for m in re.finditer(re.escape(self.opening), text)])
        closed = braces[lowest_after[braces] < depth[braces]]
        if not closed.size:
            return None
        brace = int(closed[-1])
        end = brace + int(np.argmax(depth[brace:] < depth[brace]))
        return Found(brace + 1 - len(self.opening), text[brace + 1 : end])

    def around(self, body: str, escape: bool = False) -> str:
        r"""Put `\boxed{}` around a body."""
        return rf"\\boxed\{{{body}\}}" if escape else f"\\boxed{{{body}}}"


@dataclass(frozen=True)
class Tagged(Frame):
    """`<name>...</name>`.

    Args:
        name: letters, digits, `_` and `-`.
    """

    name: str

    @property
    def opening(self) -> str:  # pyright: ignore[reportIncompatibleVariableOverride]
        """The opening tag."""
        return f"<{self.name}>"

    @property
    def word(self) -> str:  # pyright: ignore[reportIncompatibleVariableOverride]
        """One word without `<`."""
        return r"[^\s<]+"

    @property
    def free_text(self) -> str:  # pyright: ignore[reportIncompatibleVariableOverride]
        """Texts in which no `<` starts something that looks like this tag, opened or closed."""
        unit = rf"(?:[^<]|<[^/<{self.name[0]}])"
        solid = rf"(?:[^<\s]|<[^/<\s{self.name[0]}])"
        return f"{solid}(?:{unit}*{solid})?"

    def find(self, text: str) -> Found | None:
        """Find the last complete occurrence."""
        closing = f"</{self.name}>"
        start = text.rfind(self.opening, 0, max(text.rfind(closing), 0))
        if start < 0:
            return None
        inside = start + len(self.opening)
        return Found(start, text[inside : text.find(closing, inside)])

    def around(self, body: str, escape: bool = False) -> str:
        """Put the tags around a body."""
        name = re.escape(self.name) if escape else self.name
        return f"<{name}>{body}</{name}>"


@dataclass(frozen=True)
class Fenced(Frame):
    """A fenced code block of one language; its body ends before the closing fence's line.

    Args:
        language: the word after the opening fence, such as `python`.
    """

    language: str
    strips = False
    word = r"[^\s`]+"
    _solid = r"(?:[^`\n][^\n]*|`[^`\n][^\n]*|``[^`\n][^\n]*|`{1,2})"  # a line that is not empty
    free_text = rf"(?:{_solid}(?:\n{_solid}?)*|(?:\n{_solid}?)+)"

    @property
    def opening(self) -> str:  # pyright: ignore[reportIncompatibleVariableOverride]
        """The opening fence."""
        return f"```{self.language}"

    def find(self, text: str) -> Found | None:
        """Find the last complete occurrence."""
        block = re.compile(
            rf"^{re.escape(self.opening)}[ \t]*\n((?:(?!```)[^\n]*\n)*+)```[ \t]*$", re.MULTILINE
        )
        last = collections.deque(block.finditer(text), maxlen=1)
        return Found(last[0].start(), last[0][1].removesuffix("\n")) if last else None

    def around(self, body: str, escape: bool = False) -> str:
        """Put the fences around a body."""
        language = re.escape(self.language) if escape else self.language
        return f"```{language}\n{body}\n```"


@dataclass(frozen=True)
class Notation:
    """A frame and, inside it, a template with `{field}` marks, or JSON where there is none.

    Args:
        frame: what surrounds the action.
        template: the body with its fields; `""` means all fields in order, space-separated.
        is_json: whether the body is `{"name": ..., "arguments": {...}}`.
    """

    frame: Frame
    template: str = ""
    is_json: bool = False


def boxed(template: str = "") -> Notation:
    r"""Write an action as `\boxed{...}`.

    Example:
        >>> boxed("{row} {col}").frame.around("1 2")
        '\\boxed{1 2}'
    """
    return Notation(Boxed(), template)


def tag(name: str, template: str = "") -> Notation:
    """Write an action as `<name>...</name>`."""
    return Notation(Tagged(name), template)


def fence(language: str, template: str = "") -> Notation:
    """Write an action as a fenced block of `language`; for one field, such as a program."""
    return Notation(Fenced(language), template)


def json_call(name: str = "tool_call") -> Notation:
    """Write an action as a JSON tool call between `<tool_call>` tags (the Hermes form)."""
    return Notation(Tagged(name), is_json=True)
