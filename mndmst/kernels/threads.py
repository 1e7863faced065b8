"""Threads that run kernels or functions on ranges of work."""

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cached_property
from threading import Event, Lock
from typing import Any

from ..graph.tuning import Tuning
from ..native.kernel import Kernel
from .nogil_pool import nogil_pool, queue_calls

# With this many threads, a shared algorithm may do more work in all than the algorithm
# for one thread.
MANY = 4


class Threads:
    """A number of threads for kernels, or for functions that release the GIL.

    Each thread works on its own range. Compared with Numba's parallel loops, kernels
    compile in a fraction of the time, and need no threading layer.

    Parameters
    ----------
    count : int
    tuning : Tuning, optional
        Thresholds of the algorithms that run on these threads.
    """

    def __init__(self, count: int, tuning: Tuning | None = None) -> None:
        self.count = count
        self.tuning = tuning or Tuning.default
        self._one_by_one = Lock()

    @cached_property
    def pool(self) -> ThreadPoolExecutor:
        """The threads, all of them started.

        An executor starts no new thread while it counts one as idle. Calls that wait
        for each other would then deadlock, so all threads start here.
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

    def map(self, function: Callable[..., Any], ranges: Sequence[tuple]) -> list[Any]:
        """Return the results of function(*bounds) for all ranges, in order.

        Kernels are queued for worker threads that do not need the GIL.

        Raises
        ------
        MemoryError
            If there is no memory for the stack of a thread.
        """
        if self.count == 1 or len(ranges) < 2:
            return [function(*bounds) for bounds in ranges]
        try:
            made = self._run_queued(function, ranges)
            if made is not None:
                return made
            results = self.pool.map(lambda bounds: function(*bounds), ranges)
        except RuntimeError as error:  # which I/O errors of HDF5 are, too
            raise MemoryError(str(error)) from error
        return list(results)

    def at_once(self, function: Callable[..., Any], calls: Sequence[tuple]) -> list:
        """Return the results of function(*call) for no more calls than threads.

        All calls run at once, so they may wait for each other.

        Raises
        ------
        MemoryError
            If there is no memory for the stack of a thread; no call has begun then.
        """
        if len(calls) < 2:
            return [function(*call) for call in calls]
        try:
            made = self._run_queued(function, calls)
        except RuntimeError as error:
            raise MemoryError(str(error)) from error
        if made is not None:
            return made
        with self._one_by_one:
            others = [self.pool.submit(function, *call) for call in calls[1:]]
            first = function(*calls[0])
            return [first, *(other.result() for other in others)]

    def _run_queued(
        self, function: Callable[..., Any], calls: Sequence[tuple]
    ) -> list[Any] | None:
        """Return the results of queued kernel calls; None if they cannot be queued."""
        queued = queue_calls(function, calls) if isinstance(function, Kernel) else None
        return None if queued is None else nogil_pool(self.count).submit(queued)

    def ranges(
        self, length: int, grain: int | None = None, align: int = 1, each: int = 1
    ) -> list[tuple[int, int]]:
        """Divide [0, length) into ranges, a few per thread, at multiples of `align`.

        Parameters
        ----------
        grain : int
            The least length of a range; `Tuning.grain` by default.
        each : int
            Ranges per thread if there are several: a thread takes range after range.
        """
        most = self.count * each if self.count > 1 else 1
        parts = max(1, min(most, length // (grain or self.tuning.grain)))
        bounds = [length * i // parts // align * align for i in range(parts)]
        return list(zip(bounds, [*bounds[1:], length], strict=True))


ALONE = Threads(1)
