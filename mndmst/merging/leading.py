"""The last leader computes on its whole host: all other ranks wait for it anyway.

Where rings or rounds have left it little that takes no time. Where they have not, one
core of many would have most of the work, as in MND-MST (Panja and Vadhiyar, ICPP 2018).
"""

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace

from ..kernels.threads import Threads
from ..run.run import Run

# Fewer edges on all ranks than this take about as long as to wake other cores.
MANY_EDGES = 1 << 18


@contextmanager
def whole_host(run: Run, edges: float) -> Iterator[None]:
    """Give the first rank the threads of all ranks of its host in a block. Collective.

    The others have nothing to compute there; at its end they wait for the first, and
    leave it their cores.

    Parameters
    ----------
    edges : float
        What is left on all ranks.
    """
    if edges < MANY_EDGES or run.comm.size == 1:
        yield
        return
    node = run.comm.node()
    cores, threads = node.cores(), node.sum(run.threads.count)
    node.free()
    if run.comm.rank == 0:
        with _computing_on(run, cores, threads):
            yield
    else:
        yield
    run.comm.barrier(politely=True)


@contextmanager
def _computing_on(run: Run, cores: set[int], threads: int) -> Iterator[None]:
    """Let this rank have some cores, and as many threads as it gets of them."""
    own, before = os.sched_getaffinity(0), (run.threads, run.workers)
    _bind(cores)
    run.threads = Threads(min(threads, len(os.sched_getaffinity(0))))
    run.workers = [
        replace(worker, backend=worker.backend.with_threads(run.threads.count))
        for worker in run.workers
    ]
    try:
        yield
    finally:
        _bind(own)
        run.threads, run.workers = before


def _bind(cores: set[int]) -> None:
    """Let this thread, and those it starts, have some cores, if the system lets it."""
    with suppress(OSError):
        os.sched_setaffinity(0, cores)
