"""Arcs that are being read, and threads that follow."""

from threading import Condition

from ..host.errors import InputError


class Arrival:
    """How far arcs have been read, for a thread that follows those that read."""

    def __init__(self) -> None:
        self._changed = Condition()
        self._ends: dict[int, int] = {}
        self._reached = 0
        self._failed = False

    def note(self, low: int, high: int) -> None:
        """Note that the arcs [low, high) are there; the ranges come in any order."""
        with self._changed:
            self._ends[low] = high
            while self._reached in self._ends:
                self._reached = self._ends.pop(self._reached)
            self._changed.notify_all()

    def fail(self) -> None:
        """Note that no more will come."""
        with self._changed:
            self._failed = True
            self._changed.notify_all()

    def wait(self, arc: int) -> None:
        """Wait until all arcs before one are there.

        Raises
        ------
        InputError
            If they will not come; the error of the thread that reads them says why.
        """
        with self._changed:
            self._changed.wait_for(lambda: self._failed or self._reached >= arc)
            if self._reached < arc:
                raise InputError("the arcs before have not been read")
