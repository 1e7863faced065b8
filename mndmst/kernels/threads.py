"""Threads that run kernels or functions on ranges of work."""

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cached_property
from itertools import pairwise
from threading import Event, Lock
from typing import Any

import numpy as np

from ..graph.tuning import Tuning
from ..native.arguments import pack
from ..native.call_columns import PerCall, calls_of, result_columns
from ..native.compiled_kernel import CompiledKernel
from ..native.kernel import Kernel
from .nogil_pool import nogil_pool

# From this many threads on, a parallel algorithm may do more total work than the
# sequential one.
MANY = 4


class Threads:
    """A number of threads for kernels, or for functions that release the GIL.

    Each thread works on its own range. Compared with Numba's parallel loops, kernels
    compile in a fraction of the time, and need no threading layer.
    """

    def __init__(self, count: int, tuning: Tuning | None = None) -> None:
        self.count = count
        self.tuning = tuning or Tuning.default
        self._one_by_one = Lock()

    def __reduce__(self) -> tuple[Any, ...]:
        """Return the count and tuning; a copy has a pool of its own."""
        return type(self), (self.count, self.tuning)

    @cached_property
    def pool(self) -> ThreadPoolExecutor:
        """The threads, all of them started.

        An executor starts no thread while another one is idle. Calls that wait for each
        other would then deadlock, so all threads start here.
        """
        pool, started = ThreadPoolExecutor(self.count, "mndmst-cpu"), Event()
        try:
            for _ in range(self.count):
                pool.submit(started.wait)  # keeps its thread from being idle
        except RuntimeError as error:
            raise MemoryError(str(error)) from error
        finally:
            started.set()
        return pool

    def map(self, function: Callable[..., Any], calls: Sequence[tuple]) -> list[Any]:
        """Return the results of function(*call) for all calls, in order.

        Each call acquires the GIL twice; `run` calls kernels without it. Raises
        MemoryError if there is no memory for the stack of a thread.
        """
        if self.count == 1 or len(calls) < 2:
            return [function(*call) for call in calls]
        return list(self.pool.map(lambda call: function(*call), calls))

    def run(self, kernel: Kernel, *arguments: Any) -> Any:
        """Run a kernel once for each item of its `PerCall` and `ArrayPieces` arguments.

        Calls may wait for each other if there are no more calls than threads, because
        all of them run at the same time. Results are columns: arrays become
        `ArrayPieces`. Raises MemoryError, before any call begins, if there is no memory
        for the stack of a thread.
        """
        words: list[Any] = []
        types = pack(arguments, words)
        columns = {i: w for i, w in enumerate(words) if type(w) is np.ndarray}
        for position, column in columns.items():
            words[position], count = column.item(0), len(column)
        # With MNDMST_JIT a kernel is a dispatcher of Numba's.
        code = kernel.code(types) if isinstance(kernel, Kernel) else None
        if not isinstance(code, CompiledKernel) or not code.can_be_queued:
            with self._one_by_one:
                return result_columns(self.map(kernel, calls_of(arguments, count)))
        if count == 1:  # without a table, which takes longer than a call
            return result_columns([code(words, arguments)])
        pool = nogil_pool(self.count)
        return code.call_all(words, columns, pool.make_calls, arguments)

    def bounds(
        self, length: int, grain: int | None = None, align: int = 1, each: int = 1
    ) -> np.ndarray:
        """Return bounds (int64) that divide [0, length), at multiples of `align`.

        `grain` is the least length of a range (`Tuning.grain` by default). Several
        threads get `each` ranges per thread, which they process one after the other.
        """
        most = self.count * each if self.count > 1 else 1
        parts = max(1, min(most, length // (grain or self.tuning.grain)))
        bounds = length * np.arange(parts + 1) // parts
        bounds[:-1] -= bounds[:-1] % align
        return bounds

    def ranges(
        self, length: int, grain: int | None = None, align: int = 1
    ) -> list[tuple[int, int]]:
        """Return the ranges of `bounds` as pairs."""
        return list(pairwise(self.bounds(length, grain, align).tolist()))


def each_range(bounds: np.ndarray) -> tuple[PerCall, PerCall]:
    """Return the begin and the end of each range as arguments of `Threads.run`."""
    return PerCall(bounds[:-1]), PerCall(bounds[1:])


ALONE = Threads(1)
