"""The registry: from an id to an environment."""

import difflib
from collections.abc import Mapping
from typing import Any, NoReturn

import gymnasium

from gemenv.core import plugins
from gemenv.core.env import Env
from gemenv.core.env_id import EnvId
from gemenv.core.spec import EntryPoint, EnvSpec
from gemenv.errors import RegistrationError, UnknownEnvError

_specs: dict[EnvId, EnvSpec] = {}
_GYMNASIUM = "gemenv.core.registry:make_for_gymnasium"
_by_alias: dict[str, EnvSpec] = {}  # every spelling that names a spec, newest and default included


def make(id: str, **kwargs: Any) -> Env:  # noqa: A002  Gymnasium's name for it
    """Make an environment.

    Args:
        id: `family:Name[-vN][-variant]`; without a version the newest, without a variant the
            default.
        **kwargs: the environment's own keywords; they override those of the id.

    Returns:
        A new environment, independent of all others.

    Raises:
        UnknownEnvError: if no such id is registered; the message names the nearest.
        UnknownKeywordError: for a keyword that the environment does not take.
        ArgumentError: for a value that it does not accept.

    Example:
        >>> env = make("game:GuessTheNumber", high=20)
        >>> observation, info = env.reset(seed=0)
        >>> "between 1 and 20" in observation
        True
    """
    return spec(id).make(**kwargs)


def spec(id: str) -> EnvSpec:  # noqa: A002
    """Return what is registered under an id.

    Raises:
        UnknownEnvError: if there is no such id.
    """
    found = _by_alias.get(id)
    if found is None and plugins.load_family(id.partition(":")[0]):
        found = _by_alias.get(id)
    if found is None:
        _raise_unknown(id)
    return found


def list_envs(family: str | None = None) -> list[EnvSpec]:
    """Return every registered environment, sorted by id.

    Args:
        family: only this one.
    """
    if family is None:
        plugins.load_all()
    else:
        plugins.load_family(family)
    return sorted((s for s in _specs.values() if family in (None, s.id.family)), key=_order)


def register(
    id: str,  # noqa: A002
    entry_point: EntryPoint,
    *,
    kwargs: Mapping[str, Any] | None = None,
    variants: Mapping[str, Mapping[str, Any]] | None = None,
    default_variant: str | None = None,
    summary: str = "",
) -> None:
    """Register an environment, with its variants, here and in Gymnasium.

    Args:
        id: `family:Name-vN`.
        entry_point: `"package.module:Class"` (imported on first use), or the class itself.
        kwargs: keywords common to all variants.
        variants: the keywords of each variant; none for an environment without variants.
        default_variant: what the id means without a variant; by default the first.
        summary: one line for lists.

    Raises:
        RegistrationError: if the id is malformed or taken, or the default is none of the variants.

    For example, `register("mine:Echo-v0", "my_package.echo:Echo", summary="Say it again.")` makes
    `make("mine:Echo")` work, and `gymnasium.make("my_package:mine/Echo-v0")` too.
    """
    base = EnvId.parse(id)
    known = variants or {"": {}}
    default = next(iter(known)) if default_variant is None else default_variant
    if default not in known:
        raise RegistrationError(
            problem=f"{id} has no variant {default!r}.",
            expected=f"one of {', '.join(map(repr, known))} as the default",
            got=default,
            fix="name one of its variants, or leave default_variant out for the first",
        )
    for variant, own in known.items():
        _add(
            EnvSpec(
                id=base._replace(variant=variant),
                entry_point=entry_point,
                kwargs={**(kwargs or {}), **own},
                summary=summary,
                is_default=variant == default,
            )
        )


def make_for_gymnasium(env_id: str, **kwargs: Any) -> Env:
    """Make an environment for `gymnasium.make`, which keeps the keyword `id` to itself."""
    return make(env_id, **kwargs)


def _add(new: EnvSpec) -> None:
    if new.id in _specs:
        raise RegistrationError(
            problem=f"{new.id} is registered already.",
            expected="an id that is not taken",
            got=str(new.id),
            fix="choose another name, or raise the version",
        )
    _specs[new.id] = new
    for alias in _aliases(new):
        _by_alias[alias] = new
    spellings = {new.id.gymnasium_id}
    if new.is_default:
        spellings.add(new.id._replace(variant="").gymnasium_id)
    for spelling in sorted(spellings):
        gymnasium.register(  # pyright: ignore[reportUnknownMemberType]
            spelling, _GYMNASIUM, kwargs={"env_id": str(new.id)}
        )


def _aliases(new: EnvSpec) -> list[str]:
    family, name, version, variant = new.id
    newest = max(i.version for i in _specs if i[:2] == (family, name))
    stems = [f"{family}:{name}-v{version}"] + ([f"{family}:{name}"] if version == newest else [])
    tails = [f"-{variant}"] if variant else []
    return [stem + tail for stem in stems for tail in tails + ([""] if new.is_default else [])]


def _order(spec: EnvSpec) -> tuple[str, str, int, bool, str]:
    family, name, version, variant = spec.id
    return family, name, version, not spec.is_default, variant


def _raise_unknown(id: str) -> NoReturn:  # noqa: A002
    families = plugins.entry_points_by_family()
    family, colon, _ = id.partition(":")
    near = difflib.get_close_matches(id, _by_alias, n=1)
    if not near and not colon:  # the family was forgotten
        near = [alias for alias in _by_alias if alias.partition(":")[2] == id][:1]
    shown = family if family in families else ""
    hint = f"`gemenv list{' ' + shown if shown else ''}` shows all of them"
    raise UnknownEnvError(
        problem=f"No environment is registered as {id!r}.",
        expected="a registered id, 'family:Name[-vN][-variant]'",
        got=id,
        fix=f"did you mean {near[0]!r}? {hint}" if near else hint,
    )
