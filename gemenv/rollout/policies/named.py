"""Policies by name, for configurations and the command line."""

from collections.abc import Callable

from gemenv.errors import ArgumentError
from gemenv.rollout.policies.human_policy import HumanPolicy
from gemenv.rollout.policies.text_policy import (
    ConstantPolicy,
    ExpertPolicy,
    MixturePolicy,
    OraclePolicy,
    RandomPolicy,
)
from gemenv.rollout.policy import Policy

_BY_NAME: dict[str, Callable[[], Policy]] = {
    "random": RandomPolicy,
    "constant": ConstantPolicy,
    "oracle": OraclePolicy,
    "expert": ExpertPolicy,
    "human": HumanPolicy,
}


def named_policy(name: str) -> Policy:
    """Return the policy of a name.

    Args:
        name: `random`, `constant`, `oracle`, `expert`, `human`, or a mixture of them such as
            `mixture:random=0.7,expert=0.3`.

    Raises:
        ArgumentError: if there is no such policy.

    Example:
        >>> named_policy("mixture:random=0.7,expert=0.3").name
        'mixture:random=0.7,expert=0.3'
    """
    if name in _BY_NAME:
        return _BY_NAME[name]()
    kind, _, parts = name.partition(":")
    if kind == "mixture":
        return MixturePolicy(dict(_weighted(part, name) for part in parts.split(",")))
    raise _unknown(name)


def _weighted(part: str, name: str) -> tuple[Policy, float]:
    member, _, weight = part.partition("=")
    try:
        return _BY_NAME[member](), float(weight)
    except (KeyError, ValueError):
        raise _unknown(name) from None


def _unknown(name: str) -> ArgumentError:
    return ArgumentError(
        problem=f"There is no policy {name!r}.",
        expected=f"{', '.join(_BY_NAME)}, or e.g. 'mixture:random=0.7,expert=0.3'",
        got=name,
        fix="use one of these names",
    )
