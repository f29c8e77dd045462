"""The program `gemenv`: finds the command, runs it, and turns errors into an exit status.

Exit status: 0 if all went well; 1 if the work itself failed (a check, a training run, or gemenv,
then with a traceback); 2 for bad input; 130 after Ctrl-C.
"""

import difflib
import importlib
import os
import sys
from collections.abc import Callable, Sequence

from gemenv.cli.extra import require_extra
from gemenv.errors import ArgumentError, ConformanceError, GemenvError, TrainingError

COMMANDS = {
    "list": "every registered environment",
    "info": "one environment: keywords, actions, score scale",
    "play": "play an environment, or watch a policy play it",
    "check": "run the conformance suite on environments",
    "eval": "evaluate a policy on an environment",
    "train": "train a language model from a configuration",
}
"""Each command is a module of this package with a function `run(argv) -> int`."""

_WORK_FAILED = (ConformanceError, TrainingError)
_HELP = ("-h", "--help")


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command.

    Args:
        argv: the words after `gemenv`; by default those of the process.

    Returns:
        The exit status.
    """
    words = list(sys.argv[1:] if argv is None else argv)
    try:
        status = _run(words)
        sys.stdout.flush()  # here, where a reader that went away is expected
        return status
    except GemenvError as error:
        print(error, file=sys.stderr)
        return 1 if isinstance(error, _WORK_FAILED) else 2
    except KeyboardInterrupt:
        print("Interrupted.", file=sys.stderr)
        return 130
    except BrokenPipeError:  # `gemenv list | head`: nobody reads on
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1


def _run(words: Sequence[str]) -> int:
    if not words or words[0] in _HELP:
        print(_usage())
        return 0
    if words[0] == "--version":
        from gemenv import __version__  # here, so that help needs nothing

        print(__version__)
        return 0
    return _command(words[0])(words[1:])


def _command(name: str) -> Callable[[Sequence[str]], int]:
    if name not in COMMANDS:
        near = difflib.get_close_matches(name, COMMANDS, n=1)
        raise ArgumentError(
            problem=f"There is no command {name!r}.",
            expected=f"one of {', '.join(COMMANDS)}",
            got=name,
            fix=f"did you mean `gemenv {near[0]}`?" if near else "see `gemenv --help`",
        )
    require_extra("cli", "rich", "tyro")
    if name == "train":
        require_extra("train", "tokenizers", "torch", "transformers")
    return importlib.import_module(f"gemenv.cli.{name}").run


def _usage() -> str:
    rows = "\n".join(f"  {name:<6} {summary}" for name, summary in COMMANDS.items())
    return f"""\
usage: gemenv COMMAND ...

{rows}

`gemenv COMMAND --help` tells more, with examples; `gemenv --version` the version."""


if __name__ == "__main__":
    sys.exit(main())
