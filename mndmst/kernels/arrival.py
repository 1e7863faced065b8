"""How far arcs have been read, as kernels note it for a thread that follows."""

import numpy as np

from ..host.errors import InputError
from ..native.kernel import kernel
from .callers import EVERYONE, LINE
from .intrinsics import add_atomic, load_atomic, sleep_while, store_atomic, wake

# The words: how often something was noted, how many threads sleep, whether no more
# will come, and how many of every `STEP` arcs are there.
_CHANGES, _ASLEEP, _FAILED, _THERE = (LINE * line for line in range(4))
STEP = 1 << 16


class ArcsRead:
    """Notes which arcs are there, in any order, and lets a thread wait for them.

    Parameters
    ----------
    arcs : int
        How many will come.

    Attributes
    ----------
    words : ndarray of int64
        What `note_arcs` takes.
    """

    def __init__(self, arcs: int) -> None:
        self.words, self._arcs = np.zeros(_THERE + arcs // STEP + 1, np.int64), arcs

    def note(self, low: int, high: int) -> None:
        """Note that the arcs [low, high) are there."""
        note_arcs(self.words, low, high)

    def fail(self) -> None:
        """Note that no more will come."""
        _fail(self.words)

    def wait(self, arc: int) -> None:
        """Wait until all arcs before one are there; see `graph.arrival.Arrival`."""
        if not _wait(self.words, self._arcs, arc):
            raise InputError("the arcs before have not been read")


@kernel
def note_arcs(words, low, high):
    """Note that the arcs [low, high) are there."""
    while low < high:
        step = low // STEP
        end = min(high, (step + 1) * STEP)
        add_atomic(words, _THERE + step, end - low)
        low = end
    _tell(words)


@kernel
def _fail(words):
    store_atomic(words, _FAILED, 1)
    _tell(words)


@kernel
def _tell(words):
    add_atomic(words, _CHANGES, 1)
    if load_atomic(words, _ASLEEP):
        wake(words, _CHANGES, EVERYONE)


@kernel
def _wait(words, arcs, stop):
    """Return whether the steps of all arcs before one have come, and more will."""
    done, coming, stop = 0, True, min(stop, arcs)
    add_atomic(words, _ASLEEP, 1)
    while coming and done < stop:
        changes = load_atomic(words, _CHANGES)
        end = min(done + STEP, arcs)
        if load_atomic(words, _THERE + done // STEP) >= end - done:
            done = end
        elif load_atomic(words, _FAILED):
            coming = False
        else:
            sleep_while(words, _CHANGES, changes)
    coming &= load_atomic(words, _FAILED) == 0
    add_atomic(words, _ASLEEP, -1)
    return coming
