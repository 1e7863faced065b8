"""Long searches in short steps: between two, Python hears signals and reports."""

import time
from collections.abc import Callable
from functools import partial
from threading import Event, Thread
from typing import Any

from ...kernels.threads import Threads, each_range
from ...native.kernel import Kernel

# Seconds that a step is to take; the time of each sets the length of the next, which
# grows by at most GROWTH.
STEP, GROWTH = 0.2, 64
SHORT = 0.05  # seconds of a step that needs no thread of its own
PIECES = 8  # of a step for each thread; some take longer than others

# Takes how many elements of a search are done, and how many there are.
Report = Callable[[int, int], object]


def no_report(done: int, total: int) -> None:
    """Report nothing."""


def in_steps(
    threads: Threads,
    function: Kernel,
    given: tuple[Any, ...],
    length: int,
    least: int,
    report: Report,
    sure: int = 0,
) -> None:
    """Call the kernel function(*given, begin, end) for pieces of [0, length).

    `least` elements are worth a piece of their own. The first step has `sure` elements,
    which surely take no longer than a step, or a few pieces.
    """
    begin, size, expected = 0, max(least * threads.count * 2, sure), 0.0
    while begin < length:
        report(begin, length)
        end = min(begin + size, length)
        started = time.perf_counter()
        ranges = each_range(begin + threads.bounds(end - begin, least, each=PIECES))
        if expected > SHORT:
            heard(partial(threads.run, function, *given, *ranges))
        else:
            threads.run(function, *given, *ranges)
        seconds = max(time.perf_counter() - started, 1e-6)
        size = max(least, int((end - begin) * min(STEP / seconds, GROWTH)))
        expected = seconds * min(size, length - end) / (end - begin)
        begin = end
    report(length, length)


def heard(work: Callable[[], Any]) -> None:
    """Do some work in another thread, so that this one hears signals meanwhile.

    A signal's exception leaves the work to end by itself: a step of a search.
    """
    done = Event()
    failed: list[BaseException] = []

    def run() -> None:
        try:
            work()
        except BaseException as error:  # raised below, by the thread that waits
            failed.append(error)
        finally:
            done.set()

    Thread(target=run, daemon=True, name="mndmst-step").start()
    done.wait()
    if failed:
        raise failed[0]
