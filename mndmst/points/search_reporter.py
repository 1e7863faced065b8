"""Progress of the search of a forest of points."""

import time

from ..host.formatting import counted
from ..host.progress import Progress

# Seconds of a phase after which the remaining time is estimated.
SOON = 2.0


class SearchReporter:
    """Writes the progress of a search to a `Progress`; nothing without one."""

    def __init__(self, progress: Progress | None = None) -> None:
        self.progress = progress
        self.phase = "neighbours"
        self._begun = self._since = time.monotonic()

    def detail(self, text: str) -> None:
        """Write a detail in a verbose run."""
        if self.progress is not None:
            self.progress.detail(text)

    def rows(self, done: int, total: int) -> None:
        """Write how many rows of a phase are done, and the remaining time."""
        if done == 0:
            self._since = time.monotonic()
        seconds = time.monotonic() - self._since
        estimate = ""
        if done and seconds > SOON:
            estimate = f", about {seconds * (total - done) / done:.0f} s left"
        self._write(f"{self.phase}: {done:,} of {counted(total, 'row')}{estimate}")

    def components(self, count: int) -> None:
        """Write the number of remaining components."""
        self.phase = f"joining, {counted(count, 'component')} left"
        self._write(self.phase)

    def _write(self, text: str) -> None:
        """Write a stage; in a log, only after the time between two lines has passed."""
        if self.progress is None:
            return
        if time.monotonic() - self._begun >= self.progress.cadence:
            self.progress.stage(text)
