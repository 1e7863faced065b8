"""Long searches in short steps, between which Python handles signals and reports."""

import math
import time
from collections.abc import Callable
from concurrent.futures import Future
from functools import partial
from threading import Thread
from typing import TypeVar

from ...kernels.threads import Threads, each_range
from ...native.kernel import Kernel
from ..devices.point_products import Report

# The target time of a step, in seconds. The time of a step sets the length of the next
# one, which is at most GROWTH times longer.
STEP, GROWTH = 0.2, 64
SHORT = 0.05  # seconds of a step that does not need a thread of its own
PIECES = 8  # of a step, per thread; some take longer than others


Result = TypeVar("Result")


def no_report(done: int, total: int) -> None:
    """Report nothing."""


def run_in_steps(
    threads: Threads,
    function: Kernel,
    given: tuple[object, ...],
    length: int,
    least: int,
    report: Report,
    first_step: int = 0,
) -> None:
    """Call the kernel function(*given, begin, end) for pieces of [0, length).

    A piece has at least `least` elements. The first step has `first_step` elements,
    which take at most STEP seconds, or two pieces per thread if these are more.
    """
    begin, size = 0, max(least * threads.count * 2, first_step)
    expected = math.inf
    if size == first_step:
        expected = STEP * min(size, length) / size
    while begin < length:
        report(begin, length)
        end = min(begin + size, length)
        started = time.perf_counter()
        ranges = each_range(begin + threads.bounds(end - begin, least, each=PIECES))
        if expected > SHORT:
            run_interruptibly(partial(threads.run, function, *given, *ranges))
        else:
            threads.run(function, *given, *ranges)
        seconds = max(time.perf_counter() - started, 1e-6)
        size = max(least, int((end - begin) * min(STEP / seconds, GROWTH)))
        expected = seconds * min(size, length - end) / (end - begin)
        begin = end
    report(length, length)


def run_interruptibly(work: Callable[[], Result]) -> Result:
    """Run a function in another thread, so that this thread can handle signals.

    If a signal raises an exception here, the function continues to its end.
    """
    return start_in_thread(work, "mndmst-step").result()


def start_in_thread(work: Callable[[], Result], name: str) -> Future[Result]:
    """Start a function in a thread of its own, and return its future.

    The thread is a daemon: a process that ends with an error does not wait for it.
    """
    future: Future[Result] = Future()

    def run() -> None:
        try:
            future.set_result(work())
        except BaseException as error:  # `result` raises it
            future.set_exception(error)

    Thread(target=run, daemon=True, name=name).start()
    return future
