"""Optional dependencies, checked before a command needs them."""

import importlib.util

from gemenv.errors import MissingExtraError


def require_extra(extra: str, *modules: str) -> None:
    """Check that the modules of an extra are installed, without importing them.

    Raises:
        MissingExtraError: if one is not; the message says what to install.
    """
    for module in modules:
        if importlib.util.find_spec(module) is None:
            raise MissingExtraError(
                problem=f"This command needs {module}, which is not installed.",
                expected=f"the extra {extra!r}",
                got=f"no module {module}",
                fix=f'pip install "gemenv[{extra}]"',
            )
