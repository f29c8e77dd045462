"""List the registered environments.

Examples:
    gemenv list
    gemenv list game
"""

from collections.abc import Sequence
from dataclasses import dataclass

import tyro

from gemenv.cli.arguments import parse
from gemenv.core.registry import list_envs


@dataclass(frozen=True)
class Options:
    """What to list."""

    family: tyro.conf.Positional[str | None] = None
    """Only this family."""


def run(argv: Sequence[str]) -> int:
    """Print one environment a line: its id and its summary."""
    options = parse(Options, argv, command="gemenv list", about=__doc__)
    specs = list_envs(options.family)
    width = max((len(str(spec.id)) for spec in specs), default=0)
    for spec in specs:
        print(f"{spec.id!s:<{width}}  {spec.summary}".rstrip())
    return 0
