"""Worker threads that run queued kernel calls without holding the GIL.

A thread of Python needs the GIL twice for every kernel it calls: with 16 threads that
takes a millisecond or more, longer than many kernels. Here one thread queues the calls
and wakes the workers, and all threads take call after call.
"""

import ctypes
import functools
import os
from collections.abc import Hashable, Sequence
from threading import Lock, Thread
from typing import Any

import numpy as np

from ..native.arguments import pack
from ..native.compiled_kernel import CompiledKernel, QueuedCall
from ..native.kernel import Kernel, kernel
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
# Iterations that a waiting thread spins before it sleeps: less than 1 us. To spin 20 to
# 400 times as long gains nothing on 16 cores.
SPIN_COUNT = 1000
EVERYONE = (1 << 31) - 1

# Words that the threads share, each on a line of its own: the number of calls, in the
# upper half, and of calls taken; the number of calls done; the address of the calls'
# addresses; the number of queues so far.
_TAKEN, _DONE, _PLACE, _ROUND = (LINE * line for line in range(4))
_NO_MORE = -1
_HALF = 32
_TAKEN_MASK = (1 << _HALF) - 1


class NogilPool:
    """Worker threads; the thread that submits calls works, too.

    Parameters
    ----------
    count : int
        Threads, the submitting one included.

    Raises
    ------
    RuntimeError
        If there is no memory for the stack of a thread.
    """

    def __init__(self, count: int) -> None:
        self._words = np.zeros(4 * LINE, np.int64)
        self._one_by_one = Lock()
        try:
            for number in range(1, count):
                _start(f"mndmst-worker-{number}", self._words)
        except RuntimeError:
            _end(self._words)  # the threads that have started
            raise

    def submit(self, calls: Sequence[QueuedCall]) -> list[Any]:
        """Make calls, and return their results in order.

        As many calls run at once as there are threads: if there are no more calls than
        threads, calls may wait for each other. The exception of the first failed call
        is raised after all calls have been made.
        """
        places = (ctypes.c_int64 * len(calls))(*[call.address for call in calls])
        with self._one_by_one:
            _share(self._words, ctypes.addressof(places), len(calls))
        return [call.result() for call in calls]


@functools.cache
def nogil_pool(count: int) -> NogilPool:
    """Return the pool of `count` threads that this process shares."""
    return NogilPool(count)


# A forked child has the memory of its parent, but none of its threads.
os.register_at_fork(after_in_child=nogil_pool.cache_clear)


def _start(name: str, words: np.ndarray) -> None:
    """Start a worker thread; it ends with the process."""
    Thread(target=_serve, args=(words,), name=name, daemon=True).start()


@kernel
def _end(words):
    """End all threads that wait for calls."""
    store_atomic(words, _ROUND, _NO_MORE)
    wake(words, _ROUND, EVERYONE)


@kernel
def _share(words, place, count):
    """Run queued calls on all threads; return when all are done.

    `place` has the addresses of `count` calls. A thread that comes late from the calls
    before may take one of these: they are written before they are offered.
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
        if looks < SPIN_COUNT:
            looks += 1
        else:
            sleep_while(words, _DONE, done)
        done = load_atomic(words, _DONE)


@kernel
def _serve(words):
    """Make queued calls until the pool ends."""
    seen = 0
    while seen != _NO_MORE:
        looks = 0
        now = load_atomic(words, _ROUND)
        while now == seen:
            if looks < SPIN_COUNT:
                looks += 1
            else:
                sleep_while(words, _ROUND, seen)
            now = load_atomic(words, _ROUND)
        seen = now
        _take(words)


@kernel
def _take(words):
    """Take and make calls until none is left."""
    while True:
        taken = add_atomic(words, _TAKEN, 1)
        number, count = taken & _TAKEN_MASK, taken >> _HALF
        if number >= count:
            return
        make_call(load_word(load_atomic(words, _PLACE) + 8 * number))
        if add_atomic(words, _DONE, 1) == count - 1:
            wake(words, _DONE, EVERYONE)


def queue_calls(kernel: Kernel, calls: Sequence[tuple]) -> list[QueuedCall] | None:
    """Return a queued call for each tuple of arguments.

    An argument identical to the previous call's is packed once. So calls that differ
    only in their range cost little more than packing the range.

    Returns
    -------
    list of QueuedCall or None
        None if the calls cannot be queued: their types differ, or an argument is a
        floating-point number.
    """
    first = calls[0]
    words: list[list[Any]] = [[] for _ in first]
    keys = [_key(*pair) for pair in zip(first, words, strict=True)]
    entry = kernel.code(tuple(keys), first)
    if not isinstance(entry, CompiledKernel) or not entry.can_be_queued:
        return None
    put, before = [], first
    for arguments in calls:
        for place, argument in enumerate(arguments):
            if argument is not before[place]:
                words[place] = []
                if _key(argument, words[place]) != keys[place]:
                    return None
        put.append(entry.queue([word for part in words for word in part], arguments))
        before = arguments
    return put


def _key(argument: Any, words: list[Any]) -> Hashable:
    """Append the words of an argument; return the key of its type."""
    (key,) = pack((argument,), words)
    return key
