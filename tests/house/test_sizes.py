"""Files and functions stay small, and no room is a lumber room."""

import ast
from pathlib import Path

import numpy as np
import pytest

_ROOT = Path(__file__).parents[2]
_FILES = sorted((_ROOT / "gemenv").rglob("*.py"))
_LUMBER = {"utils", "util", "helpers", "helper", "common", "misc", "stuff", "tools_misc"}


def _function_lengths(path: Path) -> list[int]:
    """Return the number of code lines of each function, its docstring left out."""
    lengths: list[int] = []
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            body = node.body[1:] if ast.get_docstring(node) else node.body
            if body:
                lengths.append((body[-1].end_lineno or 0) - body[0].lineno + 2)
    return lengths


def test_the_walls_stand() -> None:
    assert len(_FILES) > 30


def test_files_are_small() -> None:
    lines = [len(path.read_text().splitlines()) for path in _FILES]
    assert np.percentile(lines, 90) <= 300
    assert max(lines) <= 500


def test_functions_are_small() -> None:
    lengths = [length for path in _FILES for length in _function_lengths(path)]
    assert np.percentile(lengths, 90) <= 35
    assert max(lengths) <= 60


@pytest.mark.parametrize("path", _FILES, ids=lambda path: path.relative_to(_ROOT).as_posix())
def test_no_lumber_rooms(path: Path) -> None:
    assert not _LUMBER & {path.stem, *path.relative_to(_ROOT).parts}
