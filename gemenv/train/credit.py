"""Who gets how much: from the turns of a batch to one advantage per turn.

Shapes: N transitions (turns) of the global batch, E episodes.
"""

from dataclasses import dataclass
from typing import ClassVar, Literal, NamedTuple, Protocol

import numpy as np

from gemenv.errors import ContractError
from gemenv.train.advantage import (
    Baseline,
    FloatArray,
    Scale,
    Singleton,
    discounted_returns,
    gae,
    group_advantage,
    require_group_settings,
    standardize,
)
from gemenv.train.checks import require_setting
from gemenv.train.outcome_credit import correctness_advantage
from gemenv.train.turn_table import IntArray, TurnTable


class TurnCredit(NamedTuple):
    """What the turns of a batch deserve, in the order of the table."""

    advantage_N: FloatArray
    """[N] float64."""
    value_target_N: FloatArray | None = None
    """[N] what the critic should have said; None for credit without a critic."""


class Credit(Protocol):
    """A frozen rule that turns rewards into advantages."""

    is_per_episode: ClassVar[bool]
    """Whether all turns of an episode get the same advantage."""

    def __call__(self, turns: TurnTable) -> TurnCredit:
        """Compute one advantage per turn.

        Args:
            turns: the global batch.

        Returns:
            Advantages in the order of the table, and value targets if there is a critic.
        """
        ...


@dataclass(frozen=True, kw_only=True)
class Returns:
    """Each turn gets the discounted rewards that follow it; a cut episode counts as ended.

    Source: GEM, arXiv:2510.01051, eq. 1.
    """

    is_per_episode: ClassVar[bool] = False

    gamma: float
    """Discount per turn, 0 to 1."""

    def __post_init__(self) -> None:
        require_setting(0 <= self.gamma <= 1, "gamma", "a number from 0 to 1", self.gamma)

    def __call__(self, turns: TurnTable) -> TurnCredit:
        """Compute the returns of every episode."""
        return_N = np.empty(len(turns.reward_N))
        for members in turns.episodes:
            return_N[members] = discounted_returns(turns.reward_N[members], gamma=self.gamma)
        return TurnCredit(return_N)


@dataclass(frozen=True, kw_only=True)
class Gae:
    """Each turn gets its generalised advantage under a turn-level critic.

    Source: arXiv:1506.02438, eq. 16, with one step per turn.
    """

    is_per_episode: ClassVar[bool] = False

    gamma: float
    """Discount per turn, 0 to 1."""
    lam: float
    """0 trusts the critic, 1 the returns."""

    def __post_init__(self) -> None:
        require_setting(0 <= self.gamma <= 1, "gamma", "a number from 0 to 1", self.gamma)
        require_setting(0 <= self.lam <= 1, "lam", "a number from 0 to 1", self.lam)

    def __call__(self, turns: TurnTable) -> TurnCredit:
        """Compute advantages and value targets of every episode; needs both values."""
        value_N, bootstrap_value_N = turns.value_N, turns.bootstrap_value_N
        if value_N is None or bootstrap_value_N is None:
            raise ContractError(
                problem="Credit by a critic needs the critic's values.",
                expected="value_N and bootstrap_value_N in the TurnTable",
                got={"value_N": value_N, "bootstrap_value_N": bootstrap_value_N},
                fix="evaluate the critic before each turn and after the last, or use Returns",
            )
        advantage_N, target_N = np.empty(len(value_N)), np.empty(len(value_N))
        for members in turns.episodes:
            last = members[-1]
            advantage_N[members], target_N[members] = gae(
                turns.reward_N[members],
                value_N[members],
                gamma=self.gamma,
                lam=self.lam,
                is_terminated=bool(turns.is_terminated_N[last]),
                bootstrap_value=float(bootstrap_value_N[last]),
            )
        return TurnCredit(advantage_N, target_N)


@dataclass(frozen=True, kw_only=True)
class GroupRelative:
    """All turns of an episode get its return compared with those of its group.

    Source: GRPO, arXiv:2402.03300; over turns: GEM, arXiv:2510.01051, eq. 2.
    """

    is_per_episode: ClassVar[bool] = True

    baseline: Baseline = "mean"
    """What is subtracted: nothing, the group's mean, or the mean of the others ("loo")."""
    scale: Scale = "none"
    """What divides: nothing, the group's or the batch's standard deviation."""
    ddof: int = 1
    """Of the standard deviation: 0 or 1."""
    eps: float = 1e-6
    """Added to the standard deviation; 0 or more."""
    singleton: Singleton = "zero"
    """The advantage of a group of one: 0, or its raw return."""

    def __post_init__(self) -> None:
        require_group_settings(self.baseline, self.scale, self.ddof, self.singleton)
        require_setting(self.eps >= 0, "eps", "a number of 0 or more", self.eps)

    def __call__(self, turns: TurnTable) -> TurnCredit:
        """Compare episodes, then hand each result to all turns of its episode."""
        return_E, group_E = _episode_returns(turns)
        advantage_E = group_advantage(
            return_E,
            group_E,
            baseline=self.baseline,
            scale=self.scale,
            ddof=self.ddof,
            eps=self.eps,
            singleton=self.singleton,
        )
        return TurnCredit(_to_turns(advantage_E, turns))


@dataclass(frozen=True, kw_only=True)
class Correctness:
    """All turns of an episode get one weight if it succeeded, and another if it failed.

    Source: arXiv:2506.01347.
    """

    is_per_episode: ClassVar[bool] = True

    positive: float
    """Advantage of a success; 0 or more."""
    negative: float
    """What a failure loses; 0 or more."""
    threshold: float = 0.5
    """An episode is a success if its return is above this."""

    def __post_init__(self) -> None:
        for name, got in (("positive", self.positive), ("negative", self.negative)):
            require_setting(got >= 0, name, "a number of 0 or more", got)

    def __call__(self, turns: TurnTable) -> TurnCredit:
        """Judge episodes, then hand each result to all turns of its episode."""
        return_E, _ = _episode_returns(turns)
        advantage_E = correctness_advantage(
            return_E > self.threshold, positive=self.positive, negative=self.negative
        )
        return TurnCredit(_to_turns(advantage_E, turns))


@dataclass(frozen=True, kw_only=True)
class Standardize:
    """Advantages of the whole batch are brought to mean 0 and standard deviation 1.

    Source: over turns, ReBN: GEM, arXiv:2510.01051; over tokens: REINFORCE++, arXiv:2501.03262.
    """

    over: Literal["turns", "tokens"] = "turns"
    """Whether each turn counts once, or once per trainable token."""
    ddof: int = 0
    """Of the standard deviation: 0 or 1."""
    eps: float = 1e-9
    """Added to the standard deviation; 0 or more."""

    def __post_init__(self) -> None:
        over = ("turns", "tokens")
        require_setting(self.over in over, "standardize.over", f"one of {over}", self.over)
        require_setting(self.ddof in (0, 1), "standardize.ddof", "0 or 1", self.ddof)
        require_setting(self.eps >= 0, "standardize.eps", "a number of 0 or more", self.eps)

    def __call__(self, advantage_N: FloatArray, turns: TurnTable) -> FloatArray:
        """Standardise over the batch; over tokens it needs `num_tokens_N`."""
        if self.over == "turns":
            return standardize(advantage_N, ddof=self.ddof, eps=self.eps)
        if turns.num_tokens_N is None:
            raise ContractError(
                problem="Standardising over tokens needs the number of tokens of each turn.",
                expected="num_tokens_N in the TurnTable",
                got=None,
                fix="count the trainable tokens of each turn, or standardise over turns",
            )
        return standardize(advantage_N, ddof=self.ddof, eps=self.eps, weight=turns.num_tokens_N)


def _episode_returns(turns: TurnTable) -> tuple[FloatArray, IntArray]:
    return_E = np.array([turns.reward_N[members].sum() for members in turns.episodes])
    group_E = np.array([turns.group_N[members[0]] for members in turns.episodes])
    return return_E, group_E


def _to_turns(advantage_E: FloatArray, turns: TurnTable) -> FloatArray:
    advantage_N = np.empty(len(turns.reward_N))
    for advantage, members in zip(advantage_E, turns.episodes, strict=True):
        advantage_N[members] = advantage
    return advantage_N
