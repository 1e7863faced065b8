"""A kernel whose result shows that code can be called from here at all."""

from typing import NamedTuple

import numpy as np

from .arguments import pack


class Pair(NamedTuple):
    """Two columns, to try what a tuple of arrays becomes."""

    one: np.ndarray
    two: np.ndarray


def proof(pair, scale, number, nothing):
    """Use what kernels do: arrays made and given, tuples, numbers and None."""
    made = np.empty(len(pair.one), np.uint32)
    for i in range(len(made)):
        made[i] = pair.one[i] + pair.two[i] + number
    total = int(made.sum())
    return total + int(scale * 4), nothing is None and total > number


NAME = "mndmst.native.self_test"
TYPES = "mndmst.native.self_test.Pair(u4[],i8[:]),f8,i8,none"
_ARGUMENTS = Pair(np.arange(4, dtype=np.uint32), np.arange(8)[::2]), 0.5, 3, None
_WORDS: list = []
pack(_ARGUMENTS, _WORDS)
GIVEN = _WORDS, _ARGUMENTS
EXPECTED = (32, True)
