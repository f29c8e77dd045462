"""An algorithm is a choice of parts: credit x rule x aggregation x KL and entropy x correction.

`presets.py` names the compositions; the trainer knows none of them. It calls `turn_advantages`,
`algorithm.aggregation.weights` and `policy_loss`, in that order.
"""

from dataclasses import dataclass

from gemenv.errors import ConfigError
from gemenv.train.aggregation import Aggregation
from gemenv.train.checks import require_setting
from gemenv.train.credit import Credit, Gae, GroupRelative, Standardize, TurnCredit
from gemenv.train.losses.kl import KlPenalty
from gemenv.train.losses.off_policy import OffPolicy
from gemenv.train.losses.surrogate import Rule
from gemenv.train.losses.value import ValueLoss
from gemenv.train.turn_table import TurnTable


@dataclass(frozen=True, kw_only=True)
class Algorithm:
    """Parts that fit together; a combination that cannot be right is refused here, with the reason.

    Change one part with `dataclasses.replace`, which checks again.

    Raises:
        ConfigError: if the parts do not fit.
    """

    credit: Credit
    """From rewards to one advantage per turn."""
    rule: Rule
    """How an advantage pushes a token's log-prob."""
    aggregation: Aggregation
    """How token losses become one number."""
    standardize: Standardize | None = None
    """Whether advantages are standardised over the whole batch (ReBN)."""
    kl: KlPenalty | None = None
    """Price of leaving the reference policy; None loads no reference."""
    entropy_coef: float = 0.0
    """Reward for entropy, per nat and weighted like the policy's term; 0 or more."""
    off_policy: OffPolicy | None = None
    """Correction for the difference between the engine that sampled and the trainer's policy."""
    value: ValueLoss | None = None
    """The critic's loss; with `Gae` credit only."""
    group_size: int = 1
    """Episodes to collect from each initial state; 1 or more."""

    def __post_init__(self) -> None:
        require_setting(self.group_size >= 1, "group_size", "1 or more", self.group_size)
        is_valid = self.entropy_coef >= 0
        require_setting(is_valid, "entropy_coef", "a number of 0 or more", self.entropy_coef)
        _check_credit(self)
        _check_ratios(self)

    @property
    def required_streams(self) -> frozenset[str]:
        """Names of the optional fields of `TokenStreams` that the loss cannot do without."""
        needed = {
            "logp_old_BT": self.rule.base == "old"
            or (self.off_policy is not None and self.off_policy.numerator == "old"),
            "logp_sampler_BT": self.rule.base == "sampler" or self.off_policy is not None,
            "logp_ref_BT": self.kl is not None,
            "entropy_BT": self.entropy_coef > 0,
        }
        return frozenset(name for name, is_needed in needed.items() if is_needed)


def turn_advantages(algorithm: Algorithm, turns: TurnTable) -> TurnCredit:
    """Compute one advantage per turn from everything that was collected.

    Call it on the global batch, before turns are subsampled, sharded or dropped: group and batch
    statistics depend on who is in. Each token of a turn then gets the turn's advantage.

    Args:
        algorithm: its credit and its standardisation are read.
        turns: the table of turns.

    Returns:
        [N] advantages in the order of the table; value targets (not standardised) with a critic.

    Raises:
        ContractError: if the table lacks a column that the credit reads.

    Example:
        >>> import numpy as np
        >>> from gemenv.train.presets import reinforce
        >>> table = TurnTable(
        ...     reward_N=np.array([0.0, 1.0]), episode_N=np.array([0, 0]), turn_N=np.array([0, 1]),
        ...     group_N=np.array([0, 0]), is_terminated_N=np.array([False, True]),
        ...     is_truncated_N=np.array([False, False]))
        >>> turn_advantages(reinforce(gamma=0.9), table).advantage_N.tolist()
        [0.9, 1.0]
    """
    credit = algorithm.credit(turns)
    if algorithm.standardize is None:
        return credit
    return credit._replace(advantage_N=algorithm.standardize(credit.advantage_N, turns))


def _check_credit(algorithm: Algorithm) -> None:
    credit = algorithm.credit
    if isinstance(credit, Gae) != (algorithm.value is not None):
        raise ConfigError(
            problem="A critic needs both its credit and its loss.",
            expected="credit=Gae(...) together with value=ValueLoss(...), or neither",
            got={"credit": credit, "value": algorithm.value},
            fix="add the missing one, or use Returns or GroupRelative credit without a critic",
        )
    if not isinstance(credit, GroupRelative):
        return
    if algorithm.group_size < 2 and credit.baseline != "none" and credit.singleton == "zero":
        raise ConfigError(
            problem="In a group of one there is nothing to compare: every advantage would be 0.",
            expected="group_size of 2 or more, or GroupRelative(singleton='raw')",
            got=algorithm.group_size,
            fix="set group_size to 2 or more",
        )
    if algorithm.standardize is not None and credit.scale != "none":
        raise ConfigError(
            problem="Advantages would be divided by a standard deviation twice.",
            expected="either GroupRelative(scale=...) or standardize",
            got=credit.scale,
            fix="leave out standardize, or set scale='none'",
        )


def _check_ratios(algorithm: Algorithm) -> None:
    rule, off_policy = algorithm.rule, algorithm.off_policy
    if rule.is_per_row and not algorithm.credit.is_per_episode:
        raise ConfigError(
            problem=f"{type(rule).__name__} has one ratio per row, so a row needs one advantage.",
            expected="credit that is the same for all turns of an episode",
            got=algorithm.credit,
            fix="use GroupRelative credit, or a rule per token such as Ppo",
        )
    if off_policy is None:
        return
    if rule.base == "sampler":
        raise ConfigError(
            problem="The ratio to the sampler would be counted twice.",
            expected="a rule whose base is not the sampler, or no off_policy correction",
            got=rule,
            fix="leave out off_policy, or use Reinforce or Ppo with it",
        )
    if rule.base == "old" and off_policy.numerator == "current":
        raise ConfigError(
            problem="The ratio of the current to the old policy would be counted twice.",
            expected="off_policy.numerator='old' beside a rule whose base is the old policy",
            got=off_policy.numerator,
            fix="set numerator='old', or use Reinforce with numerator='current'",
        )
