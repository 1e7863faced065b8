"""Counters that kernels hand to each other on the device."""

from enum import IntEnum, auto

import numpy as np

NONE = np.uint64((1 << 64) - 1)  # NONE of common.cuh


class StateField(IntEnum):
    """Fields of `State` in common.cuh, in its order."""

    FOUND = 0
    CAPACITY = auto()
    CHOSEN = auto()
    SIZE = auto()
    LEVEL1 = auto()
    TOP = auto()
    NEXT = auto()
    LIVE = auto()
    LIVE_OTHER = auto()
    GIANT = auto()
    AGAIN = auto()
    AGAIN_1 = auto()
    AGAIN_2 = auto()
    ARRIVED = auto()
    CUT_KEY = auto()
    CUT_END = auto()
    LEAST_KEY = auto()
    GREATEST_KEY = auto()
    DEGREES = auto()
    OUTSIDE = auto()
