"""The command line: `gemenv COMMAND`, one file a command."""
