"""Threads of one host that share arrays and run kernels with barriers.

A team's members are the threads of a process, or of all ranks of a host (`comm.hosts`).
Short consecutive steps are one kernel with barriers between them, because waking
threads from Python takes longer than such a step.
"""

from typing import NamedTuple

import numpy as np

from ..native.call_columns import PerCall
from ..native.kernel import Kernel, KernelResult, kernel
from .edge_columns import Shape, allocate_staggered
from .intrinsics import add_atomic, load_atomic, sleep_while, wake
from .nogil_pool import EVERYONE, LINE, SPIN_COUNT
from .threads import Threads

# The words of a team: members that have arrived at the barrier, barriers passed,
# members that sleep at the barrier, and the count that each member has posted.
ARRIVED, BARRIERS, ASLEEP, POSTED = (LINE * line for line in range(4))


class Member(NamedTuple):
    """A member of a team, as kernels take it."""

    number: int | PerCall  # of this member
    size: int  # number of all members
    words: np.ndarray  # int64: shared state of the barrier


def words_for(size: int) -> int:
    """Return the number of shared words that a team of `size` members needs."""
    return POSTED + LINE * size


class Team:
    """The threads of this process, one of `processes`.

    `most` is the largest number of members per process.
    """

    processes, rank = 1, 0

    def __init__(self, threads: Threads) -> None:
        self.threads, self.most = threads, threads.count
        self._words = np.zeros(words_for(self.most), np.int64)

    def arrays(self, *shapes: Shape) -> list[np.ndarray]:
        """Return arrays that all members share. Collective."""
        return allocate_staggered(*shapes)

    def sync(self) -> None:
        """Barrier between processes: each sees the others' writes from before."""

    def counts(self, *counts: int) -> np.ndarray:
        """Return the int64 counts, shape (processes, counts), of all. Collective."""
        return np.array([counts], np.int64)

    def share(self, length: int) -> tuple[int, int]:
        """Return this process's range of [0, length)."""
        rank, processes = self.rank, self.processes
        return length * rank // processes, length * (rank + 1) // processes

    def bounds(self, length: int) -> np.ndarray:
        """Return the bounds of the ranges of [0, length) of this process's threads."""
        begin, end = self.share(length)
        return begin + self.threads.bounds(end - begin)

    def size_for(self, work: int) -> int:
        """Return the number of members worth waking for some total work."""
        each = work // (self.threads.tuning.grain * self.processes)
        return self.processes * max(1, min(self.most, each))

    def run(self, function: Kernel, work: int, *arguments: object) -> KernelResult:
        """Run a kernel on each member at once; return this process's results.

        Collective. The first argument of the kernel is the member; it may call
        `barrier`. Results are columns as in `Threads.run`. `work` is the approximate
        number of elements in total: few elements wake few threads.
        """
        size = self.size_for(work)
        here = size // self.processes
        number = here * self.rank + np.arange(here)
        member = Member(PerCall(number), size, self._words)
        return self.threads.run(function, member, *arguments)


@kernel
def member_range(member, length):
    """Return this member's range of [0, length)."""
    number, size, _ = member
    return length * number // size, length * (number + 1) // size


@kernel
def barrier(member):
    """Wait for all members; their writes from before are visible afterwards."""
    _, size, words = member
    passed = load_atomic(words, BARRIERS)
    if add_atomic(words, ARRIVED, 1) == size - 1:
        words[ARRIVED] = 0
        add_atomic(words, BARRIERS, 1)
        if load_atomic(words, ASLEEP):
            wake(words, BARRIERS, EVERYONE)
        return
    for _ in range(SPIN_COUNT):
        if load_atomic(words, BARRIERS) != passed:
            return
    # The last member first counts the barrier, then reads the number of sleepers. So a
    # member either is counted as a sleeper, or reads the new count and does not sleep.
    add_atomic(words, ASLEEP, 1)
    while load_atomic(words, BARRIERS) == passed:
        sleep_while(words, BARRIERS, passed)
    add_atomic(words, ASLEEP, -1)


@kernel
def post_count(member, count):
    """Post a count for the other members to read after the next barrier."""
    number, _, words = member
    words[POSTED + LINE * number] = count


@kernel
def prefix_and_total(member, group):
    """Return the sum of the counts posted before this member in its group, and of all.

    Each `group` members with consecutive numbers are a group.
    """
    number, _, words = member
    first = number - number % group
    before = total = 0
    for other in range(first, first + group):
        before = total if other == number else before
        total += words[POSTED + LINE * other]
    return before, total
