"""Progress of a read, recorded by kernels for a thread that consumes the arcs."""

from threading import Lock

import numpy as np

from ..host.errors import InputError
from ..native.kernel import kernel
from .intrinsics import add_atomic, load_atomic, sleep_while, store_atomic, wake
from .nogil_pool import EVERYONE, LINE

# The words: the number of changes, the number of sleeping threads, whether reading has
# failed, and for every `STEP` arcs the number of arcs read.
_CHANGES, _ASLEEP, _FAILED, _READ = (LINE * line for line in range(4))
STEP = 1 << 16


class ArcsRead:
    """Records the arcs that have been read, in any order; a thread can wait for them.

    `words` is the argument of `note_arcs`.
    """

    def __init__(self, arcs: int) -> None:
        self.words, self._arcs = np.zeros(_READ + arcs // STEP + 1, np.int64), arcs
        self._lock, self._awaited = Lock(), False  # whether a thread has begun to wait

    def note(self, low: int, high: int) -> None:
        """Record that the arcs [low, high) have been read."""
        note_arcs(self.words, low, high)

    def note_few(self) -> None:
        """Record that all arcs, at most `STEP`, have been read.

        It calls no kernel unless a thread waits.
        """
        with self._lock:
            if not self._awaited:
                self.words[_READ] = self._arcs
                return
        self.note(0, self._arcs)

    def fail(self) -> None:
        """Record that reading has failed."""
        _fail(self.words)

    def wait(self, arc: int) -> None:
        """Wait until all arcs before `arc` have been read; see `ReadProgress.wait`."""
        with self._lock:
            self._awaited = True
        if not _wait(self.words, self._arcs, arc):
            raise InputError("the arcs before have not been read")


@kernel
def note_arcs(words, low, high):
    """Record that the arcs [low, high) have been read."""
    while low < high:
        step = low // STEP
        end = min(high, (step + 1) * STEP)
        add_atomic(words, _READ + step, end - low)
        low = end
    _notify(words)


@kernel
def _fail(words):
    store_atomic(words, _FAILED, 1)
    _notify(words)


@kernel
def _notify(words):
    add_atomic(words, _CHANGES, 1)
    if load_atomic(words, _ASLEEP):
        wake(words, _CHANGES, EVERYONE)


@kernel
def _wait(words, arcs, stop):
    """Wait for the arcs before `stop`; return False if reading has failed."""
    done, coming, stop = 0, True, min(stop, arcs)
    add_atomic(words, _ASLEEP, 1)
    while coming and done < stop:
        changes = load_atomic(words, _CHANGES)
        end = min(done + STEP, arcs)
        if load_atomic(words, _READ + done // STEP) >= end - done:
            done = end
        elif load_atomic(words, _FAILED):
            coming = False
        else:
            sleep_while(words, _CHANGES, changes)
    coming &= load_atomic(words, _FAILED) == 0
    add_atomic(words, _ASLEEP, -1)
    return coming
