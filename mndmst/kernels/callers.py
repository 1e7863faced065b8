"""Threads that make calls of kernels which are put down, without the interpreter.

To have threads of Python call kernels each of them must get the interpreter's lock,
twice: with 16 threads that takes a millisecond or more, as long as many a kernel. Here
one thread puts the calls down and wakes the others, and all take call after call.
"""

import ctypes
import functools
import os
from collections.abc import Sequence
from threading import Lock, Thread
from typing import Any

import numpy as np

from ..native.call import Call
from ..native.kernel import kernel
from .intrinsics import (
    add_atomic,
    load_atomic,
    load_word,
    make_call,
    sleep_while,
    store_atomic,
    wake,
)

# Words of a cache line: nothing that threads write at once lies in one.
LINE = 8
# How often a thread looks for what it waits for before it sleeps: less than 1 us. To
# look 20 to 400 times as often gains nothing on 16 cores.
LOOKS = 1000
EVERYONE = (1 << 31) - 1

# What threads share: how many calls there are, in the upper half of a word, and how
# many have been taken; how many are done; where they are; how often there were some.
_TAKEN, _DONE, _PLACE, _ROUND = (LINE * line for line in range(4))
_NO_MORE = -1
_HALF = 32
_TAKEN_MASK = (1 << _HALF) - 1


class Callers:
    """As many threads, less the one that asks them.

    Parameters
    ----------
    count : int

    Raises
    ------
    RuntimeError
        If there is no room for the stack of a thread.
    """

    def __init__(self, count: int) -> None:
        self._words = np.zeros(4 * LINE, np.int64)
        self._one_by_one = Lock()
        try:
            for number in range(1, count):
                _start(f"mndmst-caller-{number}", self._words)
        except RuntimeError:
            _end(self._words)  # those that have started
            raise

    def make(self, calls: Sequence[Call]) -> list[Any]:
        """Make calls, at most as many at once as there are threads.

        If there are no more than threads they may wait for each other.

        Returns
        -------
        list
            Their results, in order. What the first of them raised is raised.
        """
        places = (ctypes.c_int64 * len(calls))(*[call.address for call in calls])
        with self._one_by_one:
            _share(self._words, ctypes.addressof(places), len(calls))
        return [call.result() for call in calls]


@functools.cache
def callers(count: int) -> Callers:
    """Return the threads that all of this process share."""
    return Callers(count)


# A child has the memory of its parent, but none of its threads.
os.register_at_fork(after_in_child=callers.cache_clear)


def _start(name: str, words: np.ndarray) -> None:
    """Start a thread; it ends with the process, and has nothing to put in order."""
    Thread(target=_serve, args=(words,), name=name, daemon=True).start()


@kernel
def _end(words):
    """Let all threads end that wait for calls."""
    store_atomic(words, _ROUND, _NO_MORE)
    wake(words, _ROUND, EVERYONE)


@kernel
def _share(words, place, count):
    """Have all threads make calls, this one too; return when all are made.

    `place` has the addresses of so many calls. A thread that comes late from calls
    before takes one of these, which is as well: what it needs is written before.
    """
    store_atomic(words, _DONE, 0)
    store_atomic(words, _PLACE, place)
    store_atomic(words, _TAKEN, count << _HALF)
    add_atomic(words, _ROUND, 1)
    wake(words, _ROUND, count - 1)
    _take(words)
    looks = 0
    done = load_atomic(words, _DONE)
    while done < count:
        if looks < LOOKS:
            looks += 1
        else:
            sleep_while(words, _DONE, done)
        done = load_atomic(words, _DONE)


@kernel
def _serve(words):
    """Make calls whenever there are some."""
    seen = 0
    while seen != _NO_MORE:
        looks = 0
        now = load_atomic(words, _ROUND)
        while now == seen:
            if looks < LOOKS:
                looks += 1
            else:
                sleep_while(words, _ROUND, seen)
            now = load_atomic(words, _ROUND)
        seen = now
        _take(words)


@kernel
def _take(words):
    """Make calls till none is left that nobody has taken."""
    while True:
        taken = add_atomic(words, _TAKEN, 1)
        number, count = taken & _TAKEN_MASK, taken >> _HALF
        if number >= count:
            return
        make_call(load_word(load_atomic(words, _PLACE) + 8 * number))
        if add_atomic(words, _DONE, 1) == count - 1:
            wake(words, _DONE, EVERYONE)
