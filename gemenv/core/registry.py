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
    if not isinstance(id, str):  # pyright: ignore[reportUnnecessaryIsInstance]
        _raise_unknown(str(id))
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

    Raises:
        UnknownEnvError: if no environment of that family is registered.
    """
    if family is None:
        plugins.load_all()
    else:
        plugins.load_family(family)
    found = sorted((s for s in _specs.values() if family in (None, s.id.family)), key=_order)
    if family is not None and not found:
        families = sorted(
            {s.id.family for s in _specs.values()} | {*plugins.entry_points_by_family()}
        )
        raise UnknownEnvError(
            problem=f"There is no family of environments {family!r}.",
            expected=f"one of {', '.join(families)}",
            got=family,
            fix="install the package that provides it, or use one of these",
        )
    return found


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
    if base.variant:
        raise RegistrationError(
            problem="Variants are registered together, by name.",
            expected="an id of the form 'family:Name-vN'",
            got=id,
            fix=f"register {base._replace(variant='')} with variants={{{base.variant!r}: {{...}}}}",
        )
    default = next(iter(known)) if default_variant is None else default_variant
    if default not in known:
        raise RegistrationError(
            problem=f"{id} has no variant {default!r}.",
            expected=f"one of {', '.join(map(repr, known))} as the default",
            got=default,
            fix="name one of its variants, or leave default_variant out for the first",
        )
    specs = [
        EnvSpec(
            id=EnvId.parse(str(base._replace(variant=variant))),
            entry_point=entry_point,
            kwargs={**(kwargs or {}), **own},
            summary=summary,
            is_default=variant == default,
        )
        for variant, own in known.items()
    ]
    for new in specs:
        _check_free(new)
    for new in specs:
        _add(new)


def make_for_gymnasium(env_id: str, **kwargs: Any) -> Env:
    """Make an environment for `gymnasium.make`, which keeps the keyword `id` to itself."""
    try:
        return make(env_id, **kwargs)
    except TypeError as error:  # Gymnasium raises it anew as `type(error)(text)`
        raise gymnasium.error.Error(str(error)) from error


def _check_free(new: EnvSpec) -> None:
    holder = next(
        (s for a in _aliases(new) if (s := _by_alias.get(a)) and s.id[:2] != new.id[:2]), None
    )
    holder = _specs.get(new.id, holder)
    if holder is not None:
        raise RegistrationError(
            problem=f"{new.id}, or a short form of it, is registered already: {holder.id}.",
            expected="an id that is not taken",
            got=str(new.id),
            fix="choose another name, or raise the version",
        )


def _add(new: EnvSpec) -> None:
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
    """Return every spelling of a spec; without a version the newest that has the variant."""
    kin = [s for s in _specs.values() if s.id[:2] == new.id[:2]]
    full = str(new.id._replace(variant=""))
    bare = full.rpartition("-v")[0]
    aliases: list[str] = []
    if new.id.variant:
        tail = f"-{new.id.variant}"
        is_newest = all(
            s.id.version <= new.id.version for s in kin if s.id.variant == new.id.variant
        )
        aliases += [full + tail] + [bare + tail] * is_newest
    if new.is_default:
        is_newest = all(s.id.version <= new.id.version for s in kin if s.is_default)
        aliases += [full] + [bare] * is_newest
    return aliases


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
