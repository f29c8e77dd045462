"""Named algorithms: each is a composition of parts, at most ten lines.

`Aggregation` with the norm "const" divides by the generation limit, which the trainer passes.
Change a part with `dataclasses.replace`:

    replace(grpo(), aggregation=Aggregation("traj", "none"))   # GEM's eq. 2 and 4
"""

import difflib
import inspect
from collections.abc import Callable, Mapping
from dataclasses import replace
from types import MappingProxyType
from typing import Any

from gemenv.errors import ConfigError
from gemenv.train.aggregation import Aggregation
from gemenv.train.algorithms import Algorithm
from gemenv.train.credit import Correctness, Gae, GroupRelative, Returns, Standardize
from gemenv.train.losses.kl import KlPenalty
from gemenv.train.losses.off_policy import OffPolicy
from gemenv.train.losses.surrogate import Cispo, Gmpo, Gspo, ImportanceSampling, Ppo, Reinforce
from gemenv.train.losses.value import ValueLoss

_TOKEN_MEAN = Aggregation("batch", "tokens")
_ROW_MEAN = Aggregation("row", "tokens")
_ROW_CONST = Aggregation("row", "const")
_ROW_SUM = Aggregation("row", "none")
_GROUP_STD = GroupRelative(scale="group_std")


def reinforce(*, gamma: float = 0.9) -> Algorithm:
    """Multi-turn REINFORCE: each turn's tokens get its discounted return. For one step per batch.

    Source: GEM, arXiv:2510.01051, Alg. 1 (gamma 0.9 for games and search, 1 for mathematics).
    """
    return Algorithm(credit=Returns(gamma=gamma), rule=Reinforce(), aggregation=_ROW_CONST)


def reinforce_rebn(*, gamma: float = 0.9) -> Algorithm:
    """REINFORCE with returns standardised over all turns of the batch. For one step per batch.

    Source: GEM, arXiv:2510.01051.
    """
    return replace(reinforce(gamma=gamma), standardize=Standardize())


def reinforce_rebn_prox(*, gamma: float = 0.9, clip: float = 0.2) -> Algorithm:
    """REINFORCE with ReBN under PPO's clip, so that several steps per batch are safe.

    Source: GEM, arXiv:2510.01051, with the clip of arXiv:1707.06347.
    """
    return replace(reinforce_rebn(gamma=gamma), rule=Ppo(clip_low=clip, clip_high=clip))


def ppo(*, gamma: float = 0.9, lam: float = 0.95, clip: float = 0.2) -> Algorithm:
    """PPO with a critic that sees one state per turn; its advantages are standardised.

    Source: arXiv:1707.06347; turns as steps: GEM, arXiv:2510.01051.
    """
    return Algorithm(
        credit=Gae(gamma=gamma, lam=lam),
        rule=Ppo(clip_low=clip, clip_high=clip),
        aggregation=_ROW_CONST,
        standardize=Standardize(),
        value=ValueLoss(),
    )


def grpo(*, group_size: int = 8, clip: float = 0.2, kl_coef: float = 0.04) -> Algorithm:
    """GRPO: z-scores within the group, PPO's clip, and a price on leaving the reference.

    `kl_coef` 0 leaves the reference out. Source: arXiv:2402.03300, eq. 3 (64 to a group there).
    """
    return Algorithm(
        credit=_GROUP_STD,
        rule=Ppo(clip_low=clip, clip_high=clip),
        aggregation=_ROW_MEAN,
        kl=KlPenalty(coef=kl_coef) if kl_coef != 0 else None,
        group_size=group_size,
    )


def dr_grpo(*, group_size: int = 8, clip: float = 0.2) -> Algorithm:
    """GRPO without its length and difficulty biases: no standard deviation, no token mean, no KL.

    Source: arXiv:2503.20783.
    """
    return replace(
        grpo(group_size=group_size, clip=clip, kl_coef=0),
        credit=GroupRelative(),
        aggregation=_ROW_CONST,
    )


def rloo(*, group_size: int = 8) -> Algorithm:
    """REINFORCE with the mean of the group's others as baseline. For one step per batch.

    Source: arXiv:2402.14740.
    """
    return Algorithm(
        credit=GroupRelative(baseline="loo"),
        rule=Reinforce(),
        aggregation=_ROW_SUM,
        group_size=group_size,
    )


def loop(*, group_size: int = 8, clip: float = 0.2) -> Algorithm:
    """RLOO under PPO's clip per token, so that several steps per batch are safe.

    Source: arXiv:2502.01600.
    """
    return replace(rloo(group_size=group_size), rule=Ppo(clip_low=clip, clip_high=clip))


def reinforce_pp_baseline(*, group_size: int = 8, clip: float = 0.2) -> Algorithm:
    """REINFORCE++ with a group baseline: return less group mean, whitened over all tokens.

    Source: arXiv:2501.03262.
    """
    return Algorithm(
        credit=GroupRelative(),
        rule=Ppo(clip_low=clip, clip_high=clip),
        aggregation=_TOKEN_MEAN,
        standardize=Standardize(over="tokens", ddof=1, eps=0.0),
        group_size=group_size,
    )


def gspo(*, group_size: int = 8, clip_low: float = 3e-4, clip_high: float = 4e-4) -> Algorithm:
    """GRPO with one clipped ratio per sequence instead of one per token.

    Source: arXiv:2507.18071.
    """
    rule = Gspo(clip_low=clip_low, clip_high=clip_high)
    return replace(grpo(group_size=group_size, kl_coef=0), rule=rule)


def gmpo(*, group_size: int = 8, clip: float = 0.4) -> Algorithm:
    """GRPO with a geometric mean over tokens, which no single token can dominate.

    `clip` is in nats. Source: arXiv:2507.20673.
    """
    rule = Gmpo(clip_low=clip, clip_high=clip)
    return replace(grpo(group_size=group_size, kl_coef=0), rule=rule)


def cispo(*, group_size: int = 8, cap_high: float = 4.0) -> Algorithm:
    """REINFORCE on group z-scores with capped ratios as weights; `cap_high` is the cap itself.

    Source: arXiv:2506.13585.
    """
    return Algorithm(
        credit=_GROUP_STD,
        rule=Cispo(cap_high=cap_high),
        aggregation=_TOKEN_MEAN,
        group_size=group_size,
    )


def grpo_tis(*, group_size: int = 8, high: float = 2.0) -> Algorithm:
    """GRPO corrected for the engine's numerics by truncated weights per token.

    Source: Yao et al. 2025; arXiv:2510.26788.
    """
    correction = OffPolicy(level="token", mode="truncate", high=high)
    return replace(grpo(group_size=group_size, kl_coef=0), off_policy=correction)


def grpo_mis(*, group_size: int = 8, high: float = 3.0) -> Algorithm:
    """GRPO that drops sequences which the trainer's policy would have sampled far more often.

    Source: arXiv:2510.26788.
    """
    correction = OffPolicy(level="seq", mode="mask", high=high)
    return replace(grpo(group_size=group_size, kl_coef=0), off_policy=correction)


def icepop(*, group_size: int = 8, low: float = 0.5, high: float = 5.0) -> Algorithm:
    """GRPO that drops tokens on which engine and trainer disagree in either direction.

    Source: arXiv:2510.18855.
    """
    correction = OffPolicy(level="token", mode="mask", low=low, high=high)
    return replace(grpo(group_size=group_size, kl_coef=0), off_policy=correction)


def importance_sampling(*, group_size: int = 8) -> Algorithm:
    """RLOO weighted by the ratio to the sampler, summed over tokens without any mean.

    The step grows with the number of tokens: set the learning rate for the batch size.
    Source: the Tinker cookbook.
    """
    return replace(
        rloo(group_size=group_size),
        rule=ImportanceSampling(),
        aggregation=Aggregation("batch", "none"),
    )


def w_reinforce(*, positive: float = 0.1, negative: float = 1.0, clip: float = 0.2) -> Algorithm:
    """Learn mostly from failures: (1, 0) is positive-sample, (0, 1) negative-sample reinforcement.

    Source: arXiv:2506.01347.
    """
    return Algorithm(
        credit=Correctness(positive=positive, negative=negative),
        rule=Ppo(clip_low=clip, clip_high=clip),
        aggregation=_TOKEN_MEAN,
    )


ALGORITHMS: Mapping[str, Callable[..., Algorithm]] = MappingProxyType(
    {
        preset.__name__: preset
        for preset in (
            reinforce,
            reinforce_rebn,
            reinforce_rebn_prox,
            ppo,
            grpo,
            dr_grpo,
            rloo,
            loop,
            reinforce_pp_baseline,
            gspo,
            gmpo,
            cispo,
            grpo_tis,
            grpo_mis,
            icepop,
            importance_sampling,
            w_reinforce,
        )
    }
)
"""Every preset by name."""


def make_algorithm(name: str, **settings: Any) -> Algorithm:
    """Build a preset by name, as a configuration file or a command line does.

    Args:
        name: a key of `ALGORITHMS`.
        settings: keywords of that preset.

    Returns:
        The algorithm.

    Raises:
        ConfigError: if the name or a setting is unknown, or a value is out of its domain.

    Example:
        >>> make_algorithm("grpo", group_size=4).group_size
        4
    """
    if name not in ALGORITHMS:
        nearest = difflib.get_close_matches(name, ALGORITHMS, n=1, cutoff=0.0)[0]
        raise ConfigError(
            problem=f"No algorithm is called {name!r}.",
            expected=f"one of {', '.join(ALGORITHMS)}",
            got=name,
            fix=f"did you mean {nearest!r}?",
        )
    accepted = inspect.signature(ALGORITHMS[name]).parameters
    if unknown := settings.keys() - accepted.keys():
        raise ConfigError(
            problem=f"The algorithm {name!r} does not take {', '.join(sorted(unknown))}.",
            expected=f"settings among {', '.join(accepted)}",
            got=settings,
            fix="remove it, or change the part itself with dataclasses.replace",
        )
    return ALGORITHMS[name](**settings)
