"""Worker threads call kernels without the interpreter."""

import os
from threading import Thread

import numpy as np
import pytest

from mndmst.kernels import threads as threads_module
from mndmst.kernels.edge_columns import concatenate
from mndmst.kernels.intrinsics import add_atomic, load_atomic
from mndmst.kernels.nogil_pool import NogilPool
from mndmst.kernels.threads import Threads
from mndmst.native.call_columns import ArrayPieces, PerCall, calls_of
from mndmst.native.kernel import kernel

pytestmark = pytest.mark.skipif(
    bool(os.environ.get("MNDMST_JIT")), reason="Numba calls its kernels itself"
)


@kernel
def squares(number, words, end):
    """Return an array and a sum; refuse 13."""
    if number == 13:
        raise ValueError("13 is not wanted")
    add_atomic(words, 0, 1)
    return np.full(3, number), number * end


@kernel
def wait_for(_, words, count):
    """Wait until so many calls have come; return how many were there before."""
    before = add_atomic(words, 0, 1)
    while load_atomic(words, 0) < count:
        pass
    return before


@pytest.fixture(autouse=True)
def no_interpreter(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let every call that threads of Python would make fail."""
    monkeypatch.setattr(threads_module, "_python_threads", None)


@pytest.mark.parametrize("count", [1, 3, 8])
def test_all_calls_are_made_once_and_in_order(count: int) -> None:
    threads, words = Threads(count), np.zeros(1, np.int64)
    for turn in range(200):
        numbers = np.arange(turn % 9 + 2)
        arrays, products = threads.run(squares, PerCall(numbers), words, turn)
        assert [a.tolist() for a in calls_of(arrays, len(numbers))] == [
            [number] * 3 for number in numbers
        ]
        assert products.tolist() == (numbers * turn).tolist()
    assert words[0] == sum(turn % 9 + 2 for turn in range(200))


def test_what_a_call_raises_is_raised_when_all_are_made() -> None:
    words = np.zeros(1, np.int64)
    with pytest.raises(ValueError, match="13 is not wanted"):
        Threads(3).run(squares, PerCall(np.arange(20)), words, 1)
    assert words[0] == 19


def test_calls_run_at_once() -> None:
    words = np.zeros(1, np.int64)
    found = Threads(5).run(wait_for, PerCall(np.arange(5)), words, 5)
    assert sorted(found) == [*range(5)]


def test_several_callers_take_turns() -> None:
    words = np.zeros(1, np.int64)

    def call() -> None:
        for _ in range(100):
            Threads(2).run(squares, PerCall(np.arange(4)), words, 1)

    callers = [Thread(target=call) for _ in range(3)]
    for caller in callers:
        caller.start()
    for caller in callers:
        caller.join()
    assert words[0] == 3 * 100 * 4


def test_a_child_has_threads_of_its_own() -> None:
    words = np.zeros(1, np.int64)
    assert sum(Threads(2).run(wait_for, PerCall(np.arange(2)), words, 2)) == 1
    child = os.fork()
    if child == 0:
        words = np.zeros(1, np.int64)
        os._exit(sum(Threads(2).run(wait_for, PerCall(np.arange(2)), words, 2)))
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 1


@pytest.fixture
def own_pool(monkeypatch: pytest.MonkeyPatch) -> NogilPool:
    """Use a pool without workers."""
    pool = NogilPool()
    monkeypatch.setattr(threads_module, "POOL", pool)
    return pool


@pytest.fixture
def started(monkeypatch: pytest.MonkeyPatch) -> list[Thread]:
    """Return a list that receives the workers that start."""
    threads, start = [], Thread.start

    def noted(thread: Thread) -> None:
        start(thread)
        if thread.name.startswith("mndmst-worker"):
            threads.append(thread)

    monkeypatch.setattr(Thread, "start", noted)
    return threads


def test_without_room_for_a_thread_no_call_begins(
    own_pool: NogilPool, monkeypatch: pytest.MonkeyPatch
) -> None:
    words, start, tried = np.zeros(1, np.int64), Thread.start, []

    def fail_third(thread: Thread) -> None:
        if thread.name.startswith("mndmst-worker"):
            tried.append(thread)
            if len(tried) == 3:
                raise RuntimeError("can't start new thread")
        start(thread)

    monkeypatch.setattr(Thread, "start", fail_third)
    with pytest.raises(MemoryError, match="new thread"):
        Threads(4).run(squares, PerCall(np.ones(4, int)), words, 1)
    assert words[0] == 0
    Threads(4).run(squares, PerCall(np.ones(4, int)), words, 1)  # there is room again
    assert words[0] == len(tried) == 4  # two workers stayed


def test_workers_start_once_and_only_for_calls_that_need_them(
    own_pool: NogilPool, started: list[Thread]
) -> None:
    words = np.zeros(1, np.int64)
    for threads, calls, workers in (
        (8, 1, 0), (1, 8, 0), (8, 2, 1), (3, 9, 2), (2, 2, 2), (8, 5, 4), (4, 90, 4)
    ):  # fmt: skip
        if threads > 1:
            Threads(threads).run(squares, PerCall(np.arange(14, 14 + calls)), words, 1)
        assert len(started) == workers


@kernel
def most_at_once(_, words):
    """Count the calls that run at once; keep the most in the second word."""
    now = add_atomic(words, 0, 1) + 1
    for _ in range(2000):
        if load_atomic(words, 1) < now:
            words[1] = now
    add_atomic(words, 0, -1)
    return now


def test_idle_workers_do_not_join_calls_for_fewer_threads(own_pool: NogilPool) -> None:
    words = np.zeros(1, np.int64)
    Threads(8).run(wait_for, PerCall(np.arange(8)), words, 8)  # starts seven workers
    for _ in range(50):
        words = np.zeros(2, np.int64)
        Threads(2).run(most_at_once, PerCall(np.arange(40)), words)
        # A worker that is late from the table before may help.
        assert 1 <= words[1] <= 3


def test_callers_with_different_numbers_of_threads_share_the_pool(
    own_pool: NogilPool, started: list[Thread]
) -> None:
    made = []

    def call(count: int) -> None:
        numbers, words = PerCall(np.arange(count)), np.zeros(1, np.int64)
        at_once = Threads(count).run(wait_for, numbers, words, count)
        for turn in range(100):
            _, products = Threads(count).run(squares, numbers, words, turn)
            assert products.tolist() == [turn * number for number in range(count)]
        made.append(sorted(at_once) == [*range(count)])

    callers = [Thread(target=call, args=(count,)) for count in range(2, 6)]
    for caller in callers:
        caller.start()
    for caller in callers:
        caller.join()
    assert made == [True] * len(callers)
    assert len(started) == 4


@kernel
def weighed(number, wide, narrow, key):
    """Return a number and others as float64."""
    return number * wide, np.float64(narrow), key


def test_queued_calls_take_all_kinds_of_numbers() -> None:
    key, numbers = np.uint64(2**64 - 3), PerCall(np.arange(2))
    products, narrow, keys = Threads(2).run(
        weighed, numbers, 1.5, np.float32(-2.5), key
    )
    assert products.tolist() == [0.0, 1.5]
    assert narrow.tolist() == [-2.5, -2.5]
    assert keys.tolist() == [2**64 - 3] * 2


@kernel
def first_of(numbers, offset):
    """Return the positive numbers before the first negative, shifted, and how many."""
    count = 0
    while count < len(numbers) and numbers[count] >= 0:
        numbers[count] += offset
        count += 1
    return numbers[:count], count


@pytest.mark.parametrize("count", [1, 3])
def test_columns_describe_the_arguments_and_results_of_all_calls(count: int) -> None:
    numbers = np.array([1, -1, 2, 3, -1, 4, 5, 6])
    pieces = ArrayPieces.of(numbers, np.array([0, 2, 2, 5, 8]))
    threads = Threads(count)
    kept, counts = threads.run(first_of, pieces, PerCall(np.array([10, 20, 30, 40])))
    assert counts.tolist() == [1, 0, 2, 3]
    assert [kept[call].tolist() for call in range(4)] == [
        [11], [], [32, 33], [44, 45, 46]
    ]  # fmt: skip
    again, _ = threads.run(first_of, kept, PerCall(np.full(4, 100)))  # in place
    assert concatenate([again], threads)[0].tolist() == [111, 132, 133, 144, 145, 146]
    assert numbers.tolist() == [111, -1, 132, 133, -1, 144, 145, 146]


def test_memory_of_results_lives_as_long_as_their_columns() -> None:
    arrays, sums = Threads(2).run(
        squares, PerCall(np.arange(5)), np.zeros(1, np.int64), 2
    )
    one = arrays[3]
    del arrays
    assert one.tolist() == [3, 3, 3]
    assert sums.tolist() == [0, 2, 4, 6, 8]


def test_pieces_of_several_arrays_and_pieces_between_gaps() -> None:
    numbers = np.arange(6)
    ends = ArrayPieces.of(numbers, np.array([0, 3]), np.array([2, 6]))
    middle = ArrayPieces.of(numbers, np.array([2, 3]))
    both = ArrayPieces.together([ends, middle])
    assert [a.tolist() for a in calls_of(both, 3)] == [[0, 1], [3, 4, 5], [2]]
