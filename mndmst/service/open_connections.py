"""Cut the connections of clients to a server of this process.

Flight ends a server once all calls have ended, and offers Python no deadline. A client
that keeps a call open without a word would keep the process. A cut connection ends its
calls, as if the network had failed.
"""

import contextlib
import os
import socket
from pathlib import Path


def cut_connections(port: int, path: Path | None) -> int:
    """Shut down the connections that this process has accepted at an address.

    Parameters
    ----------
    port : int
        Of TCP.
    path : Path or None
        The socket in the file system in place of it.

    Returns
    -------
    int
        How many there were.
    """
    count = 0
    for name in os.listdir("/dev/fd"):  # noqa: PTH208 (names alone, not links)
        with contextlib.suppress(OSError), socket.socket(fileno=os.dup(int(name))) as s:
            if _accepted_at(s, port, path):
                s.shutdown(socket.SHUT_RDWR)
                count += 1
    return count


def _accepted_at(connection: socket.socket, port: int, path: Path | None) -> bool:
    """Return whether a socket is a connection that was accepted at an address."""
    if connection.getsockopt(socket.SOL_SOCKET, socket.SO_ACCEPTCONN):
        return False
    if connection.family == socket.AF_UNIX:
        return path is not None and connection.getsockname() == str(path)
    if path is None and connection.family in (socket.AF_INET, socket.AF_INET6):
        return bool(connection.getsockname()[1] == port)
    return False
