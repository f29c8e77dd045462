"""`python -m gemenv` is the command `gemenv`."""

import sys

from gemenv.cli.app import main

if __name__ == "__main__":
    sys.exit(main())
