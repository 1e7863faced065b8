"""The memory account of a rank while several threads change it.

An index stops the sum until another thread has tried to change the account, so each
test meets the same order of events every time.
"""

from contextlib import ExitStack
from threading import Event, Thread

from mndmst.host.errors import ConfigError
from mndmst.host.memory_costs import MIB
from mndmst.service.limits import ServiceMemory

# Longer than a thread needs to change an account that no lock protects
PATIENCE_SECONDS = 0.2


class Index:
    """An index of 100 bytes."""

    nbytes = 100


class SlowIndex:
    """An index whose size is known when an event has come, or late."""

    def __init__(self, event: Event) -> None:
        self.asked, self._event = Event(), event

    @property
    def nbytes(self) -> int:
        """Return the size after waiting."""
        self.asked.set()
        self._event.wait(PATIENCE_SECONDS)
        return 100


def test_indexes_are_added_while_others_are_summed() -> None:
    memory, added = ServiceMemory(0), Event()
    slow, others = SlowIndex(added), [Index() for _ in range(50)]
    memory.add_index(slow)
    memory.add_index(fast := Index())

    def add() -> None:
        slow.asked.wait()
        for index in others:
            memory.add_index(index)
        added.set()

    thread = Thread(target=add)
    thread.start()
    sums = [memory.of_graphs]
    thread.join()
    sums.append(memory.of_graphs)
    assert sums == [200, 200 + 100 * len(others)], fast


def test_of_two_requests_that_do_not_fit_together_one_is_refused() -> None:
    memory, held = ServiceMemory(MIB, least=0), Event()
    slow = SlowIndex(held)
    memory.add_index(slow)
    refused: list[str] = []

    def hold(stack: ExitStack) -> None:
        try:
            stack.enter_context(memory.hold(MIB * 3 // 4, "an answer"))
        except ConfigError as error:
            refused.append(str(error))
        held.set()

    with ExitStack() as stack:
        thread = Thread(target=hold, args=(stack,))
        thread.start()
        slow.asked.wait()
        hold(stack)
        thread.join()
        assert memory.of_requests == MIB * 3 // 4
    assert memory.of_requests == 0
    assert len(refused) == 1 and "is too little for an answer" in refused[0]


def test_no_byte_is_lost_when_threads_add_graphs_and_hold_requests() -> None:
    memory = ServiceMemory(0)

    def work() -> None:
        for _ in range(200):
            memory.add_graph(3)
            with memory.hold(5, "an answer"):
                pass

    threads = [Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert (memory.of_graphs, memory.of_requests) == (4 * 200 * 3, 0)
