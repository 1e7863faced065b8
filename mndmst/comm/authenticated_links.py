"""Authenticated TCP connections between neighbouring ranks of a ring.

A rank listens on the loopback interface if the rank before it is on the same host, else
on the address towards that rank's host. Other programs may connect there, too, but only
ranks have the token, which MPI distributes.
"""

import contextlib
import hmac
import math
import selectors
import socket
import time
from collections.abc import Callable
from typing import NamedTuple

CONNECT_SECONDS = 10
PROGRESS_SECONDS = 0.01
TOKEN_BYTES = 16
# A rank sends the token at once. Other connections are closed after this time.
TOKEN_SECONDS = 5.0
# Connections without a token; if there are more, the oldest is closed.
MOST_UNAUTHENTICATED = 64
# Connections that the kernel keeps until they are accepted.
BACKLOG = 1024
LOOPBACK = "127.0.0.1"


class RankAddress(NamedTuple):
    """A rank, its process and host; `address` is the host's, empty if unknown."""

    host: str
    rank: int
    address: str
    process: int


def listen(this: RankAddress, before: RankAddress) -> socket.socket:
    """Return a listening socket for connections from the rank before this one.

    Raises OSError if there is no address or port for it.
    """
    near = before.host == this.host
    return socket.create_server(
        (LOOPBACK if near else _address_towards(before), 0), backlog=BACKLOG
    )


def local_address() -> str:
    """Return the address of this machine in its network; empty without one."""
    # The address is reserved for documentation; a datagram socket sends nothing here.
    return _route("192.0.2.1") or ""


def _address_towards(peer: RankAddress) -> str:
    """Return the address of this machine on the route to another rank's."""
    for name in filter(None, (peer.host, peer.address)):
        address = _route(name)
        if address and not address.startswith("127."):
            return address
    raise OSError(f"no route to {peer.host}")


def _route(name: str) -> str | None:
    with contextlib.suppress(OSError), socket.socket(type=socket.SOCK_DGRAM) as probe:
        probe.connect((name, 9))
        return str(probe.getsockname()[0])
    return None


def connect(address: tuple[str, int], token: bytes) -> socket.socket:
    """Connect to a listening rank, and send the token; raise OSError if that fails."""
    link = socket.socket()  # numeric addresses need no name lookup
    try:
        link.settimeout(CONNECT_SECONDS)
        link.connect(address)
        link.sendall(token)
        link.settimeout(None)
    except OSError:
        link.close()
        raise
    return link


def accept(
    listener: socket.socket,
    token: bytes,
    progress: Callable[[], None],
    seconds: float = 2 * CONNECT_SECONDS,
    token_seconds: float = TOKEN_SECONDS,
    poll_seconds: float = PROGRESS_SECONDS,
) -> socket.socket:
    """Return the connection of the rank before, and close the listener.

    That rank may still wait for a message of this one, which some MPI libraries deliver
    only while the sender calls them; therefore `progress` is called between polls.
    Raises OSError unless the rank connects within `seconds`, and then sends the token
    within `token_seconds`.
    """
    deadline = time.monotonic() + seconds
    listener.setblocking(False)
    with listener, selectors.DefaultSelector() as selector:
        selector.register(listener, selectors.EVENT_READ)
        pending = _Unauthenticated(selector, token_seconds)
        try:
            while time.monotonic() < deadline:
                for key, _ in selector.select(poll_seconds):
                    if key.fileobj is listener:
                        pending.admit(listener)
                        continue
                    link = key.data
                    if hmac.compare_digest(pending.receive(link), token):
                        return pending.release(link)
                pending.expire(time.monotonic())
                progress()
        finally:
            pending.expire(math.inf)
    raise TimeoutError("the neighbour has not connected in time")


class _Unauthenticated:
    """Connections that have not sent the token: a few, each for a limited time."""

    def __init__(self, selector: selectors.BaseSelector, seconds: float) -> None:
        self._selector, self._seconds = selector, seconds
        self._until: dict[socket.socket, float] = {}  # in the order they came
        self._received: dict[socket.socket, bytes] = {}

    def admit(self, listener: socket.socket) -> None:
        """Accept a connection; close the oldest if there are too many."""
        try:
            link, _ = listener.accept()
        except OSError:
            return  # the connection has closed
        if len(self._until) == MOST_UNAUTHENTICATED:
            self.release(next(iter(self._until))).close()
        link.setblocking(False)
        self._until[link] = time.monotonic() + self._seconds
        self._received[link] = b""
        self._selector.register(link, selectors.EVENT_READ, link)

    def receive(self, link: socket.socket) -> bytes:
        """Return the bytes received on a link; drop the link if no more can follow."""
        if link not in self._received:
            return b""  # the connection has closed
        received = self._received[link]
        with contextlib.suppress(OSError):
            received += link.recv(TOKEN_BYTES - len(received))
        if self._received[link] == received:
            self.release(link).close()
        else:
            self._received[link] = received
            if len(received) == TOKEN_BYTES:
                self._until[link] = 0.0  # `expire` closes it, unless this is the token
        return received

    def expire(self, now: float) -> None:
        """Close the connections whose time is over at the time `now`."""
        for link in [link for link, until in self._until.items() if until < now]:
            self.release(link).close()

    def release(self, link: socket.socket) -> socket.socket:
        """Forget a connection, and return it in blocking mode."""
        self._selector.unregister(link)
        del self._until[link], self._received[link]
        link.setblocking(True)
        return link
