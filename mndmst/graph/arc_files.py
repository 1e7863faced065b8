"""Rows in files, which the driver of a device copies to it through pinned memory."""

from collections.abc import Sequence
from contextlib import AbstractContextManager
from typing import NamedTuple, Protocol

import numpy as np

from .order import KeyRule


class Driver(NamedTuple):
    """The addresses of C functions of a device's driver, and the device's context.

    Each function returns 0 or the number of an error.
    """

    enter: int  # cuCtxSetCurrent: makes a context the calling thread's
    copy: int  # cuMemcpyHtoDAsync: begins a copy (target, source, bytes, stream)
    wait: int  # cuStreamSynchronize: waits for the copies on a stream
    context: int


class Lane(NamedTuple):
    """Pinned memory (uint8), and the stream on which its contents are copied."""

    memory: np.ndarray
    stream: int


class OpenArcs(Protocol):
    """All arcs of some rows, in open files."""

    @property
    def piece_bytes(self) -> int:
        """Bytes that the memory of a lane needs."""

    def copy(
        self, driver: Driver, lanes: Sequence[tuple[Lane, Lane]], ids: int, weights: int
    ) -> int:
        """Read all arcs, verify the checksums, and copy the arcs to a device.

        A thread reads into one lane of a pair while the other one is copied. `ids` and
        `weights` are addresses of arrays on the device. Returns 0 or the number of the
        driver's error. Raises InputError if a file is damaged.
        """


class ArcFiles(Protocol):
    """The files of rows that a device reads without an array of them on the host."""

    @property
    def rule(self) -> KeyRule:
        """The map of the bits of weights to keys."""

    def opened(self) -> AbstractContextManager[OpenArcs | None]:
        """Open the files; None if only the host can unpack their arcs."""
