"""Worker threads that run queued kernel calls without holding the GIL.

A Python thread acquires the GIL twice for every kernel it calls. With 16 threads that
takes a millisecond or more, longer than many kernels. Here one thread queues the calls
and wakes the workers, and each thread executes call after call.
"""

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
# (lower half); the number of finished calls; the number of tables so far; the number of
# workers that may still join; and, on one line, the address of the table and the bytes
# of its rows.
_TAKEN, _DONE, _ROUND, _SEATS, _TABLE = (LINE * line for line in range(5))
_STRIDE = _TABLE + 1
_HALF = 32
_TAKEN_MASK = (1 << _HALF) - 1


class NogilPool:
    """Worker threads, and the thread that submits calls.

    A worker starts when a table first needs it, and ends with the process.
    """

    def __init__(self) -> None:
        self.reset()

    def reset(self) -> None:
        """Begin without workers, as in a forked child, which has none of them."""
        self._words = np.zeros(5 * LINE, np.int64)
        self._one_by_one, self._workers = Lock(), 0

    def make_calls(self, threads: int, rows: np.ndarray) -> None:
        """Make queued calls (`CompiledKernel.call_all`) on at most `threads` threads.

        Each thread makes one call at a time. Calls may wait for each other if there are
        no more calls than threads, because all of them run at the same time. Raises
        MemoryError, before any call begins, if there is no memory for a worker's stack.
        """
        helpers = min(threads, len(rows)) - 1
        with self._one_by_one:
            while self._workers < helpers:
                self._start_worker()
            _run_all(self._words, address_of(rows), rows.strides[0], len(rows), helpers)

    def _start_worker(self) -> None:
        name, given = f"mndmst-worker-{self._workers + 1}", (self._words,)
        try:
            Thread(target=_serve, args=given, name=name, daemon=True).start()
        except RuntimeError as error:
            raise MemoryError(str(error)) from error
        self._workers += 1


# The pool of this process.
POOL = NogilPool()
os.register_at_fork(after_in_child=POOL.reset)


@kernel
def _run_all(words, table, stride, count, helpers):
    """Run the calls of a table on this thread and some workers; return after the last.

    A thread that is late from the previous table may start one of these calls, so the
    address of the table is stored before the number of calls; and seats after it, so
    that each worker that takes a seat makes calls while there are any.
    """
    store_atomic(words, _DONE, 0)
    store_atomic(words, _TABLE, table)
    store_atomic(words, _STRIDE, stride)
    store_atomic(words, _TAKEN, count << _HALF)
    store_atomic(words, _SEATS, helpers)
    add_atomic(words, _ROUND, 1)
    wake(words, _ROUND, helpers)
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
    """Make queued calls of each table that has a seat left."""
    seen = 0
    while True:
        spins = 0
        now = load_atomic(words, _ROUND)
        while now == seen:
            if spins < SPIN_COUNT:
                spins += 1
            else:
                sleep_while(words, _ROUND, seen)
            now = load_atomic(words, _ROUND)
        seen = now
        if add_atomic(words, _SEATS, -1) > 0:
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
