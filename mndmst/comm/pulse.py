"""Finds a rank that has been stopped: its process is silent, but not ended.

The thread of the watchdog tells its neighbours every few seconds that its process runs.
A process that was suspended (SIGSTOP, or by a scheduler) cannot, and may continue
later: the job waits, and the rank before it says for which rank.
"""

import contextlib
import os
import socket
import sys
import time

from .meeting import RankAddress

RUNNING = b"~"
BEAT_SECONDS = 10.0
QUIET_SECONDS = 60.0

Link = tuple[socket.socket, RankAddress]


class Pulse:
    """What the neighbours of a rank have said of themselves.

    Parameters
    ----------
    links : list of (socket, Peer)
        Connections to the rank after this one, which is told of, and to the one
        before.
    """

    def __init__(self, links: list[Link]) -> None:
        self._links = links
        self._missed = False
        self._begin()

    def _begin(self) -> None:
        now = time.monotonic()
        self._due = now + BEAT_SECONDS
        self._heard = [now] * len(self._links)

    def pause(self) -> float:
        """Return the seconds until the next `beat`."""
        return max(0.0, self._due - time.monotonic())

    def hear(self, number: int) -> None:
        """Note that a neighbour runs."""
        self._heard[number] = time.monotonic()
        if self._missed and number == 0:
            self._missed = False
            _say(f"rank {self._links[0][1].rank} runs again")

    def beat(self) -> None:
        """Send a heartbeat if one is due, and report ranks without heartbeats."""
        late = time.monotonic() - self._due
        if late < 0:
            return
        if late > BEAT_SECONDS:
            self._begin()  # this process was stopped, and received nothing
        self._due = time.monotonic() + BEAT_SECONDS
        for number, (link, _) in enumerate(self._links):
            # Unread heartbeats would stay in the network, and the kernel's patience
            # with that has an end.
            if not self._quiet(number):
                with contextlib.suppress(OSError):
                    link.send(RUNNING)
        if self._quiet(0) and not self._missed:
            self._missed = True
            peer = self._links[0][1]
            _say(
                f"rank {peer.rank} on {peer.host} has not run for {QUIET_SECONDS:g} s: "
                "it was stopped, or its machine is busy with something else. The other "
                f"ranks wait for it; there, kill -CONT {peer.process} lets it go on"
            )

    def _quiet(self, number: int) -> bool:
        return time.monotonic() - self._heard[number] > QUIET_SECONDS


def _say(text: str) -> None:
    with contextlib.suppress(OSError):
        os.write(sys.stderr.fileno(), f"mndmst: {text}\n".encode())
