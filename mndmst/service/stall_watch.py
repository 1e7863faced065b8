"""Ends a service whose ranks all wait for each other.

Every rank reports a few times in the bound whether it is idle, computes, or waits for
others, and a count that grows with every message. If no rank computes, some rank waits,
and no count has grown for the bound, no message is under way and none will be sent: the
ranks would wait forever, with their processors busy.

A rank that was stopped does not report, and then nothing is concluded.
"""

import time
from collections.abc import Callable
from typing import NamedTuple

from ..comm.communicator import Comm

# Reports in the time of the bound, and seconds between two at the most
REPORTS, LONGEST_PAUSE = 6, 5.0
# A rank has been silent if it misses this many reports.
MISSED = 3
# The bound once the service has been told to end
ENDING_SECONDS = 10.0
IDLE, COMPUTES, WAITS = range(3)


class Activity(NamedTuple):
    """The activity of the main thread of a rank."""

    state: int  # `IDLE`, `COMPUTES` or `WAITS`
    steps: int  # Grows with every message

    @classmethod
    def of(cls, comm: Comm, busy: bool) -> "Activity":
        """Return the activity of this rank; `busy` while it executes a request."""
        if comm.is_waiting:
            return cls(WAITS, comm.steps)
        return cls(COMPUTES if busy else IDLE, comm.steps)


def pause_of(seconds: float) -> float:
    """Return the seconds between two reports, for a bound."""
    return min(seconds / REPORTS, LONGEST_PAUSE)


class StallWatch:
    """The activities of all ranks, on rank 0.

    A rank that stalls for `seconds` (0: no bound) makes it call `end` with a message,
    which ends the job.
    """

    def __init__(
        self, ranks: int, seconds: float, end: Callable[[str], object]
    ) -> None:
        self.seconds, self._end = seconds, end
        self._known: list[Activity | None] = [None] * ranks
        self._since, self._heard = [0.0] * ranks, [0.0] * ranks
        self._silence = MISSED * pause_of(seconds)

    def hurry(self) -> None:
        """Use a short bound from now on: the service has been told to end."""
        self.seconds = min(self.seconds, ENDING_SECONDS)

    def report(self, rank: int, activity: Activity, now: float | None = None) -> None:
        """Note the activity of a rank."""
        now = time.monotonic() if now is None else now
        silent = now - self._heard[rank] > self._silence
        if silent or activity != self._known[rank]:
            self._known[rank], self._since[rank] = activity, now
        self._heard[rank] = now

    def check(self, now: float | None = None) -> None:
        """End the job if all ranks wait for each other."""
        now = time.monotonic() if now is None else now
        states = [None if each is None else each.state for each in self._known]
        if self.seconds == 0 or WAITS not in states:
            return
        if None in states or COMPUTES in states:
            return
        if now - min(self._heard) > self._silence:
            return
        if now - max(self._since) >= self.seconds:
            waiting = ", ".join(str(r) for r, s in enumerate(states) if s == WAITS)
            self._end(
                f"rank {waiting} of {len(states)} has waited for messages for "
                f"{self.seconds:g} s, and no rank computes one. This is a fault of "
                "mndmst: start the service again, and report the requests before."
            )
