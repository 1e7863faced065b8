"""The watchdog: ends a job that has lost a host or a rank, where MPI would hang.

The ranks, ordered by host, form a ring of TCP connections, and a thread of each rank
waits for messages of its two neighbours. The kernel of a machine answers keep-alive
probes even while its processes compute. So a rank that computes for an hour is not
lost, but a rank whose host or network has failed is, and the connection of a killed
rank closes. The first rank that detects a loss prints the error and notifies its
neighbours, which pass it on, so that the job ends on all hosts with any launcher.

Every few seconds the thread also sends a heartbeat. A suspended process (by SIGSTOP or
a scheduler) sends none, but may continue later: the job waits, and the rank before it
reports it to the user.
"""

import atexit
import contextlib
import os
import secrets
import selectors
import socket
import sys
import time
from collections.abc import Callable
from threading import Thread
from typing import NamedTuple, NoReturn

from ..host.launcher import end_launcher
from ..host.progress import notice_line
from .authenticated_links import (
    TOKEN_BYTES,
    RankAddress,
    accept,
    connect,
    listen,
    local_address,
)
from .communicator import Comm

# The longest time between two probes that the kernel accepts, in seconds.
LONGEST_PAUSE = 32767
LEAVING, LOST, RUNNING = b".", b"!", b"~"
SILENT = b"?"  # local only; never sent


class Pace(NamedTuple):
    """Times of a watchdog, in seconds."""

    grace: float = 2.0  # for the launcher to end the job before the watchdog does
    beat: float = 10.0  # between heartbeats
    quiet: float = 60.0  # without a heartbeat, until a rank counts as stopped


PACE = Pace()
Link = tuple[socket.socket, RankAddress]


class Heartbeat:
    """Heartbeats to and from the neighbours of a rank.

    The first link is to the rank after this one, which is watched, the second to the
    rank before. `say` writes a notice, `now` returns the time in seconds.
    """

    def __init__(
        self,
        links: list[Link],
        pace: Pace,
        say: Callable[[str], object],
        now: Callable[[], float] = time.monotonic,
    ) -> None:
        self._links, self._pace, self._say, self._now = links, pace, say, now
        self._missed = False
        self._begin()

    def _begin(self) -> None:
        now = self._now()
        self._due = now + self._pace.beat
        self._heard = [now] * len(self._links)

    def pause(self) -> float:
        """Return the seconds until the next `beat`."""
        return max(0.0, self._due - self._now())

    def hear(self, number: int) -> None:
        """Record a heartbeat of a neighbour."""
        self._heard[number] = self._now()
        if self._missed and number == 0:
            self._missed = False
            self._say(f"rank {self._links[0][1].rank} runs again")

    def beat(self) -> None:
        """Send a heartbeat if one is due, and report ranks without heartbeats."""
        late = self._now() - self._due
        if late < 0:
            return
        if late > self._pace.beat:
            self._begin()  # this process was stopped, and received nothing
        self._due = self._now() + self._pace.beat
        for number, (link, _) in enumerate(self._links):
            # The kernel would buffer unread heartbeats, and finally close the link.
            if not self._quiet(number):
                with contextlib.suppress(OSError):
                    link.send(RUNNING)
        if self._quiet(0) and not self._missed:
            self._missed = True
            peer = self._links[0][1]
            self._say(
                f"rank {peer.rank} on {peer.host} has not run for "
                f"{self._pace.quiet:g} s: it was stopped, or its machine is busy with "
                "something else. The other ranks wait for it; there, kill -CONT "
                f"{peer.process} lets it go on"
            )

    def _quiet(self, number: int) -> bool:
        return self._now() - self._heard[number] > self._pace.quiet


def _print(text: str, event: str = "notice") -> None:
    """Write a notice without the lock of `sys.stderr`, which may be held."""
    with contextlib.suppress(OSError):
        os.write(sys.stderr.fileno(), notice_line(text, event).encode())


def watch(comm: Comm, seconds: int) -> str:
    """Start the watchdog of this rank. Collective.

    It ends the job if a host is out of reach for `seconds`; 0 starts none. Returns the
    reason if the watchdog cannot start, else an empty text.
    """
    if comm.size == 1 or seconds == 0:
        return ""
    this = RankAddress(socket.gethostname(), comm.rank, local_address(), os.getpid())
    peers = comm.gather(this)
    ring = comm.bcast(sorted(peers) if peers else None)
    number = ring.index(this)
    before, after = ring[number - 1], ring[(number + 1) % comm.size]
    links, reason = [], ""
    try:
        links = _links(comm, this, before, after)
    except OSError as error:
        reason = f"rank {comm.rank} cannot reach its neighbours, rank {before.rank} on "
        reason += f"{before.host} and rank {after.rank} on {after.host}"
        reason += f" ({error.strerror or error})"
    first = comm.min(comm.rank if reason else comm.size)
    if first < comm.size:
        for link, _ in links:
            link.close()
        return str(comm.bcast(reason, root=first))
    atexit.register(Watchdog(this, links, seconds).dismiss)
    return ""


def _links(
    comm: Comm, this: RankAddress, before: RankAddress, after: RankAddress
) -> list[Link]:
    """Return connections to the rank after this one and to the one before. Collective.

    Raises OSError on this rank if one of them cannot be reached.
    """
    listener = None
    with contextlib.suppress(OSError):
        listener = listen(this, before)
    here: tuple[str, int] | None = listener.getsockname() if listener else None
    gathered = comm.gather(here) or []
    addresses, token = comm.bcast((gathered, secrets.token_bytes(TOKEN_BYTES)))
    there = addresses[after.rank]
    if listener is None or there is None:
        raise OSError("no port to listen at")
    link = connect(there, token)
    return [(link, after), (accept(listener, token, comm.progress), before)]


class Watchdog:
    """A thread that watches the two neighbours of a rank.

    `links` and `say` are as for `Heartbeat`. A host may be out of reach for `seconds`.
    `end` gets a message and ends this process.
    """

    def __init__(
        self,
        this: RankAddress,
        links: list[Link],
        seconds: int,
        end: Callable[[str], object] | None = None,
        say: Callable[[str], object] | None = None,
        pace: Pace | None = None,
    ) -> None:
        self.this = this
        self.pace = pace or PACE
        self._say = say or _print
        self.links = links
        self.seconds = seconds
        self._end = end or end_job
        self._dismissed = False
        for link, _ in links:
            keep_alive(link, seconds)
        Thread(target=self._watch, name="mndmst-watchdog", daemon=True).start()

    def dismiss(self) -> None:
        """Tell the neighbours that this rank ends normally."""
        self._dismissed = True
        self._send(LEAVING)
        for link, _ in self.links:
            with contextlib.suppress(OSError):
                link.shutdown(socket.SHUT_RDWR)

    def _send(self, message: bytes) -> None:
        for link, _ in self.links:
            with contextlib.suppress(OSError):
                link.send(message)

    def _watch(self) -> None:
        selector = selectors.DefaultSelector()
        for number, (link, _) in enumerate(self.links):
            selector.register(link, selectors.EVENT_READ, number)
        heartbeat = Heartbeat(self.links, self.pace, self._say)
        while selector.get_map():
            for key, _ in selector.select(heartbeat.pause()):
                message = _next_message(self.links[key.data][0])
                if message == RUNNING:
                    heartbeat.hear(key.data)
                    continue
                reason = self._reason(key.data, message)
                if reason is not None and not self._dismissed:
                    self._send(LOST)
                    self._end(reason)
                selector.unregister(key.fileobj)
            heartbeat.beat()

    def _reason(self, number: int, message: bytes) -> str | None:
        """Return why the job must end, or None if a neighbour has ended normally."""
        peer = self.links[number][1]
        if message == LEAVING:
            return None
        if message == LOST:
            return ""  # another rank has printed the error
        # One neighbour prints the error; the other one only if the first cannot.
        time.sleep(self.pace.grace * (number + (message != SILENT)))
        if message == SILENT:
            return (
                f"rank {self.this.rank} on {self.this.host} has had no sign of "
                f"{peer.host} (rank {peer.rank}) for {self.seconds} s. Check that "
                f"machine and the network between the two, then {_AGAIN}"
            )
        return (
            f"rank {peer.rank} on {peer.host} was killed, perhaps because its machine "
            f"was out of memory. Use more ranks or machines, or --memory, and {_AGAIN}"
        )


def _next_message(link: socket.socket) -> bytes:
    """Return a neighbour's next message; empty if its connection closed."""
    try:
        return link.recv(1)
    except ConnectionResetError:
        return b""
    except OSError:
        return SILENT


_AGAIN = "start again, with --resume where there is a checkpoint."


def keep_alive(link: socket.socket, seconds: int) -> None:
    """Enable keep-alive probes that give up after some seconds."""

    def pause(wished: float) -> int:
        return int(min(max(1, wished), LONGEST_PAUSE))

    for level, option, value in (
        (socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1),
        (socket.IPPROTO_TCP, socket.TCP_KEEPIDLE, pause(seconds / 3)),
        (socket.IPPROTO_TCP, socket.TCP_KEEPINTVL, pause(seconds / 6)),
        (socket.IPPROTO_TCP, socket.TCP_KEEPCNT, 127),
        (socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT, 1000 * seconds),
    ):
        link.setsockopt(level, option, value)


def end_job(message: str) -> NoReturn:
    """End this process at once; launchers then end the others."""
    if message:
        _print(f"error: {message}", "error")
        time.sleep(PACE.grace / 4)  # for the launcher to forward it
    end_launcher(2 * PACE.grace)
    os._exit(1)
