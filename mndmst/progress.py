"""What a run is doing, on standard error of rank 0."""

import sys
import time
from typing import Any, TextIO


class Progress:
    """One line for each stage, at most one in every `cadence` seconds in a log.

    Parameters
    ----------
    active : bool
        Whether this rank speaks.
    stream : file
    cadence : float
        Seconds between lines where the stream is not a terminal.
    """

    def __init__(
        self, active: bool, stream: TextIO | None = None, cadence: float = 2.0
    ) -> None:
        self.active = active
        self.stream = stream or sys.stderr
        self.cadence = 0.0 if self.stream.isatty() else cadence
        self.started = time.monotonic()
        self.last = -cadence

    def stage(self, name: str, **details: Any) -> None:
        """Say that a stage begins, unless the last line is recent."""
        now = time.monotonic() - self.started
        if now - self.last >= self.cadence:
            extra = " ".join(f"{key} {value}" for key, value in details.items())
            self.say(f"{name} {extra}".rstrip())
            self.last = now

    def edges(self, name: str, edges: int) -> None:
        """Say how many edges are left after a step, unless the last is recent."""
        self.stage(f"{name}: {edges:,} edges left")

    def say(self, text: str) -> None:
        """Say something at once."""
        if self.active:
            seconds = time.monotonic() - self.started
            self.stream.write(f"mndmst [{seconds:7.2f} s] {text}\n")
            self.stream.flush()
