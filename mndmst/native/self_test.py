"""Self-test kernel: its result shows whether compiled code can be called at all."""

from typing import NamedTuple

import numpy as np

from .arguments import pack


class Pair(NamedTuple):
    """A tuple of two columns: kernels take arrays in tuples."""

    one: np.ndarray
    two: np.ndarray


def self_test(pair, scale, number, nothing):
    """Use every kind of argument and result: new and given arrays, tuples, numbers."""
    made = np.empty(len(pair.one), np.uint32)
    for i in range(len(made)):
        made[i] = pair.one[i] + pair.two[i] + number
    total = int(made.sum())
    return total + int(scale * 4), nothing is None and total > number


TYPES = "mndmst.native.self_test.Pair(u4[],i8[:]),f8,i8,none"
ARGUMENTS = Pair(np.arange(4, dtype=np.uint32), np.arange(8)[::2]), 0.5, 3, None
WORDS: list = []
pack(ARGUMENTS, WORDS)
EXPECTED = (32, True)
