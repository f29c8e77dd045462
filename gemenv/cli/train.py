"""Train a language model from a configuration.

CONFIG comes first: a TOML file, or a Python file with a function config() that returns a
TrainConfig. Every setting is a flag, which overrides the file. A run is a folder, --run.dir; one
that exists is refused, unless --resume says to go on with it.

Examples:
    gemenv train examples/guess_the_number.py
    gemenv train examples/guess_the_number.py --resume
    gemenv train run.toml --rl.iterations 10 --rl.settings gamma=0.9 --run.dir runs/short
    gemenv train run.toml --help
"""

import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import tyro
from rich import progress as bars
from rich.console import Console
from rich.table import Column, Table
from transformers.utils.logging import disable_progress_bar

from gemenv.cli.arguments import parse
from gemenv.errors import ArgumentError
from gemenv.train.checkpoint import Phase
from gemenv.train.config import TrainConfig
from gemenv.train.config_file import load_config
from gemenv.train.loop import Progress, TrainResult, train

_TITLES: dict[Phase, str] = {"sft": "warm start", "rl": "reinforcement"}
_EVALUATED = "eval/success"
_SHOWN = {"loss": "loss", "rollout/success": "success", _EVALUATED: "held out"}


@dataclass(frozen=True)
class Options:
    """What to train."""

    config: tyro.conf.Positional[Path]
    """A .toml or .py file."""
    settings: Annotated[TrainConfig, tyro.conf.arg(name="")]
    """The settings that the file gives."""
    resume: bool = False
    """Go on with the run in --run.dir if there is one; begin it otherwise."""


def run(argv: Sequence[str]) -> int:
    """Train, with progress, and print a table of what was reached."""
    options = _options(argv)
    disable_progress_bar()  # of loading and saving: it would write into ours
    display = _Display(Console(stderr=True))
    with display.bars:
        result = train(options.settings, resume=options.resume, on_progress=display.show)
    _print(result)
    return 0


def _options(argv: Sequence[str]) -> Options:
    """Read the configuration first: it gives the flags their defaults."""
    settings, path = TrainConfig(), tyro.MISSING_NONPROP
    if argv and not argv[0].startswith("-"):
        path = Path(argv[0])
        settings = load_config(path)
    elif argv and argv[0] not in ("-h", "--help"):
        raise ArgumentError(
            problem="The configuration must come first.",
            expected="gemenv train CONFIG [--flags ...]",
            got=" ".join(argv),
            fix="put the .toml or .py file before the flags",
        )
    default = Options(config=path, settings=settings)
    return parse(Options, argv, command="gemenv train", about=__doc__, default=default)


class _Display:
    """Progress bars in a terminal; elsewhere a line whenever the model was evaluated."""

    def __init__(self, console: Console) -> None:
        self.console = console
        self.bars = bars.Progress(
            bars.TextColumn("{task.description:<13}", table_column=Column(no_wrap=True)),
            bars.BarColumn(bar_width=12),
            bars.MofNCompleteColumn(),
            bars.TimeRemainingColumn(),
            bars.TextColumn("{task.fields[latest]}", table_column=Column(no_wrap=True)),
            console=console,
            disable=not console.is_terminal,
        )
        self.tasks: dict[Phase, bars.TaskID] = {}
        self.latest: dict[str, float] = {}

    def show(self, progress: Progress) -> None:
        """Show that a step was done."""
        title = _TITLES[progress.phase]
        self.latest |= {
            name: progress.metrics[key] for key, name in _SHOWN.items() if key in progress.metrics
        }
        latest = "  ".join(f"{name} {value:.2f}" for name, value in self.latest.items())
        if progress.phase not in self.tasks:
            task = self.bars.add_task(title, total=progress.total, latest="")
            self.tasks[progress.phase] = task
        self.bars.update(self.tasks[progress.phase], completed=progress.step, latest=latest)
        if not self.console.is_terminal and _EVALUATED in progress.metrics:
            print(f"{title}: {progress.step} of {progress.total}: {latest}", file=sys.stderr)


def _print(result: TrainResult) -> None:
    table = Table("policy")
    for title in ("success", "mean return", "turns", "episodes", "errors"):
        table.add_column(title, justify="right")
    for row in (result.before, result.after, *result.references):
        means = (f"{row.success:.1%}", f"{row.mean_return:.3f}", f"{row.turns:.2f}")
        table.add_row(row.policy, *means, str(row.episodes), str(row.errors))
    Console().print(table)
    print(f"Model, metrics and report are in {result.path}: open {result.path / 'report.html'}")
