"""Rank 0 tells the other ranks what to do; they sleep meanwhile.

A message of MPI is waited for with the processor busy. So the ranks wait on a
TCP connection to rank 0, which the kernel wakes them for, and then communicate by MPI
as in any run.
"""

import contextlib
import json
import os
import secrets
import selectors
import socket
import struct
from collections.abc import Callable
from threading import Thread
from typing import Any

from ..comm.communicator import Comm
from ..comm.meeting import TOKEN_BYTES, Peer, accept, connect, listen, own_address
from ..host.errors import ConfigError

_LENGTH = struct.Struct("<I")
STOP = b"S"


class Wake:
    """The connections between rank 0 and the others.

    Parameters
    ----------
    links : list of socket
        On rank 0 one for each other rank, elsewhere the one to rank 0.
    """

    def __init__(self, links: list[socket.socket]) -> None:
        self._links = links
        for link in links:
            link.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            link.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)

    @classmethod
    def of(cls, comm: Comm) -> "Wake":
        """Connect the ranks. Collective.

        Raises
        ------
        ConfigError
            On every rank, if some cannot be reached.
        """
        own = Peer(socket.gethostname(), comm.rank, own_address(), os.getpid())
        peers = comm.gather(own) or []
        listeners: list[socket.socket] = []
        links: list[socket.socket] = []
        with comm.raise_on_all(), _unreachable(comm.rank):
            listeners += [listen(own, peer) for peer in peers[1:]]
        places = comm.bcast([listener.getsockname() for listener in listeners])
        token = comm.bcast(secrets.token_bytes(TOKEN_BYTES))
        with comm.raise_on_all(), _unreachable(comm.rank):
            if comm.rank:
                links.append(connect(places[comm.rank - 1], token))
        with comm.raise_on_all(), _unreachable(comm.rank):
            links += [accept(listener, token, comm.progress) for listener in listeners]
        return cls(links)

    def send(self, message: dict[str, Any]) -> None:
        """Wake all other ranks with a message."""
        text = json.dumps(message).encode()
        for link in self._links:
            with contextlib.suppress(OSError):  # the watchdog tells who has gone
                link.sendall(_LENGTH.pack(len(text)) + text)

    def receive(self) -> dict[str, Any] | None:
        """Sleep until rank 0 sends a message; return None if it has gone."""
        (length,) = _LENGTH.unpack(self._read(_LENGTH.size) or _LENGTH.pack(0))
        text = self._read(length)
        return dict(json.loads(text)) if text else None

    def _read(self, length: int) -> bytes:
        said = b""
        while len(said) < length:
            more = self._links[0].recv(length - len(said))
            if not more:
                return b""
            said += more
        return said

    def ask_to_stop(self) -> None:
        """Tell rank 0 that this rank has been told to stop."""
        with contextlib.suppress(OSError):
            self._links[0].send(STOP)

    def listen_for_stop(self, stop: Callable[[], object]) -> None:
        """On rank 0, call a function when another rank has been told to stop."""

        def listen() -> None:
            selector = selectors.DefaultSelector()
            for link in self._links:
                selector.register(link, selectors.EVENT_READ, link)
            while selector.get_map():
                for key, _ in selector.select():
                    with contextlib.suppress(OSError):
                        if key.data.recv(1) == STOP:
                            stop()
                            continue
                    selector.unregister(key.fileobj)

        if self._links:
            Thread(target=listen, name="mndmst-stop", daemon=True).start()


@contextlib.contextmanager
def _unreachable(rank: int):  # type: ignore[no-untyped-def]
    try:
        yield
    except OSError as error:
        raise ConfigError(
            f"rank {rank} cannot connect with rank 0 ({error.strerror or error}). "
            "Check the network between the hosts, and start again."
        ) from error
