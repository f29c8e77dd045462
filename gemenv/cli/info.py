"""Show one environment: keywords, actions, score scale, first observation.

Examples:
    gemenv info game:GuessTheNumber
    gemenv info game:GuessTheNumber-v0-hard
"""

import json
from collections.abc import Sequence
from dataclasses import dataclass

import tyro
from rich.console import Console
from rich.table import Table

from gemenv.bench.description import describe
from gemenv.bench.reference import ScoreScale
from gemenv.cli.arguments import parse
from gemenv.core.action import ActionSet
from gemenv.core.registry import spec


@dataclass(frozen=True)
class Options:
    """What to show."""

    id: tyro.conf.Positional[str]
    """`family:Name[-vN][-variant]`."""


def run(argv: Sequence[str]) -> int:
    """Print the description."""
    options = parse(Options, argv, command="gemenv info", about=__doc__)
    about = describe(spec(options.id))
    print(f"{about.env_id}\n{about.summary}")
    _print_section("Keywords", *(f"{name} = {value!r}" for name, value in about.keywords.items()))
    _print_section("Turn limit at seed 0", f"{about.turn_limit:g}")
    _print_actions(about.actions)
    _print_scale(about.scale)
    _print_section("First observation at seed 0", *about.first_observation.splitlines())
    return 0


def _print_section(title: str, *lines: str) -> None:
    print(f"\n{title}")
    for line in lines:
        print(f"  {line}".rstrip())


def _print_actions(actions: ActionSet) -> None:
    for form, tool in zip(actions.forms, actions.tools(), strict=True):
        _print_section(f"Action {form.name}: {form.description}", form.usage)
        _print_section("  regular expression", f"  {form.pattern}")
        schema = json.dumps(tool["function"]["parameters"], indent=2)
        _print_section("  tool schema", *(f"  {line}" for line in schema.splitlines()))


def _print_scale(scale: ScoreScale | None) -> None:
    if scale is None:
        _print_section("Score scale", "not measured")
        return
    table = Table("policy", title="\nScore scale", title_justify="left", title_style="none")
    for column in ("mean return", "success", "turns", "episodes"):
        table.add_column(column, justify="right")
    for name, row in scale.references.items():
        numbers = (f"{row.mean_return:.3f}", f"{row.success_rate:.1%}", f"{row.mean_turns:.1f}")
        table.add_row(name, *numbers, str(row.num_episodes))
    Console().print(table)
