"""Progress of a run and notices, on standard error: a bar, lines, or JSON lines."""

import os
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, TextIO

from .formatting import counted, one_line, to_json

if TYPE_CHECKING:
    from tqdm import tqdm

LONG_SECONDS = 5  # Longer stages show the remaining time
_json_lines = False


def use_json_lines(wanted: bool) -> None:
    """Write progress and notices of this process as JSON lines, or as text."""
    global _json_lines
    _json_lines = wanted


def notice(text: str, event: str = "notice") -> None:
    """Write a notice to standard error; see `notice_line`."""
    sys.stderr.write(notice_line(text, event))
    sys.stderr.flush()


def notice_line(text: str, event: str = "notice") -> str:
    """Return a notice as a line of the log: text after `mndmst: `, or JSON."""
    line = json_line(event, text=text) if _json_lines else f"mndmst: {one_line(text)}"
    return line + "\n"


def json_line(event: str, **facts: object) -> str:
    """Return a JSON line of the log, without its line break.

    `time` among the facts replaces the present time.
    """
    return to_json({"time": round(time.time(), 3), "event": event, **facts})


class Progress:
    """A bar on a terminal, lines in a log, or JSON lines (`use_json_lines`).

    The bar needs tqdm. It shows the stage and the time and, once the number of edges is
    known, the share of processed edges, their rate, and the remaining time. Without
    tqdm, and in a log, there is a line for each stage, in a log at most one in
    `cadence` seconds. JSON lines name every stage. Only an active rank writes, and
    writes details only if `verbose`. `since` is the beginning of the run on the
    monotonic clock, by default the present time.
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
        self.json = _json_lines
        self.shown = ""
        self.cadence = 0.0 if terminal else cadence
        self.started = time.monotonic() if since is None else since
        self.last = -cadence
        shows_bar = active and terminal and not self.json
        self.bar = _bar(self.stream) if shows_bar else None

    def stage(self, name: str, **details: object) -> None:
        """Report the begin of a stage, unless the last line is recent."""
        text = " ".join([name, *(f"{key} {value}" for key, value in details.items())])
        if self.bar is not None:
            self.bar.set_description_str(f"mndmst {one_line(text)}")
            return
        now = time.monotonic() - self.started
        is_new = self.json and name.partition(":")[0] != self.shown
        if is_new or now - self.last >= self.cadence:
            self.shown = name.partition(":")[0]
            self.last = now
            if self.json:
                self._write_json("stage", stage=name, **details)
            else:
                self.say(text)

    def edges(self, name: str, edges: int) -> None:
        """Report the remaining edges after a step, unless the last line is recent.

        The first call reports the number of all edges.
        """
        if self.json:
            self._write_json("edges", stage=name, edges=int(edges))
            return
        if self.bar is None:
            self.stage(f"{name}: {counted(edges, 'edge')} left")
            return
        if self.bar.total is None:
            self.bar.bar_format = None
            self.bar.reset(edges)
        # A heavier band brings edges back; the bar does not go back for them.
        self.bar.update(max(0, self.bar.total - edges - self.bar.n))
        self.bar.refresh()

    def detail(self, text: str) -> None:
        """Write a line in a verbose run."""
        if self.verbose:
            self.say(text)

    def say(self, text: str) -> None:
        """Write a line immediately."""
        if not self.active:
            return
        if self.json:
            self._write_json("message", text=text)
            return
        seconds = time.monotonic() - self.started
        line = f"mndmst [{seconds:7.2f} s] {one_line(text)}"
        if self.bar is not None:
            self.bar.write(line, self.stream)
            return
        self.stream.write(line + "\n")
        self.stream.flush()

    def _write_json(self, event: str, **facts: object) -> None:
        if self.active:
            seconds = round(time.monotonic() - self.started, 3)
            self.stream.write(json_line(event, seconds=seconds, **facts) + "\n")
            self.stream.flush()

    def close(self) -> None:
        """Remove the bar; the next output begins on a new line."""
        if self.bar is not None:
            self.bar.close()
            self.bar = None


def progress_text(done: int, total: int, since: float) -> str:
    """Return the completed share of a stage, and its remaining time, as a text.

    `since` is the begin of the stage on the monotonic clock.
    """
    text = f"{100 * done // max(1, total)} %"
    seconds = time.monotonic() - since
    if seconds < LONG_SECONDS or not 0 < done < total:
        return text
    remaining = seconds * (total - done) / done
    time_text = f"{remaining:.0f} s" if remaining < 120 else f"{remaining / 60:.0f} min"
    return f"{text}, about {time_text} left"


def _bar(stream: TextIO) -> "tqdm | None":
    """Return a bar that counts nothing yet, or None without tqdm."""
    try:
        from tqdm import tqdm
    except ImportError:
        return None
    return tqdm(
        file=stream,
        unit=" edges",
        unit_scale=True,
        dynamic_ncols=True,
        leave=False,
        bar_format="{desc} [{elapsed}]",
    )


def process_start() -> float:
    """Return the start of this process on the clock of `time.monotonic`.

    It is the present time if the system does not report the start.
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
