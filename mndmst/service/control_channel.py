"""The channel on which rank 0 sends requests to the other ranks, and these report.

A rank that waits for a message of MPI keeps its processor busy. So the ranks wait on a
TCP connection to rank 0, for which the kernel wakes them, and then communicate by MPI
as in any run. On the same connections they report signals and their activity.
"""

import contextlib
import json
import os
import secrets
import selectors
import socket
import struct
import time
from collections.abc import Callable
from threading import Lock, Thread
from typing import Any, NamedTuple

from ..comm.authenticated_links import (
    TOKEN_BYTES,
    RankAddress,
    accept,
    connect,
    listen,
    own_address,
)
from ..comm.communicator import Comm
from ..comm.watchdog import end_job
from ..host.errors import ConfigError, MndmstError
from ..host.memory import resident_bytes
from .stall_watch import ACTIVITY_BYTES, Activity, StallWatch, pause_of

_LENGTH = struct.Struct("<I")
_RESIDENT = struct.Struct("<Q")
# Frames of a rank to rank 0 have this length: a kind, an activity, resident bytes.
_FRAME_BYTES = 1 + ACTIVITY_BYTES + _RESIDENT.size
STOP, REPORT = b"S", b"R"


class ControlChannel:
    """The connections between rank 0 and the others.

    Parameters
    ----------
    links : list of socket
        On rank 0 one for each other rank, elsewhere the one to rank 0.

    Attributes
    ----------
    resident : dict of int
        On rank 0, the resident bytes that other ranks have reported last, by rank.
    """

    def __init__(self, links: list[socket.socket]) -> None:
        self._links, self._sending = links, Lock()
        self.resident: dict[int, int] = {}
        for link in links:
            link.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            link.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)

    @classmethod
    def of(cls, comm: Comm) -> "ControlChannel":
        """Connect the ranks. Collective.

        Raises
        ------
        ConfigError
            On every rank, if some cannot be reached.
        """
        own = RankAddress(socket.gethostname(), comm.rank, own_address(), os.getpid())
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
            with contextlib.suppress(OSError):  # the watchdog names a lost rank
                link.sendall(_LENGTH.pack(len(text)) + text)

    def receive(self) -> dict[str, Any]:
        """Sleep until rank 0 sends a message.

        Raises
        ------
        MndmstError
            On this rank alone, if rank 0 has gone.
        """
        (length,) = _LENGTH.unpack(self._read(_LENGTH.size))
        return dict(json.loads(self._read(length)))

    def _read(self, length: int) -> bytes:
        data = b""
        while len(data) < length:
            more = self._links[0].recv(length - len(data))
            if not more:
                raise MndmstError("rank 0 has ended, and the service with it")
            data += more
        return data

    def ask_to_stop(self) -> None:
        """Report to rank 0 that this rank has got a signal to stop."""
        self._report(STOP, Activity(0, 0))

    def report_activity(self, activity: Callable[[], Activity], seconds: float) -> None:
        """Report the activity of this rank to rank 0 from now on, on a thread.

        Parameters
        ----------
        seconds : float
            The bound of `StallWatch`.
        """

        def report() -> None:
            while self._report(REPORT, activity()):
                time.sleep(pause_of(seconds))

        _start(report, "mndmst-report")

    def _report(self, kind: bytes, activity: Activity) -> bool:
        """Send a frame to rank 0; return whether the connection took it."""
        with self._sending, contextlib.suppress(OSError):
            resident = _RESIDENT.pack(resident_bytes())
            self._links[0].sendall(kind + activity.packed() + resident)
            return True
        return False

    def listen(
        self,
        stop: Callable[[], object],
        watch: StallWatch,
        activity: Callable[[], Activity],
    ) -> None:
        """On rank 0, listen to the other ranks from now on, on a thread.

        Parameters
        ----------
        stop : callable
            Called when another rank has got a signal to stop.
        watch : StallWatch
            Receives the activities of all ranks.
        activity : callable
            Returns the activity of rank 0.
        """

        def listen() -> None:
            selector = selectors.DefaultSelector()
            for rank, link in enumerate(self._links, 1):
                selector.register(link, selectors.EVENT_READ, _Frames(rank))
            pause = pause_of(watch.seconds) or None
            while selector.get_map():
                for key, _ in selector.select(pause):
                    frames = key.data.read(key.fileobj)
                    if frames is None:
                        selector.unregister(key.fileobj)
                        continue
                    for frame in frames:
                        if frame.kind == STOP:
                            stop()
                        else:
                            self.resident[key.data.rank] = frame.resident
                            watch.report(key.data.rank, frame.activity)
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


class _Frame(NamedTuple):
    """A report of a rank."""

    kind: bytes
    activity: Activity
    resident: int


class _Frames:
    """The frames that arrive from one rank."""

    def __init__(self, rank: int) -> None:
        self.rank, self._data = rank, b""

    def read(self, link: Any) -> list[_Frame] | None:
        """Return the frames that have arrived whole, None if the rank has gone."""
        more = b""
        with contextlib.suppress(OSError):
            more = link.recv(64 * _FRAME_BYTES)
        if not more:
            return None
        self._data += more
        whole = len(self._data) // _FRAME_BYTES * _FRAME_BYTES
        frames = []
        for begin in range(0, whole, _FRAME_BYTES):
            frame = self._data[begin : begin + _FRAME_BYTES]
            activity = Activity.unpacked(frame[1 : 1 + ACTIVITY_BYTES])
            (resident,) = _RESIDENT.unpack(frame[1 + ACTIVITY_BYTES :])
            frames.append(_Frame(frame[:1], activity, resident))
        self._data = self._data[whole:]
        return frames


@contextlib.contextmanager
def _unreachable(rank: int):  # type: ignore[no-untyped-def]
    try:
        yield
    except OSError as error:
        raise ConfigError(
            f"rank {rank} cannot connect with rank 0 ({error.strerror or error}). "
            "Check the network between the hosts, and start again."
        ) from error
