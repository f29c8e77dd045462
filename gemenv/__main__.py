"""`python -m gemenv` is the command `gemenv`."""

from gemenv.cli.app import main

if __name__ == "__main__":
    main()
