"""Threads of Python call functions: in order, on so many threads, and to the end."""

import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

from mndmst.kernels import threads as threads_module
from mndmst.kernels.threads import Threads


def test_results_are_in_the_order_of_the_calls() -> None:
    calls = [(number, 2) for number in range(100)]
    assert Threads(3).map(pow, calls) == [number**2 for number in range(100)]


def test_a_call_that_begins_runs_beside_its_caller_or_at_once() -> None:
    both = threading.Barrier(2)
    begun = Threads(2).start(both.wait)
    both.wait(9)
    assert begun.result(9) in (0, 1)
    assert Threads(1).start(threading.get_ident).result() == threading.get_ident()


def test_no_more_calls_run_at_once_than_threads() -> None:
    # Six calls that wait for each other start six threads, which then are idle.
    Threads(6).map(threading.Barrier(6).wait, [()] * 6)
    running, most, lock = [0], [0], threading.Lock()

    def call() -> None:
        with lock:
            running[0] += 1
            most[0] = max(most[0], running[0])
        with lock:
            running[0] -= 1

    Threads(2).map(call, [()] * 500)
    assert 1 <= most[0] <= 2


def test_the_first_failed_call_is_raised_and_no_later_one_begins() -> None:
    begun, both = [], threading.Barrier(2)

    def call(number: int) -> None:
        begun.append(number)
        if number in (0, 1):
            both.wait()
            raise ValueError(f"call {number}")

    with pytest.raises(ValueError, match="call 0"):
        Threads(2).map(call, [(number,) for number in range(50)])
    assert sorted(begun) == [0, 1]


def test_calls_inside_calls_do_not_wait_for_their_threads() -> None:
    def outer(number: int) -> int:
        return sum(Threads(2).map(pow, [(number, 1), (number, 2), (number, 3)]))

    assert Threads(2).map(outer, [(2,), (3,), (4,)]) == [14, 39, 84]


def test_without_room_for_a_thread_no_call_begins(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    with ThreadPoolExecutor(8) as pool:
        monkeypatch.setattr(threads_module, "_python_threads", lambda: pool)
        start, tried, begun = threading.Thread.start, [], []

        def fail_second(thread: threading.Thread) -> None:
            tried.append(thread)
            if len(tried) == 2:
                raise RuntimeError("can't start new thread")
            start(thread)

        monkeypatch.setattr(threading.Thread, "start", fail_second)
        with pytest.raises(MemoryError, match="new thread"):
            Threads(3).map(begun.append, [(0,), (1,), (2,)])
        assert not begun
        Threads(3).map(begun.append, [(0,), (1,), (2,)])
        assert sorted(begun) == [0, 1, 2]
