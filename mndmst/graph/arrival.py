"""Arcs that are being read, for those who follow."""

from typing import Protocol


class Arrival(Protocol):
    """How far arcs have been read."""

    def wait(self, arc: int) -> None:
        """Wait until all arcs before one are there.

        Raises
        ------
        InputError
            If they will not come; the error of the thread that reads them says why.
        """
