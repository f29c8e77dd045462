"""Plain data: what JSON and UTF-8 can hold, and a prompt too."""

import json
from typing import Any

from gemenv.testing.check import require

_MAX_CHARS = 100_000  # far above what a tool's output may take, far below an action of a megabyte


def require_plain(value: Any, name: str) -> None:
    """Require that a value survives JSON and UTF-8, and is not huge.

    Raises:
        ConformanceError: if it does not; `name` says what it is.
    """
    text, back = "", None
    try:
        text = json.dumps(value, ensure_ascii=False, allow_nan=False)
        text.encode()
        back = json.loads(text)
    except (TypeError, ValueError) as error:  # UnicodeEncodeError is a ValueError
        reason = f"{type(error).__name__}: {error}"
    else:
        reason = "it comes back changed"
    require(
        back == value,
        f"The {name} cannot be written as JSON: {reason}.",
        expected="None, bool, int, float, str without lone surrogates, list and dict of them",
        got=value,
        fix="convert tuples, sets, bytes and arrays; show foreign text with repr()",
    )
    require(
        len(text) <= _MAX_CHARS,
        f"The {name} is too long: {len(text)} characters.",
        expected=f"at most {_MAX_CHARS} characters",
        got=text,
        fix="shorten what is shown, and do not show a whole action again",
    )
