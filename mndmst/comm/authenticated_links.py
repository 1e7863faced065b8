"""How the ranks of a ring connect: each with the next, and with no stranger.

A rank listens where only the rank before it can reach it: on the loopback interface if
both are on one host, else on the address that leads to that rank's host. A stranger
may connect there, too; only ranks know the token, which MPI distributes.
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
# Who connects says the token at once; a stranger is given as long, and no longer.
TOKEN_SECONDS = 5.0
# Of more strangers than this the one that came first has to go.
MOST_STRANGERS = 64
# Connections that the kernel keeps until they are accepted.
BACKLOG = 1024
LOOPBACK = "127.0.0.1"


class RankAddress(NamedTuple):
    """A rank and its host; `address` leads there from others, if it is not empty."""

    host: str
    rank: int
    address: str
    process: int


def listen(own: RankAddress, before: RankAddress) -> socket.socket:
    """Return a socket that listens where the rank before this one can reach it.

    Raises
    ------
    OSError
        If there is no address or port for it.
    """
    near = before.host == own.host
    return socket.create_server(
        (LOOPBACK if near else _address_towards(before), 0), backlog=BACKLOG
    )


def own_address() -> str:
    """Return the address of this machine towards others, if there is one."""
    # Sends nothing; the network is reserved for documentation.
    return _route("192.0.2.1") or ""


def _address_towards(peer: RankAddress) -> str:
    """Return the address of this machine on the way to another rank's."""
    for name in filter(None, (peer.host, peer.address)):
        address = _route(name)
        if address and not address.startswith("127."):
            return address
    raise OSError(f"no way to {peer.host}")


def _route(name: str) -> str | None:
    with contextlib.suppress(OSError), socket.socket(type=socket.SOCK_DGRAM) as probe:
        probe.connect((name, 9))
        return str(probe.getsockname()[0])
    return None


def connect(place: tuple[str, int], token: bytes) -> socket.socket:
    """Connect to where a rank listens, and show it the token.

    Raises
    ------
    OSError
        If it cannot be reached.
    """
    link = socket.create_connection(place, CONNECT_SECONDS)
    link.sendall(token)
    link.settimeout(None)
    return link


def accept(
    listener: socket.socket, token: bytes, progress: Callable[[], None]
) -> socket.socket:
    """Return the connection of the rank before, and close the listener.

    That rank may still wait for a message of this one, which some MPI libraries
    deliver only while the sender is in a call of theirs: so `progress` between looks.

    Raises
    ------
    OSError
        If it does not come.
    """
    deadline = time.monotonic() + 2 * CONNECT_SECONDS
    listener.setblocking(False)
    with listener, selectors.DefaultSelector() as selector:
        selector.register(listener, selectors.EVENT_READ)
        strangers = _Strangers(selector)
        try:
            while time.monotonic() < deadline:
                for key, _ in selector.select(PROGRESS_SECONDS):
                    if key.fileobj is listener:
                        strangers.come(listener)
                        continue
                    link = key.data
                    if hmac.compare_digest(strangers.hear(link), token):
                        return strangers.let_go(link)
                strangers.end(time.monotonic())
                progress()
        finally:
            strangers.end(math.inf)
    raise TimeoutError("it has not come in time")


class _Strangers:
    """Connections that have not shown the token yet: few, each for a limited time."""

    def __init__(self, selector: selectors.BaseSelector) -> None:
        self._selector = selector
        self._until: dict[socket.socket, float] = {}  # in the order they came
        self._said: dict[socket.socket, bytes] = {}

    def come(self, listener: socket.socket) -> None:
        """Let one come; if there are too many the first one has to go."""
        try:
            link, _ = listener.accept()
        except OSError:
            return  # it has gone again
        if len(self._until) == MOST_STRANGERS:
            self.let_go(next(iter(self._until))).close()
        link.setblocking(False)
        self._until[link] = time.monotonic() + TOKEN_SECONDS
        self._said[link] = b""
        self._selector.register(link, selectors.EVENT_READ, link)

    def hear(self, link: socket.socket) -> bytes:
        """Return the bytes received on a link; drop the link if no more can follow."""
        if link not in self._said:
            return b""  # has gone meanwhile
        said = self._said[link]
        with contextlib.suppress(OSError):
            said += link.recv(TOKEN_BYTES - len(said))
        if self._said[link] == said:
            self.let_go(link).close()
        else:
            self._said[link] = said
            if len(said) == TOKEN_BYTES:
                self._until[link] = 0.0  # goes next, unless this is the token
        return said

    def end(self, now: float) -> None:
        """Close the connections of those whose time is over."""
        for link in [link for link, until in self._until.items() if until < now]:
            self.let_go(link).close()

    def let_go(self, link: socket.socket) -> socket.socket:
        """Forget one, and return the connection as a blocking one."""
        self._selector.unregister(link)
        del self._until[link], self._said[link]
        link.setblocking(True)
        return link
