"""Gymnasium spaces for text: equal to each other and batchable, so `gymnasium.make_vec` works.

Text has no fixed size: `vectorization_mode="async"` needs `vector_kwargs={"shared_memory": False}`.
"""

from typing import Any

from gymnasium import Space
from numpy.random import Generator

from gemenv.core.action import ActionSet
from gemenv.core.message import Observation

_PRINTABLE = "".join(map(chr, range(32, 127)))


class ObservationSpace(Space[Observation]):
    """Every text, and every list of content parts."""

    def __init__(self, seed: int | Generator | None = None) -> None:
        super().__init__(None, None, seed)

    def contains(self, x: Any) -> bool:
        """Tell whether `x` is text or a list of content parts."""
        return isinstance(x, str) or (
            isinstance(x, list) and all(isinstance(part, dict) and "type" in part for part in x)  # pyright: ignore[reportUnknownVariableType]
        )

    def sample(self, mask: Any | None = None, probability: Any | None = None) -> Observation:
        """Return up to 32 random printable characters."""
        length = int(self.np_random.integers(1, 33))
        return "".join(_PRINTABLE[i] for i in self.np_random.integers(len(_PRINTABLE), size=length))

    @property
    def is_np_flattenable(self) -> bool:
        """Text has no fixed shape."""
        return False

    def __eq__(self, other: object) -> bool:
        return isinstance(other, ObservationSpace)

    def __hash__(self) -> int:
        return hash(ObservationSpace)

    def __repr__(self) -> str:
        return "ObservationSpace()"


class ActionSpace(Space[str]):
    """Every text is an action that may be tried; samples are well-formed typed actions.

    Args:
        actions: the typed actions that `sample` draws from.
    """

    def __init__(self, actions: ActionSet, seed: int | Generator | None = None) -> None:
        super().__init__(None, None, seed)
        self.actions = actions

    def contains(self, x: Any) -> bool:
        """Tell whether `x` is text."""
        return isinstance(x, str)

    def sample(self, mask: Any | None = None, probability: Any | None = None) -> str:
        """Return one well-formed action as text; it need not be legal in the present state."""
        return self.actions.format(self.actions.sample(self.np_random))

    @property
    def is_np_flattenable(self) -> bool:
        """Text has no fixed shape."""
        return False

    def __eq__(self, other: object) -> bool:
        return isinstance(other, ActionSpace) and other.actions == self.actions

    def __hash__(self) -> int:
        return hash(self.actions)

    def __repr__(self) -> str:
        return f"ActionSpace({self.actions})"
