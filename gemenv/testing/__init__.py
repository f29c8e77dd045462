"""The conformance suite, for our environments and yours."""

from gemenv.testing.env import CHECKS, CheckResult, Report, check_env

__all__ = ["CHECKS", "CheckResult", "Report", "check_env"]
