"""Randomness: every generator comes from a seed, a stream and an index, and from nothing else."""

import operator
from enum import IntEnum
from typing import SupportsIndex

from numpy.random import PCG64, Generator, SeedSequence

from gemenv.errors import ArgumentError


class Stream(IntEnum):
    """What a generator is for; streams of one seed are independent of each other."""

    EPISODE = 0
    POLICY = 1
    SAMPLING = 2
    TASKS = 3
    TRAINING = 4
    CHECK = 5


def make_generator(seed: int, stream: Stream, index: int = 0) -> Generator:
    """Make the generator of one stream.

    Args:
        seed: any integer of 0 or more.
        stream: what the numbers are for.
        index: position within the stream (an episode, a task, a step); 0 or more.

    Returns:
        A generator of its own: nobody else draws from it.

    Example:
        >>> draws = [make_generator(7, Stream.EPISODE, i).integers(1000) for i in (0, 1, 0)]
        >>> bool(draws[0] == draws[2] != draws[1])
        True

    Source: NumPy's SeedSequence; neighbouring seeds share nothing, unlike `seed + i`.
    """
    return Generator(PCG64(SeedSequence(seed, spawn_key=(int(stream), index))))


def fresh_seed() -> int:
    """Draw a seed from the operating system: 0 to 2**63 - 1, so that it survives JSON and C."""
    return int(SeedSequence().generate_state(1, "uint64")[0] >> 1)


def checked_seed(seed: SupportsIndex) -> int:
    """Return the seed as a plain int (NumPy integers and large seeds are fine).

    Raises:
        ArgumentError: if it is not an integer, or is negative.
    """
    try:
        value = operator.index(seed)
    except TypeError:
        value = -1
    if value < 0 or isinstance(seed, bool):
        raise ArgumentError(
            problem="A seed must be a whole number of 0 or more.",
            expected="an int >= 0, or None for a fresh one",
            got=seed,
            fix="pass e.g. seed=0; to vary it, count upwards",
        )
    return value
