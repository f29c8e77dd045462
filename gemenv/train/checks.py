"""The two checks that every file of this room makes: a setting's domain, and shapes that agree."""

from typing import Any, Protocol

from gemenv.errors import ConfigError, ContractError


class Shaped(Protocol):
    """A numpy array or a torch tensor: whatever has a shape."""

    @property
    def shape(self) -> tuple[int, ...]:
        """The length of each axis."""
        ...


def require_setting(is_valid: bool, name: str, domain: str, got: object) -> None:
    """Refuse a setting outside its domain, at construction rather than in the tenth iteration.

    Args:
        is_valid: the condition, already evaluated (a NaN compares false, so it is refused too).
        name: the setting as its user writes it.
        domain: what it may be, in words.
        got: the value that came.

    Raises:
        ConfigError: if `is_valid` is false.

    Example:
        >>> require_setting(0.0 <= 0.9 <= 1.0, "gamma", "a number from 0 to 1", 0.9)
    """
    if not is_valid:
        raise ConfigError(
            problem=f"The setting {name!r} is outside its domain.",
            expected=f"{name}: {domain}",
            got=got,
            fix=f"set {name} to {domain}",
        )


def require_same_shape(**named: Shaped | None) -> None:
    """Refuse arrays whose shapes differ; those that are None are left out.

    Args:
        named: the arrays by name; the first one sets the shape.

    Raises:
        ContractError: naming the first array that differs.

    Example:
        >>> import numpy as np
        >>> require_same_shape(reward_N=np.zeros(3), value_N=np.zeros(3), bonus_N=None)
    """
    shapes: dict[str, Any] = {k: tuple(v.shape) for k, v in named.items() if v is not None}
    first, *others = shapes
    for other in others:
        if shapes[other] != shapes[first]:
            raise ContractError(
                problem=f"The shape of {other} differs from that of {first}.",
                expected=f"{other} of shape {shapes[first]}, like {first}",
                got=shapes[other],
                fix=f"build {other} from the same rows as {first}",
            )
