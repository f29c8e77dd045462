"""The turns of a batch as columns: what credit is computed from.

Shapes: N transitions (turns) of the global batch, in any order; E episodes; T turns of one episode.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from gemenv.errors import ContractError
from gemenv.train.advantage import FloatArray, group_members
from gemenv.train.checks import require_same_shape

IntArray = npt.NDArray[np.integer[Any]]
BoolArray = npt.NDArray[np.bool_]


@dataclass(frozen=True, kw_only=True, eq=False)
class TurnTable:
    """The turns of everything that was collected, before any is dropped or sharded.

    Example:
        >>> table = TurnTable(
        ...     reward_N=np.array([0.0, 1.0]), episode_N=np.array([4, 4]), turn_N=np.array([0, 1]),
        ...     group_N=np.array([9, 9]), is_terminated_N=np.array([False, True]),
        ...     is_truncated_N=np.array([False, False]))
        >>> [turns.tolist() for turns in table.episodes]
        [[0, 1]]
    """

    reward_N: FloatArray
    """[N] reward of each turn; finite."""
    episode_N: IntArray
    """[N] the episode of each turn; any labels."""
    turn_N: IntArray
    """[N] position within the episode: 0, 1, 2 ... without a gap."""
    group_N: IntArray
    """[N] the initial state of the episode; the same for all its turns."""
    is_terminated_N: BoolArray
    """[N] True on the last turn of an episode whose task ended."""
    is_truncated_N: BoolArray
    """[N] True on the last turn of an episode that was cut; every episode has one or the other."""
    num_tokens_N: IntArray | None = None
    """[N] trainable tokens of each turn; read by `Standardize` over tokens."""
    value_N: FloatArray | None = None
    """[N] the critic's value of the state before each turn; read by `Gae`."""
    bootstrap_value_N: FloatArray | None = None
    """[N] the critic's value of the state after each turn; read by `Gae` where truncated."""

    def __post_init__(self) -> None:
        require_same_shape(**vars(self))
        _require(bool(np.isfinite(self.reward_N).all()), "reward_N is not finite everywhere")
        for turns in self.episodes:
            self._check_episode(turns)

    @cached_property
    def episodes(self) -> Sequence[IntArray]:
        """[E] of [T]: the positions of each episode's turns, in the order of play."""
        by_turn_N = np.argsort(self.turn_N, kind="stable")
        return [by_turn_N[members] for members in group_members(self.episode_N[by_turn_N])]

    def _check_episode(self, turns: IntArray) -> None:
        name = f"of episode {self.episode_N[turns[0]]}"
        is_gapless = np.array_equal(self.turn_N[turns], np.arange(len(turns)))
        _require(is_gapless, f"the turns {name} are not 0, 1, 2 ... without a gap")
        is_one_group = bool((self.group_N[turns] == self.group_N[turns[0]]).all())
        _require(is_one_group, f"the turns {name} are in more than one group")
        end_T = self.is_terminated_N[turns].astype(int) + self.is_truncated_N[turns]
        is_ended_once = end_T[-1] == 1 and not end_T[:-1].any()
        _require(is_ended_once, f"the last turn {name}, and no other, must end it in one way")


def _require(is_valid: bool, problem: str) -> None:
    if not is_valid:
        raise ContractError(
            problem=f"The table of turns does not fit together: {problem}.",
            expected="whole episodes, each ended once, with finite rewards",
            got=problem,
            fix="build the table from completed or truncated trajectories only",
        )
