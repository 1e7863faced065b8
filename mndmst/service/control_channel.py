"""The channel on which rank 0 sends requests to the other ranks, and these report.

A rank that waits for a message of MPI keeps its processor busy. So the ranks wait on a
TCP connection to rank 0, for which the kernel wakes them, and then communicate by MPI
as in any run. On the same connections they report signals and their activity. A message
is a JSON object on a line.
"""

import contextlib
import json
import os
import secrets
import selectors
import socket
import time
from collections.abc import Callable
from threading import Lock, Thread
from typing import NamedTuple

from ..comm.authenticated_links import (
    TOKEN_BYTES,
    RankAddress,
    accept,
    connect,
    listen,
    local_address,
)
from ..comm.communicator import Comm
from ..comm.watchdog import end_job
from ..host.errors import ConfigError, MndmstError
from .protocol import JsonObject, Request
from .stall_watch import Activity, StallWatch, pause_of

# Bytes read at a time from a rank
REPORT_BYTES = 1 << 12


class RankMemory(NamedTuple):
    """Bytes that a rank has on its host, and of its accelerator; 0 without one."""

    resident: int
    gpu_total: int = 0
    gpu_free: int = 0


class ControlChannel:
    """The connections between rank 0 and the others; those have one each."""

    def __init__(self, links: list[socket.socket]) -> None:
        self._links, self._sending = links, Lock()
        self._from_rank_0 = links[0].makefile("rb") if links else None
        # On rank 0, the last report of each other rank.
        self.memory: dict[int, RankMemory] = {}
        for link in links:
            link.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            link.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)

    @classmethod
    def of(cls, comm: Comm) -> "ControlChannel":
        """Connect the ranks. Collective.

        Raises ConfigError on every rank if some cannot be reached.
        """
        here = RankAddress(
            socket.gethostname(), comm.rank, local_address(), os.getpid()
        )
        peers = comm.gather(here) or []
        listeners: list[socket.socket] = []
        links: list[socket.socket] = []
        with comm.raise_on_all(), _unreachable(comm.rank):
            listeners += [listen(here, peer) for peer in peers[1:]]
        addresses = comm.bcast([listener.getsockname() for listener in listeners])
        token = comm.bcast(secrets.token_bytes(TOKEN_BYTES))
        with comm.raise_on_all(), _unreachable(comm.rank):
            if comm.rank:
                links.append(connect(addresses[comm.rank - 1], token))
        with comm.raise_on_all(), _unreachable(comm.rank):
            links += [accept(listener, token, comm.progress) for listener in listeners]
        return cls(links)

    def send(self, message: Request) -> None:
        """Wake all other ranks with a message."""
        line = _line(message)
        for link in self._links:
            with contextlib.suppress(OSError):  # the watchdog names a lost rank
                link.sendall(line)

    def receive(self) -> Request:
        """Sleep until rank 0 sends a message.

        Raises MndmstError on this rank alone if rank 0 has gone.
        """
        assert self._from_rank_0 is not None
        line = self._from_rank_0.readline()
        if not line.endswith(b"\n"):
            raise MndmstError("rank 0 has ended, and the service with it")
        message: Request = json.loads(line)
        return message

    def ask_to_stop(self) -> None:
        """Report to rank 0 that this rank has got a signal to stop."""
        self._report(stop=True)

    def report_activity(
        self,
        activity: Callable[[], Activity],
        memory: Callable[[], RankMemory],
        seconds: float,
    ) -> None:
        """Report the activity and memory of this rank to rank 0 from now on.

        `seconds` is the bound of `StallWatch`.
        """

        def report() -> None:
            while self._report(activity=activity(), memory=memory()):
                time.sleep(pause_of(seconds))

        _start(report, "mndmst-report")

    def _report(self, **facts: object) -> bool:
        """Send facts to rank 0; return whether the connection took them."""
        with self._sending, contextlib.suppress(OSError):
            self._links[0].sendall(_line(facts))
            return True
        return False

    def listen(
        self,
        stop: Callable[[], object],
        watch: StallWatch,
        activity: Callable[[], Activity],
    ) -> None:
        """On rank 0, listen to the other ranks from now on, on a thread.

        The thread calls `stop` when another rank has got a signal to stop, and gives
        the activities of all ranks to `watch`; `activity` returns that of rank 0.
        """

        def listen() -> None:
            selector = selectors.DefaultSelector()
            unread = [b""] * (len(self._links) + 1)
            for rank, link in enumerate(self._links, 1):
                selector.register(link, selectors.EVENT_READ, rank)
            pause = pause_of(watch.seconds) or None
            while selector.get_map():
                for key, _ in selector.select(pause):
                    rank, more = key.data, b""
                    with contextlib.suppress(OSError):
                        more = self._links[rank - 1].recv(REPORT_BYTES)
                    if not more:
                        selector.unregister(key.fileobj)
                    *lines, unread[rank] = (unread[rank] + more).split(b"\n")
                    for facts in map(json.loads, lines):
                        if "stop" in facts:
                            stop()
                            continue
                        self.memory[rank] = RankMemory(*facts["memory"])
                        watch.report(rank, Activity(*facts["activity"]))
                if pause is not None:
                    watch.report(0, activity())
                    watch.check()

        if self._links:
            _start(listen, "mndmst-control")


def _start(target: Callable[[], object], name: str) -> None:
    """Start a thread whose failure ends the job, for the ranks depend on it."""

    def run() -> None:
        try:
            target()
        except Exception as error:
            end_job(
                f"the thread {name} failed ({type(error).__name__}: {error}). This is "
                "a fault of mndmst: start the service again, and report it."
            )

    Thread(target=run, name=name, daemon=True).start()


def _line(message: JsonObject) -> bytes:
    return json.dumps(message).encode() + b"\n"


@contextlib.contextmanager
def _unreachable(rank: int):  # type: ignore[no-untyped-def]
    try:
        yield
    except OSError as error:
        raise ConfigError(
            f"rank {rank} cannot connect with rank 0 ({error.strerror or error}). "
            "Check the network between the hosts, and start again."
        ) from error
