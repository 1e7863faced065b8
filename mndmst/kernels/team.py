"""Workers of one host that share arrays, and meet between two steps.

A team's members are the threads of a process, or those of all ranks of a host
(`comm.hosts`). Steps that follow each other closely are one kernel, in which the
members wait for each other: to wake threads from Python would take longer than such a
step.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from ..native.kernel import kernel
from .callers import EVERYONE, LINE, LOOKS
from .columns import Shape, apart
from .intrinsics import add_atomic, load_atomic, sleep_while, wake
from .threads import GRAIN, Threads

# In the words that members meet at: how many have come, how often all have, how many
# sleep meanwhile, and what each says.
ARRIVED, MEETINGS, ASLEEP, SAID = (LINE * line for line in range(4))


class Member(NamedTuple):
    """A member of a team, as kernels take it.

    Attributes
    ----------
    number, size : int
        Of so many members.
    words : ndarray of int64
        Where they meet.
    """

    number: int
    size: int
    words: np.ndarray


def words_for(size: int) -> int:
    """Return how many words so many members need to meet."""
    return SAID + LINE * size


class Team:
    """The threads of this process.

    Parameters
    ----------
    threads : Threads

    Attributes
    ----------
    threads : Threads
        Those of this process.
    most : int
        So many members each process has at the most.
    processes, rank : int
        How many processes there are, and the number of this one.
    """

    processes, rank = 1, 0

    def __init__(self, threads: Threads) -> None:
        self.threads, self.most = threads, threads.count
        self._words = np.zeros(words_for(self.most), np.int64)

    def arrays(self, *shapes: Shape) -> list[np.ndarray]:
        """Return arrays of some lengths and types that all members see. Collective."""
        return apart(*shapes)

    def sync(self) -> None:
        """Wait for all processes: they see what the others have written."""

    def counts(self, *counts: int) -> np.ndarray:
        """Return the counts of every process. Collective.

        Returns
        -------
        ndarray of int64, shape (processes, counts)
        """
        return np.array([counts], np.int64)

    def share(self, length: int) -> tuple[int, int]:
        """Return the range of [0, length) that is this process's."""
        rank, processes = self.rank, self.processes
        return length * rank // processes, length * (rank + 1) // processes

    def ranges(self, length: int) -> list[tuple[int, int]]:
        """Return the ranges of [0, length) of the threads of this process."""
        begin, end = self.share(length)
        return [(begin + b, begin + e) for b, e in self.threads.ranges(end - begin)]

    def size_for(self, work: int) -> int:
        """Return how many members are worth waking for so much work of all."""
        each = work // (GRAIN * self.processes)
        return self.processes * max(1, min(self.most, each))

    def run(
        self, function: Callable[..., Any], work: int, *arguments: Any
    ) -> list[Any]:
        """Call a kernel of each member at once; return what those here return.

        Collective. In it the members may meet.

        Parameters
        ----------
        function : callable
            Takes the member, and then the arguments.
        work : int
            About how many elements all look at: few wake few threads.
        """
        size = self.size_for(work)
        here = size // self.processes
        first = here * self.rank
        members = [Member(first + i, size, self._words) for i in range(here)]
        return self.threads.at_once(function, [(m, *arguments) for m in members])


@kernel
def share_of(member, length):
    """Return the range of [0, length) that is this member's."""
    number, size, _ = member
    return length * number // size, length * (number + 1) // size


@kernel
def meet(member):
    """Wait for the other members; what they have written before is seen from here."""
    _, size, words = member
    meetings = load_atomic(words, MEETINGS)
    if add_atomic(words, ARRIVED, 1) == size - 1:
        words[ARRIVED] = 0
        add_atomic(words, MEETINGS, 1)
        if load_atomic(words, ASLEEP):
            wake(words, MEETINGS, EVERYONE)
        return
    for _ in range(LOOKS):
        if load_atomic(words, MEETINGS) != meetings:
            return
    # Who comes last counts the meeting, then looks for sleepers; so a member is seen to
    # sleep, or sees the meeting and does not.
    add_atomic(words, ASLEEP, 1)
    while load_atomic(words, MEETINGS) == meetings:
        sleep_while(words, MEETINGS, meetings)
    add_atomic(words, ASLEEP, -1)


@kernel
def say(member, count):
    """Tell the others a count; they may ask for it once all have met."""
    number, _, words = member
    words[SAID + LINE * number] = count


@kernel
def said(member):
    """Return the sum of what the members before this one have said, and of all."""
    number, size, words = member
    before = total = 0
    for other in range(size):
        before = total if other == number else before
        total += words[SAID + LINE * other]
    return before, total
