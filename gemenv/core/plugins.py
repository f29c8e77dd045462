"""Families of environments, found through the entry-point group `gemenv.envs`.

A family is a module that registers its ids when it is imported. Bundled families and contributed
packs take the same road: in `pyproject.toml`,

    [project.entry-points."gemenv.envs"]
    mine = "my_package.catalogue"
"""

import functools
import importlib
import warnings
from importlib.metadata import EntryPoint, entry_points

from gemenv.errors import RegistrationError

GROUP = "gemenv.envs"
_BUNDLED = "gemenv.envs."


@functools.cache
def entry_points_by_family() -> dict[str, EntryPoint]:
    """Return the installed families by name, without loading any of them."""
    return {point.name: point for point in entry_points(group=GROUP)}


def load_bundled() -> None:
    """Import the catalogues of the bundled families: ids only, none of their code."""
    for point in entry_points_by_family().values():
        if point.module.startswith(_BUNDLED):
            importlib.import_module(point.module)


def load_family(family: str) -> bool:
    """Import a family's catalogue; tell whether such a family is installed.

    Raises:
        RegistrationError: if its module fails to import; the cause is chained.
    """
    point = entry_points_by_family().get(family)
    if point is None:
        return False
    try:
        importlib.import_module(point.module)
    except Exception as error:  # a contributed module can fail in any way: name it, and chain it
        raise RegistrationError(
            problem=f"The environment family {family!r} failed to load: {error}.",
            expected=f"an importable module {point.module!r}",
            got=type(error).__name__,
            fix=f"mend or uninstall the package that provides {family!r}",
        ) from error
    return True


def load_all() -> None:
    """Import every installed family; one that fails is named in a warning and left out."""
    for family in entry_points_by_family():
        try:
            load_family(family)
        except RegistrationError as error:
            warnings.warn(str(error), RuntimeWarning, stacklevel=3)
