"""The whole prompt as one observation, for agents that read one text rather than a conversation."""

import copy
from typing import Any, cast

from gemenv.core.env import Env, Info, Step
from gemenv.core.message import ContentPart, Observation
from gemenv.errors import ArgumentError
from gemenv.wrappers.wrapper import Wrapper


class History(Wrapper):
    r"""Show the first observation and those of the last turns, joined by line ends.

    Where an observation has images, all of them together are one list of content parts.

    Args:
        env: the environment inside.
        num_turns: how many turns to show after the first observation; None for all of them.
        with_actions: whether each turn begins with the agent's own answer, as it gave it.

    Raises:
        ArgumentError: if `num_turns` is less than 1.

    Example:
        >>> from gemenv import make
        >>> env = History(make("game:GuessTheNumber-v0-hard"), with_actions=True)
        >>> first, info = env.reset(seed=0)
        >>> env.step(r"\boxed{25}").observation.removeprefix(first).splitlines()
        ['', '\\boxed{25}', 'The hidden number is lower than 25.']
    """

    state: list[tuple[Observation, ...]]
    """The first observation, and of each turn that is shown the answer (if any) and what came."""

    def __init__(
        self, env: Env, *, num_turns: int | None = None, with_actions: bool = False
    ) -> None:
        if num_turns is not None and num_turns < 1:
            raise ArgumentError(
                problem="A history shows at least the latest turn.",
                expected="num_turns >= 1, or None for all turns",
                got=num_turns,
                fix="leave num_turns out to show all turns, or the wrapper to show only the latest",
            )
        super().__init__(env)
        self.num_turns = num_turns
        self.with_actions = with_actions
        self.state = []

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Observation, Info]:
        """Start a new episode with an empty history."""
        observation, info = super().reset(seed=seed, options=options)
        self.state = [(observation,)]
        return _joined([observation]), info

    def step(self, action: str) -> Step:
        """Take one turn, and show it after those before."""
        step = super().step(action)
        turn = (action, step.observation) if self.with_actions else (step.observation,)
        first, *turns = *self.state, turn
        self.state = [first, *(turns if self.num_turns is None else turns[-self.num_turns :])]
        return step._replace(observation=_joined([part for turn in self.state for part in turn]))


def _joined(pieces: list[Observation]) -> Observation:
    if all(isinstance(piece, str) for piece in pieces):
        return "\n".join(cast(list[str], pieces))
    parts: list[ContentPart] = []
    for piece in pieces:
        parts += [{"type": "text", "text": piece}] if isinstance(piece, str) else piece
    return copy.deepcopy(parts)  # whoever reads them may change them
