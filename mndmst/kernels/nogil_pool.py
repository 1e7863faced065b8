"""Worker threads that run queued kernel calls without holding the GIL.

A Python thread acquires the GIL twice for every kernel it calls. With 16 threads that
takes a millisecond or more, longer than many kernels. Here one thread queues the calls
and wakes the workers, and each thread executes call after call.
"""

import functools
import os
from threading import Lock, Thread

import numpy as np

from ..native.call_columns import address_of
from ..native.kernel import kernel
from .intrinsics import (
    add_atomic,
    load_atomic,
    make_call,
    sleep_while,
    store_atomic,
    wake,
)

# Words of a cache line: words that different threads write are on different lines.
LINE = 8
# Spins of a waiting thread before it sleeps: less than 1 us; longer gains nothing.
SPIN_COUNT = 1000
EVERYONE = (1 << 31) - 1

# Words that the threads share: the number of calls (upper half) and of started calls
# (lower half); the number of finished calls; the number of tables so far; and, on one
# line, the address of the table and the bytes of its rows.
_TAKEN, _DONE, _ROUND, _TABLE = (LINE * line for line in range(4))
_STRIDE = _TABLE + 1
_NO_MORE = -1
_HALF = 32
_TAKEN_MASK = (1 << _HALF) - 1


class NogilPool:
    """`count` worker threads; the thread that submits calls is one of them."""

    def __init__(self, count: int) -> None:
        self._words = np.zeros(4 * LINE, np.int64)
        self._one_by_one = Lock()
        given = (self._words,)
        try:
            for number in range(1, count):  # they end with the process
                name = f"mndmst-worker-{number}"
                Thread(target=_serve, args=given, name=name, daemon=True).start()
        except RuntimeError as error:
            _end(self._words)  # the threads that have started
            raise MemoryError(str(error)) from error

    def make_calls(self, rows: np.ndarray) -> None:
        """Make queued calls (`CompiledKernel.call_all`), one at a time on each thread.

        Calls may wait for each other if there are no more calls than threads, because
        all of them run at the same time.
        """
        with self._one_by_one:
            _run_all(self._words, address_of(rows), rows.strides[0], len(rows))


@functools.cache
def nogil_pool(count: int) -> NogilPool:
    """Return the pool of `count` threads that this process shares."""
    return NogilPool(count)


# A forked child has the memory of its parent, but none of its threads.
os.register_at_fork(after_in_child=nogil_pool.cache_clear)


@kernel
def _end(words):
    """End all threads that wait for calls."""
    store_atomic(words, _ROUND, _NO_MORE)
    wake(words, _ROUND, EVERYONE)


@kernel
def _run_all(words, table, stride, count):
    """Run the calls of a table on all threads; return after the last one.

    A thread that is late from the previous table may start one of these calls, so the
    address of the table is stored before the number of calls.
    """
    store_atomic(words, _DONE, 0)
    store_atomic(words, _TABLE, table)
    store_atomic(words, _STRIDE, stride)
    store_atomic(words, _TAKEN, count << _HALF)
    add_atomic(words, _ROUND, 1)
    wake(words, _ROUND, count - 1)
    _make_calls(words)
    spins = 0
    done = load_atomic(words, _DONE)
    while done < count:
        if spins < SPIN_COUNT:
            spins += 1
        else:
            sleep_while(words, _DONE, done)
        done = load_atomic(words, _DONE)


@kernel
def _serve(words):
    """Make queued calls until the pool ends."""
    seen = 0
    while seen != _NO_MORE:
        spins = 0
        now = load_atomic(words, _ROUND)
        while now == seen:
            if spins < SPIN_COUNT:
                spins += 1
            else:
                sleep_while(words, _ROUND, seen)
            now = load_atomic(words, _ROUND)
        seen = now
        _make_calls(words)


@kernel
def _make_calls(words):
    """Make calls of the table until each call has been started by some thread."""
    while True:
        taken = add_atomic(words, _TAKEN, 1)
        number, count = taken & _TAKEN_MASK, taken >> _HALF
        if number >= count:
            return
        row = load_atomic(words, _TABLE) + load_atomic(words, _STRIDE) * number
        make_call(row)
        if add_atomic(words, _DONE, 1) == count - 1:
            wake(words, _DONE, EVERYONE)
