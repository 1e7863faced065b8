"""Sockets in the file system that a rank listens at.

gRPC takes the place of any socket that has the name. So a rank first makes sure that no
service listens there, and removes at the end only the socket that it has made itself.
"""

import fcntl
import os
import re
import socket
import stat
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

from ..host.errors import ConfigError

# `sun_path` of Linux without its end; macOS has 103
MOST_BYTES = 107
# Ranks append their number to the name: a dot and at most 6 digits
SUFFIX_BYTES = 7
# An address is a URI, and clients differ in how they read others
_PLAIN = re.compile(r"[A-Za-z0-9._~/@+=,-]+")


def check_name(path: Path) -> Path:
    """Return the absolute name of a socket that clients can write in an address.

    Raises
    ------
    ConfigError
        If there is none.
    """
    name = str(path.absolute())
    if not _PLAIN.fullmatch(name):
        wrong = sorted(set(_PLAIN.sub("", name)))
        raise ConfigError(
            f"--socket {path}: an address cannot have {' '.join(map(repr, wrong))}; "
            "give a name of letters, digits and . _ ~ / @ + = , -"
        )
    if len(os.fsencode(name)) > MOST_BYTES - SUFFIX_BYTES:
        raise ConfigError(
            f"--socket {path}: a socket's full name has at most "
            f"{MOST_BYTES - SUFFIX_BYTES} bytes; give a shorter one, such as one in "
            "/run or /tmp"
        )
    if not Path(name).parent.is_dir():
        raise ConfigError(f"--socket {path}: its directory is not there; make it")
    return Path(name)


class OwnSocket:
    """A socket that this process has made; without a path there is none."""

    def __init__(self, path: Path | None) -> None:
        self._path = path
        self._made: os.stat_result | None = None

    def made(self) -> None:
        """Note that the socket is there, and let the user alone use it."""
        if self._path is not None:
            self._path.chmod(0o600)
            self._made = self._path.lstat()

    def remove(self) -> None:
        """Remove the socket if it is still the one of this process."""
        if self._path is None or self._made is None:
            return
        with suppress(FileNotFoundError):
            if os.path.samestat(self._path.lstat(), self._made):
                self._path.unlink()


@contextmanager
def own_socket(path: Path | None) -> Iterator[OwnSocket]:
    """Give a name to a block that listens there, if no other process does.

    Raises
    ------
    ConfigError
        If a service listens there, or the name is that of another file.
    """
    own = OwnSocket(path)
    if path is None:
        yield own
        return
    with _locked(path.parent):
        _check_free(path)
        yield own
        own.made()


@contextmanager
def _locked(folder: Path) -> Iterator[None]:
    """Let one service at a time look for a name and take it, where locks work."""
    with ExitStack() as stack:
        with suppress(OSError):  # not readable, or without locks
            file = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
            stack.callback(os.close, file)
            fcntl.flock(file, fcntl.LOCK_EX)
        yield


def _check_free(path: Path) -> None:
    try:
        mode = path.lstat().st_mode
    except FileNotFoundError:
        return
    if not stat.S_ISSOCK(mode):
        raise ConfigError(
            f"--socket {path}: is there already, and is not a socket. Move it away, "
            "or give another name."
        )
    with socket.socket(socket.AF_UNIX) as link:
        try:
            link.connect(str(path))
        except ConnectionRefusedError:  # a killed process has left it
            return
        except OSError as error:
            raise ConfigError(
                f"--socket {path}: cannot be looked at ({error.strerror}). Give "
                "another name."
            ) from error
    raise ConfigError(
        f"--socket {path}: another process listens there. End it, or give another name."
    )
