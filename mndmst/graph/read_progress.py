"""Progress of an ongoing read, for the consumers of its arcs."""

from typing import Protocol


class ReadProgress(Protocol):
    """Lets a consumer wait for arcs that are still being read."""

    def wait(self, arc: int) -> None:
        """Wait until all arcs before `arc` have been read.

        Raises
        ------
        InputError
            If reading has failed; the error of the reading thread says why.
        """
