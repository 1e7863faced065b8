"""The progress of a run, on standard error of rank 0."""

import os
import sys
import time
from pathlib import Path
from typing import Any, TextIO

from .formatting import counted


class Progress:
    """A bar on a terminal, lines in a log.

    The bar needs tqdm and shows the stage, the share of the edges that are
    done, their rate, and the time left. Without it, and in a log, there is a line for
    each stage, in a log at most one in every `cadence` seconds.

    Parameters
    ----------
    active : bool
        Whether this rank writes.
    stream : file
    cadence : float
        Seconds between lines where the stream is not a terminal.
    since : float, optional
        When the run began, as `time.monotonic` counts; now by default.
    verbose : bool
        Whether to write details, too.
    """

    def __init__(
        self,
        active: bool,
        stream: TextIO | None = None,
        cadence: float = 2.0,
        since: float | None = None,
        verbose: bool = False,
    ) -> None:
        self.active = active
        self.verbose = verbose
        self.stream = stream or sys.stderr
        terminal = self.stream.isatty()
        self.cadence = 0.0 if terminal else cadence
        self.started = time.monotonic() if since is None else since
        self.last = -cadence
        self.bar = _bar(self.stream) if active and terminal else None

    def stage(self, name: str, **details: Any) -> None:
        """Say that a stage begins, unless the last line is recent."""
        text = " ".join([name, *(f"{key} {value}" for key, value in details.items())])
        if self.bar is not None:
            self.bar.set_description_str(f"mndmst {text}")
            return
        now = time.monotonic() - self.started
        if now - self.last >= self.cadence:
            self.say(text)
            self.last = now

    def edges(self, name: str, edges: int) -> None:
        """Say how many edges are left after a step, unless the last line is recent.

        The first call tells how many there are.
        """
        if self.bar is None:
            self.stage(f"{name}: {counted(edges, 'edge')} left")
            return
        if self.bar.total is None:
            self.bar.reset(edges)
        # A heavier band brings edges back; the bar does not go back for them.
        self.bar.update(max(0, self.bar.total - edges - self.bar.n))
        self.bar.refresh()

    def detail(self, text: str) -> None:
        """Say a detail, in a verbose run only."""
        if self.verbose:
            self.say(text)

    def say(self, text: str) -> None:
        """Say something at once."""
        if not self.active:
            return
        seconds = time.monotonic() - self.started
        line = f"mndmst [{seconds:7.2f} s] {text}"
        if self.bar is not None:
            self.bar.write(line, self.stream)
            return
        self.stream.write(line + "\n")
        self.stream.flush()

    def close(self) -> None:
        """Remove the bar; the next output begins on a new line."""
        if self.bar is not None:
            self.bar.close()
            self.bar = None


def _bar(stream: TextIO) -> Any:
    """Return a bar, or None without tqdm."""
    try:
        from tqdm import tqdm
    except ImportError:
        return None
    return tqdm(
        file=stream, unit=" edges", unit_scale=True, dynamic_ncols=True, leave=False
    )


def process_start() -> float:
    """Return when this process began, as `time.monotonic` counts.

    If the system does not say, now.
    """
    now = time.monotonic()
    try:
        fields = Path("/proc/self/stat").read_text().rpartition(")")[2].split()
        ticks = int(fields[19])  # starttime, see proc(5)
        return (
            now
            - time.clock_gettime(time.CLOCK_BOOTTIME)
            + ticks / os.sysconf("SC_CLK_TCK")
        )
    except (OSError, AttributeError):
        return now
