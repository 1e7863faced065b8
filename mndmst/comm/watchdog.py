"""Ends a job that has lost a host or a rank: MPI would wait for it for ever.

The ranks, ordered by host, form a ring of TCP connections, and a thread of each waits
for news of its two neighbours. Nobody has to send anything: the kernel of a machine
answers keep-alive probes whatever its processes do. So a rank that computes for an
hour, or is suspended, is well, but one whose host or network is gone is not, and the
connection of one that was killed closes. Whoever learns it first says so and tells
its neighbours, who pass it on: the job ends everywhere, whatever the launcher does.
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

from .communicator import Comm
from .launcher import end_launcher

CONNECT_SECONDS = 10
PROGRESS_SECONDS = 0.01
# A launcher that has noticed by itself ends the job before a word of ours is needed.
GRACE_SECONDS = 2.0
TOKEN_BYTES = 16
# What the kernel takes between two probes, in seconds.
LONGEST_PAUSE = 32767
LEAVING, LOST = b".", b"!"


class Peer(NamedTuple):
    """Where a rank can be reached."""

    host: str
    rank: int
    address: str
    port: int


def watch(comm: Comm, seconds: int) -> str:
    """Watch over the job from now on until the process ends. Collective.

    Parameters
    ----------
    seconds : int
        How long a host may be out of reach; 0 does nothing.

    Returns
    -------
    str
        Why nobody watches, or nothing.
    """
    if comm.size == 1 or seconds == 0:
        return ""
    try:
        listener = socket.create_server(("", 0))
    except OSError:
        listener = None
    port = listener.getsockname()[1] if listener else 0
    own = Peer(socket.gethostname(), comm.rank, _address(), port)
    peers = comm.collect(own)
    ring = comm.share(sorted(peers) if peers else None)
    token = comm.share(secrets.token_bytes(TOKEN_BYTES))
    here = ring.index(own)
    before, after = ring[here - 1], ring[(here + 1) % comm.size]
    links, reason = [], ""
    try:
        if listener is None:
            raise OSError("no port to listen at")
        links.append((_connect(own, after, token), after))
        links.append((_accept(listener, token, comm.progress), before))
    except OSError as error:
        reason = f"rank {comm.rank} cannot reach rank {after.rank} on {after.host}"
        reason += f" ({error.strerror or error})"
    first = comm.min(comm.rank if reason else comm.size)
    if first < comm.size:
        for link, _ in links:
            link.close()
        return str(comm.share(reason, root=first))
    atexit.register(Watchdog(own, links, seconds).dismiss)
    return ""


class Watchdog:
    """Watches over the two neighbours of a rank on a thread of its own.

    Parameters
    ----------
    own : Peer
    links : list of (socket, Peer)
        Connections to the rank after this one and to the one before.
    seconds : int
        How long a host may be out of reach.
    end : callable
        Takes a message and ends this process; for tests.
    """

    def __init__(
        self,
        own: Peer,
        links: list[tuple[socket.socket, Peer]],
        seconds: int,
        end: Callable[[str], object] | None = None,
    ) -> None:
        self.own = own
        self.links = links
        self.seconds = seconds
        self._end = end or _end
        self._dismissed = False
        for link, _ in links:
            keep_alive(link, seconds)
        Thread(target=self._watch, name="mndmst-watchdog", daemon=True).start()

    def dismiss(self) -> None:
        """Tell the neighbours that this rank leaves in peace."""
        self._dismissed = True
        self._tell(LEAVING)
        for link, _ in self.links:
            with contextlib.suppress(OSError):
                link.shutdown(socket.SHUT_RDWR)

    def _tell(self, news: bytes) -> None:
        for link, _ in self.links:
            with contextlib.suppress(OSError):
                link.send(news)

    def _watch(self) -> None:
        selector = selectors.DefaultSelector()
        for number, (link, _) in enumerate(self.links):
            selector.register(link, selectors.EVENT_READ, number)
        while selector.get_map():
            for key, _ in selector.select():
                message = self._news(key.data)
                if message is not None and not self._dismissed:
                    self._tell(LOST)
                    self._end(message)
                selector.unregister(key.fileobj)

    def _news(self, number: int) -> str | None:
        """Return why the job must end, or None if a neighbour has left in peace."""
        link, peer = self.links[number]
        try:
            news = link.recv(1)
        except OSError as error:
            silent = not isinstance(error, ConnectionResetError)
            news = b""
        else:
            silent = False
        if news == LEAVING:
            return None
        if news == LOST:
            return ""  # somebody has told the user
        # One neighbour speaks; the other one only where the first cannot.
        time.sleep(GRACE_SECONDS * (number + (not silent)))
        if silent:
            return (
                f"rank {self.own.rank} on {self.own.host} has had no sign of "
                f"{peer.host} (rank {peer.rank}) for {self.seconds} s. Check that "
                f"machine and the network between the two, then {_AGAIN}"
            )
        return (
            f"rank {peer.rank} on {peer.host} was killed, perhaps because its machine "
            f"was out of memory. Use more ranks or machines, or --memory, and {_AGAIN}"
        )


_AGAIN = "start again, with --resume where there is a checkpoint."


def keep_alive(link: socket.socket, seconds: int) -> None:
    """Let the kernel ask the other end for a sign of life, and give it some time."""

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


def _end(message: str) -> NoReturn:
    """End this process at once; launchers then end the others."""
    if message:
        with contextlib.suppress(OSError):
            os.write(sys.stderr.fileno(), f"mndmst: error: {message}\n".encode())
        time.sleep(GRACE_SECONDS / 4)  # for the launcher to forward it
    end_launcher(2 * GRACE_SECONDS)
    os._exit(1)


def _address() -> str:
    """Return the address of this machine towards others, if there is one."""
    with contextlib.suppress(OSError), socket.socket(type=socket.SOCK_DGRAM) as probe:
        probe.connect(("192.0.2.1", 9))  # sends nothing; the network is reserved
        return str(probe.getsockname()[0])
    return ""


def _connect(own: Peer, peer: Peer, token: bytes) -> socket.socket:
    """Connect to a peer: by its name, or else by its address."""
    near = "127.0.0.1" if peer.host == own.host else peer.host
    failure = OSError("no address")
    for name in filter(None, (near, peer.address)):
        try:
            link = socket.create_connection((name, peer.port), CONNECT_SECONDS)
            link.sendall(token)
            link.settimeout(None)
            return link
        except OSError as error:
            failure = error
    raise failure


def _accept(
    listener: socket.socket, token: bytes, progress: Callable[[], None]
) -> socket.socket:
    """Return the connection of the neighbour, whom the token tells from strangers.

    The neighbour may still wait for a message of this rank, which some MPI libraries
    deliver only while the sender is in a call of theirs: so `progress` between looks.
    """
    deadline = time.monotonic() + 2 * CONNECT_SECONDS
    with listener:
        while True:
            link = _next(listener, deadline, progress)
            link.settimeout(1.0)
            with contextlib.suppress(OSError):
                if link.recv(TOKEN_BYTES, socket.MSG_WAITALL) == token:
                    link.settimeout(None)
                    return link
            link.close()


def _next(
    listener: socket.socket, deadline: float, progress: Callable[[], None]
) -> socket.socket:
    listener.settimeout(PROGRESS_SECONDS)
    while True:
        try:
            return listener.accept()[0]
        except TimeoutError:
            if time.monotonic() > deadline:
                raise
            progress()
