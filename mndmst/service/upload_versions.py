"""The versions that uploads belong to, as their clients have named them."""

import time
from threading import Lock
from typing import NamedTuple

from ..host.errors import InputError

# Versions of uploads that no request has used are dropped after this time.
KEPT_SECONDS = 600.0
# Key of the version in the metadata of an upload's schema
VERSION = b"version"


class UploadVersion(NamedTuple):
    """The version of a graph that an upload belongs to."""

    graph: str
    number: int


class UploadVersions:
    """The version of each upload that names one, on one rank; thread-safe."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._known: dict[str, tuple[float, UploadVersion]] = {}

    def note(self, upload: str, version: UploadVersion) -> None:
        """Keep the version of an upload."""
        now = time.monotonic()
        with self._lock:
            for name, (since, _) in list(self._known.items()):
                if since < now - KEPT_SECONDS:
                    del self._known[name]
            self._known[upload] = now, version

    def take(self, upload: str) -> UploadVersion | None:
        """Return the version of an upload and drop it; None if it names none."""
        with self._lock:
            return self._known.pop(upload, (0.0, None))[1]


def read_version(metadata: dict[bytes, bytes] | None) -> int | None:
    """Return the version that the metadata of a schema names, None without one.

    Raises
    ------
    InputError
        If it is not a number.
    """
    text = (metadata or {}).get(VERSION)
    if text is None:
        return None
    if not text.isdigit() or len(text) > 18:
        raise InputError(
            f"the upload's schema has version {text[:40]!r}; give the number that the "
            "service has named"
        )
    return int(text)
