"""Access to the service: addresses, sockets, tokens, TLS.

It listens on the loopback interface or at a socket in the file system, and every
request must show a token, which is in a file for the user alone. Any other address
needs TLS, or `--insecure`.
"""

import atexit
import hmac
import ipaddress
import os
import re
import secrets
import socket
import ssl
import stat
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

from ..host.errors import ConfigError
from ..io.file_access import opened, unreadable, write_at
from ..io.owned_files import BusyError, LockFile, OwnFile, sweep

LEAST_TOKEN, MOST_TOKEN = 16, 1024
MOST_PEM_BYTES = 1 << 20
ANYWHERE = ("0.0.0.0", "::", "")


@dataclass(frozen=True)
class Access:
    """The address of the service, and the credentials that clients must show."""

    host: str = "127.0.0.1"
    port: int = 0  # 0 takes a free one
    path: Path | None = None  # A socket in the file system, in place of host and port
    token: str = ""
    # PEM; empty without TLS.
    certificate: bytes = b""
    key: bytes = b""

    @property
    def local(self) -> bool:
        """Whether only this host can reach the service."""
        return self.path is not None or is_loopback(self.host)

    def location(self, rank: int) -> str:
        """Return the location at which a rank listens, in Flight's form."""
        if self.path is not None:
            return f"grpc+unix://{self.socket_of(rank)}"
        if rank == 0:
            return f"{self._scheme}://{bracketed(self.host)}:{self.port}"
        host = self.host if is_loopback(self.host) else self._own_host()
        return f"{self._scheme}://{bracketed(host)}:0"

    def reachable(self, rank: int, port: int) -> str:
        """Return the location at which clients reach a rank that listens at a port."""
        if self.path is not None:
            return self.location(rank)
        near = is_loopback(self.host) or (rank == 0 and self.host not in ANYWHERE)
        host = self.host if near else self._own_host()
        return f"{self._scheme}://{bracketed(host)}:{port}"

    def socket_of(self, rank: int) -> Path:
        """Return the socket of a rank."""
        assert self.path is not None
        return self.path if rank == 0 else Path(f"{self.path}.{rank}")

    def admits(self, header: str) -> bool:
        """Return whether the header `authorization` has the token."""
        expected = f"Bearer {self.token}".encode()
        return hmac.compare_digest(header.encode(errors="replace"), expected)

    @property
    def _scheme(self) -> str:
        return "grpc+tls" if self.certificate else "grpc+tcp"

    def _own_host(self) -> str:
        if self.certificate:  # which names a host, not its address
            return socket.gethostname()
        from ..comm.authenticated_links import local_address

        return local_address() or self.host


def is_loopback(host: str) -> bool:
    """Return whether an address is reached from its own host only."""
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def read_listen(text: str, option: str = "--listen") -> tuple[str, int]:
    """Read HOST:PORT, an address of version 6 in brackets.

    Raises ConfigError if it is something else.
    """
    host, colon, port = text.rpartition(":")
    if not colon or not port.isdecimal() or int(port) > 65535:
        raise ConfigError(
            f"{option} {text}: is not HOST:PORT; write for example 127.0.0.1:0, where "
            "0 takes a free port"
        )
    return host.removeprefix("[").removesuffix("]"), int(port)


def check_open(
    access: Access, token_given: bool, insecure: bool, option: str = "--listen"
) -> None:
    """Refuse to listen on a network without a token of the user's and TLS.

    Raises ConfigError, which names the missing options.
    """
    if access.local or insecure:
        return
    missing = [] if token_given else ["--token-file"]
    missing += [] if access.certificate else ["--tls-cert and --tls-key"]
    if missing:
        raise ConfigError(
            f"{option} {access.host} can be reached from other hosts: give "
            f"{' and '.join(missing)}, or --insecure"
        )


def read_pem(path: Path) -> bytes:
    """Return a certificate; raise ConfigError if there is none."""
    return _check_pem(path, _read(path, MOST_PEM_BYTES, secret=False))


def read_keys(certificate: Path, key: Path) -> tuple[bytes, bytes]:
    """Return a certificate and its key, which is in a file that only the user reads.

    Raises ConfigError if either is missing, others can read the key, or it is of
    another certificate.
    """
    texts = read_pem(certificate), read_secret(key, MOST_PEM_BYTES)
    _check_pem(key, texts[1])
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    try:
        context.load_cert_chain(certificate, key, password=lambda: "")
    except ssl.SSLError as error:
        if "MISMATCH" in (error.reason or ""):
            raise ConfigError(
                f"{key}: is the key of another certificate than {certificate}; give "
                "the two that belong together"
            ) from error
        if b"ENCRYPTED" in texts[1]:
            raise ConfigError(
                f"{key}: is encrypted, and the service cannot ask for its password; "
                "give a key without one, in a file of mode 0600"
            ) from error
        reason = (error.reason or str(error)).lower().replace("_", " ")
        raise ConfigError(
            f"{certificate} and {key} are not a certificate and its key ({reason})"
        ) from error
    return texts


def read_token(path: Path) -> str:
    """Return the token in a file that only the user can read.

    Raises ConfigError if it is missing, others can read it, or it is too short.
    """
    token = read_secret(path, MOST_TOKEN + 1).decode(errors="replace").strip()
    if not LEAST_TOKEN <= len(token) <= MOST_TOKEN or not token.isprintable():
        raise ConfigError(
            f"{path}: a token has {LEAST_TOKEN} to {MOST_TOKEN} printable characters"
        )
    return token


def read_secret(path: Path, most: int) -> bytes:
    """Return the first bytes of a file that only the user can read or write.

    Access control lists show in the mode: its bits of the group are their mask. Raises
    ConfigError if it is missing, belongs to another user than this one and root, or
    others can read or write it.
    """
    return _read(path, most, secret=True)


def _read(path: Path, most: int, secret: bool) -> bytes:
    try:
        with opened(path) as file:
            status = os.fstat(file.fileno())
            if secret and status.st_uid not in (0, os.geteuid()):
                raise ConfigError(
                    f"{path}: belongs to user {status.st_uid}, not to you; "
                    "give a file of your own"
                )
            if secret and stat.S_IMODE(status.st_mode) & 0o077:
                raise ConfigError(
                    f"{path}: others may read the secret in it; chmod 600 {path}"
                )
            return bytes(file.read(most))
    except OSError as error:
        raise unreadable(path, error) from error


def _check_pem(path: Path, text: bytes) -> bytes:
    if b"-----BEGIN " not in text:
        raise ConfigError(
            f"{path}: is not a PEM file; give a certificate or key in PEM"
        )
    return text


def find_token(path: Path | None) -> tuple[str, Path]:
    """Return the token, and the file where it is; make both if there is no file.

    A file of an automatic name is removed when this process ends, or by a later call if
    this process is killed. Raises ConfigError if the file cannot serve.
    """
    if path is None:
        # Those of services that were killed
        sweep(Path(tempfile.gettempdir()).glob(f"{TOKEN_PREFIX}*{TOKEN_SUFFIX}"))
        return _automatic_token()
    if path.exists():
        return read_token(path), path
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW
    try:
        handle = os.open(path, flags, 0o600)
    except OSError as error:
        raise ConfigError(
            f"{path}: cannot be made ({error.strerror}); give another --token-file"
        ) from error
    with os.fdopen(handle, "w") as file:
        token = secrets.token_urlsafe(32)
        file.write(token + "\n")
    return token, path


# The names of automatic token files, in the folder for temporary files
TOKEN_PREFIX, TOKEN_SUFFIX = "mndmst-", ".token"


def _automatic_token() -> tuple[str, Path]:
    """Make a token file that is locked until this process ends."""
    folder = Path(tempfile.gettempdir())

    def draw() -> Path:
        return folder / f"{TOKEN_PREFIX}{secrets.token_hex(4)}{TOKEN_SUFFIX}"

    file = LockFile.make(draw, 0o600)
    atexit.register(_remove_token, file)
    token = secrets.token_urlsafe(32)
    write_at(file.handle, f"{token}\n".encode(), 0)
    return token, file.path


def _remove_token(file: LockFile) -> None:
    file.removable.remove()
    file.close()


def bracketed(host: str) -> str:
    """Return a host as an address has it: in brackets if it is of IP version 6."""
    return f"[{host}]" if ":" in host else host


# `sun_path` of Linux without its end; macOS has 103
SOCKET_BYTES = 107
# Ranks append their number to the name: a dot and at most 6 digits
SUFFIX_BYTES = 7
# An address is a URI, and clients differ in how they read others
_PLAIN = re.compile(r"[A-Za-z0-9._~/@+=,-]+")


def check_name(path: Path) -> Path:
    """Return the absolute name of a socket that clients can write in an address.

    Raises ConfigError if there is none.
    """
    name = str(path.absolute())
    if not _PLAIN.fullmatch(name):
        wrong = sorted(set(_PLAIN.sub("", name)))
        raise ConfigError(
            f"--socket {path}: an address cannot have {' '.join(map(repr, wrong))}; "
            "give a name of letters, digits and . _ ~ / @ + = , -"
        )
    if len(os.fsencode(name)) > SOCKET_BYTES - SUFFIX_BYTES:
        raise ConfigError(
            f"--socket {path}: a socket's full name has at most "
            f"{SOCKET_BYTES - SUFFIX_BYTES} bytes; give a shorter one, such as one in "
            "/run or /tmp"
        )
    if not Path(name).parent.is_dir():
        raise ConfigError(f"--socket {path}: its directory is not there; make it")
    return Path(name)


class OwnSocket:
    """The Unix socket that this process has made; nothing without a path."""

    def __init__(self, path: Path | None) -> None:
        self._path = path
        self._made: OwnFile | None = None

    def made(self) -> None:
        """Record that the socket exists, and restrict it to the user."""
        if self._path is not None:
            self._path.chmod(0o600)
            self._made = OwnFile.at(self._path)

    def remove(self) -> None:
        """Remove the socket if it is still the one of this process."""
        if self._made is not None:
            self._made.remove()


@contextmanager
def own_socket(path: Path | None) -> Iterator[OwnSocket]:
    """Reserve the name of a socket while a block begins to listen there.

    gRPC takes over any socket of that name, so the name is checked first, and at the
    end only the socket of this process is removed. Raises ConfigError if a service
    listens there, or the name is that of another file.
    """
    reserved = OwnSocket(path)
    if path is None:
        yield reserved
        return
    with locked_folder(path.parent):
        _check_free(path)
        yield reserved
        reserved.made()


@contextmanager
def locked_folder(folder: Path) -> Iterator[None]:
    """Let one service at a time look for a name and take it, where locks work.

    Raises ConfigError if another process keeps the folder locked.
    """
    with ExitStack() as stack:
        try:
            opened_folder = LockFile(folder.resolve(), os.O_RDONLY | os.O_DIRECTORY)
            stack.enter_context(opened_folder).lock()
        except BusyError as error:
            raise ConfigError(
                f"{folder}: another process keeps this folder locked (flock). End it, "
                "or give a name in another folder."
            ) from error
        except OSError:  # not readable
            pass
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
