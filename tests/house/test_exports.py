"""What is public: sorted, documented, importable."""

import importlib
import inspect
import pkgutil

import pytest

import gemenv

_MODULES = sorted(m.name for m in pkgutil.walk_packages(gemenv.__path__, "gemenv."))


def test_all_is_sorted_and_importable() -> None:
    assert list(gemenv.__all__) == sorted(gemenv.__all__)
    assert all(hasattr(gemenv, name) for name in gemenv.__all__)


@pytest.mark.parametrize("name", gemenv.__all__)
def test_everything_exported_has_a_docstring(name: str) -> None:
    assert inspect.getdoc(getattr(gemenv, name))


@pytest.mark.parametrize("name", [m for m in _MODULES if "__main__" not in m])
def test_every_module_imports_and_says_what_it_is_for(name: str) -> None:
    assert importlib.import_module(name).__doc__
