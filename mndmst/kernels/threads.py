"""Threads that run kernels or functions on ranges of work."""

import os
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from functools import cache, partial
from itertools import pairwise
from threading import Event
from typing import TypeVar

import numpy as np

from ..graph.tuning import Tuning
from ..host.cores import MOST_THREADS
from ..native.arguments import pack
from ..native.call_columns import PerCall, calls_of, result_columns
from ..native.compiled_kernel import CompiledKernel
from ..native.kernel import Kernel, KernelResult
from .nogil_pool import POOL

# From this many threads on, a parallel algorithm may do more total work than the
# sequential one.
MANY = 4


ResultT = TypeVar("ResultT")


class Threads:
    """A number of threads for kernels, or for functions that release the GIL.

    Each thread works on its own range. Compared with Numba's parallel loops, kernels
    compile in a fraction of the time, and need no threading layer.
    """

    def __init__(self, count: int, tuning: Tuning | None = None) -> None:
        self.count = count
        self.tuning = tuning or Tuning.default

    def map(
        self, function: Callable[..., ResultT], calls: Sequence[tuple[object, ...]]
    ) -> list[ResultT]:
        """Return the results of function(*call) for all calls, in order.

        Each call acquires the GIL twice; `run` calls kernels without it. After an
        exception no other call begins; the exception of the first failed call is
        raised. Calls may wait for each other as in `run`. Raises MemoryError, before
        any call begins, if there is no memory for the stack of a thread.
        """
        if self.count == 1 or len(calls) < 2:
            return [function(*call) for call in calls]
        results: dict[int, ResultT] = {}
        errors: dict[int, BaseException] = {}
        numbers, started = iter(range(len(calls))), Event()

        def work() -> None:
            started.wait()
            for number in numbers:
                try:
                    results[number] = function(*calls[number])
                except BaseException as error:  # raised in the caller's thread
                    errors[number] = error
                    _exhaust(numbers)

        pool = _python_threads()
        try:
            working = [pool.submit(work) for _ in calls[: self.count]]
        except RuntimeError as error:
            _exhaust(numbers)
            raise MemoryError(str(error)) from error
        finally:
            started.set()
        try:
            wait(working)
        finally:
            _exhaust(numbers)  # in case a signal raises an exception here
        if errors:
            raise errors[min(errors)]
        return [results[number] for number in range(len(calls))]

    def start(
        self, function: Callable[..., ResultT], *arguments: object
    ) -> Future[ResultT]:
        """Begin a call of a function; a single thread makes it at once.

        Raises MemoryError if there is no memory for the stack of a thread.
        """
        if self.count == 1:
            done: Future[ResultT] = Future()
            done.set_result(function(*arguments))
            return done
        try:
            return _python_threads().submit(function, *arguments)
        except RuntimeError as error:
            raise MemoryError(str(error)) from error

    def run(self, kernel: Kernel, *arguments: object) -> KernelResult:
        """Run a kernel once for each item of its `PerCall` and `ArrayPieces` arguments.

        Calls may wait for each other if there are no more calls than threads, because
        all of them run at the same time. Results are columns: arrays become
        `ArrayPieces`. Raises MemoryError, before any call begins, if there is no memory
        for the stack of a thread.
        """
        words: list[object] = []
        types = pack(arguments, words)
        columns = {i: w for i, w in enumerate(words) if type(w) is np.ndarray}
        for position, column in columns.items():
            words[position], count = column.item(0), len(column)
        # With MNDMST_JIT a kernel is a dispatcher of Numba's.
        code = kernel.code(types) if isinstance(kernel, Kernel) else None
        if not isinstance(code, CompiledKernel):
            return result_columns(self.map(kernel, calls_of(arguments, count)))
        if count == 1:  # without a table, which takes longer than a call
            return result_columns([code(words, arguments)])
        make_calls = partial(POOL.make_calls, self.count)
        return code.call_all(words, columns, make_calls, arguments)

    def bounds(
        self, length: int, grain: int | None = None, align: int = 1, each: int = 1
    ) -> np.ndarray:
        """Return bounds (int64) that divide [0, length), at multiples of `align`.

        `grain` is the least length of a range (`Tuning.grain` by default). Several
        threads get `each` ranges per thread, which they process one after the other.
        """
        most = self.count * each if self.count > 1 else 1
        parts = min(most, length // (grain or self.tuning.grain))
        if parts <= 1:
            return np.array([0, length])
        bounds = length * np.arange(parts + 1) // parts
        bounds[:-1] -= bounds[:-1] % align
        return bounds

    def ranges(
        self, length: int, grain: int | None = None, align: int = 1
    ) -> list[tuple[int, int]]:
        """Return the ranges of `bounds` as pairs."""
        return list(pairwise(self.bounds(length, grain, align).tolist()))


@cache
def _python_threads() -> ThreadPoolExecutor:
    """Return the threads of this process that call functions of Python.

    A thread starts for each task unless one is idle, so tasks may wait for each other.
    """
    return ThreadPoolExecutor(MOST_THREADS, "mndmst-cpu")


# A forked child has none of its parent's threads.
os.register_at_fork(after_in_child=_python_threads.cache_clear)


def _exhaust(numbers: Iterator[int]) -> None:
    """Take the remaining numbers, so that no thread takes one."""
    for _ in numbers:
        pass


def each_range(bounds: np.ndarray) -> tuple[PerCall, PerCall]:
    """Return the begin and the end of each range as arguments of `Threads.run`."""
    return PerCall(bounds[:-1]), PerCall(bounds[1:])


ALONE = Threads(1)
