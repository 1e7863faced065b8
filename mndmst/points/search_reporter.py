"""Progress of the search of a forest of points."""

from ..host.formatting import counted
from ..host.progress import Progress


class SearchReporter:
    """Writes how far a search is to a `Progress`; nothing without one.

    Parameters
    ----------
    progress : Progress, optional
    """

    def __init__(self, progress: Progress | None = None) -> None:
        self.progress = progress
        self.phase = "neighbours"

    def detail(self, text: str) -> None:
        """Write a detail, in a verbose run."""
        if self.progress is not None:
            self.progress.detail(text)

    def rows(self, done: int, total: int) -> None:
        """Write how many rows of a phase are searched."""
        if self.progress is not None:
            self.progress.stage(f"{self.phase}: {done:,} of {counted(total, 'row')}")

    def components(self, left: int) -> None:
        """Write how many components are left to join."""
        self.phase = f"joining, {counted(left, 'component')} left"
        if self.progress is not None:
            self.progress.stage(self.phase)
