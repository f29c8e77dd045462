"""Wrappers: the same episode, seen, limited or recorded another way."""

from gemenv.wrappers.history import History
from gemenv.wrappers.record import Record
from gemenv.wrappers.turn_limit import TurnLimit
from gemenv.wrappers.wrapper import Wrapper

__all__ = ["History", "Record", "TurnLimit", "Wrapper"]
