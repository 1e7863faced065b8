"""Devices that compute forests, all behind one interface (`base.Backend`).

`cpu/` (Numba) and the accelerators have the same steps. `ACCELERATORS` is the registry:
options, reports, arrays that lie on a device and the choice of devices follow it. Other
rooms make devices with the functions here and import no module of a device. A device is
imported when it is made.
"""

from collections.abc import Iterator
from importlib import import_module
from typing import TYPE_CHECKING, Protocol, cast

if TYPE_CHECKING:
    from pathlib import Path

    import numpy as np

    from ..graph.tuning import Tuning
    from .base import ArrayOnDevice, Device, HostBackend
    from .cpu.backend import CpuBackend

# The packages of the kinds of accelerators, by their names in `--backend`, in the order
# in which `auto` tries them.
ACCELERATORS = {"cuda": "mndmst.backends.cuda"}


class Accelerator(Protocol):
    """The contents of a package in `ACCELERATORS`; its import loads no driver."""

    NAME: str  # in `ACCELERATORS`
    ARRAY_ATTRIBUTE: str  # Most arrays on devices of this kind have it
    # DLPack's numbers of such devices; other libraries' arrays name theirs.
    DLPACK_DEVICES: tuple[int, ...]
    # Optional packages that reports name the versions of.
    DISTRIBUTIONS: tuple[str, ...]

    def visibility(self) -> tuple[str | None, ...]:
        """Return what decides which devices this process sees; loads no driver.

        Processes of a host see the same devices if these values are equal.
        """

    def unavailable(self) -> str | None:
        """Return why no device can be used, and the remedy; None if one can."""

    def device_names(self) -> list[str]:
        """Return the names of the visible devices."""

    def device_ids(self) -> list[str]:
        """Return names that are unique on this machine."""

    def device_bytes(self, device: int) -> int:
        """Return the bytes of memory of a visible device; this starts no device."""

    def start_driver(self, local_rank: int) -> None:
        """Begin to start a process's device in a thread, before MPI has started.

        A process without a device of its own starts nothing
        (`comm.placement.assigned_devices`).
        """

    def started(self) -> bool:
        """Return whether this process has run kernels on a device."""

    def compile_kernels(
        self, into: "Path | None", jobs: int | None
    ) -> "tuple[Path, int]":
        """Compile the kernels of graphs for all usual devices; none needs to be here.

        Returns a directory below `into`, or below the cache of this user, and the
        number of compiled modules there. Raises MndmstError if they cannot be compiled
        or written.
        """

    def make_device(
        self,
        device: int,
        host: "HostBackend | None" = None,
        limit: int = 0,
        tuning: "Tuning | None" = None,
    ) -> "Device":
        """Return a visible device by its number.

        `host` takes over small graphs, and steps for which the device lacks memory. The
        device may take `limit` bytes (0: no limit). Raises
        ConfigError if the device cannot be used.
        """

    def as_arrays(self, *columns: object) -> "list[ArrayOnDevice]":
        """Return arrays of the library for such devices, without copies."""

    def device_of(self, array: "ArrayOnDevice") -> int:
        """Return the number of an array's device, once the array is filled."""

    def to_host(self, array: "ArrayOnDevice") -> "np.ndarray":
        """Return a copy of an array in host memory."""


def backend_names() -> tuple[str, ...]:
    """Return the choices of `--backend`."""
    return ("auto", "cpu", *ACCELERATORS)


def accelerator(name: str) -> Accelerator:
    """Return a kind of accelerator by its name."""
    return cast(Accelerator, import_module(ACCELERATORS[name]))


def accelerators() -> Iterator[Accelerator]:
    """Yield all kinds of accelerators."""
    yield from map(accelerator, ACCELERATORS)


def find_accelerator(backend: str) -> tuple[Accelerator | None, str | None]:
    """Return the accelerator for a choice of `--backend`, or why there is none.

    `auto` takes the first kind that can be used. `cpu` has none, and no reason.
    """
    names = [] if backend == "cpu" else [backend]
    reasons = []
    for name in ACCELERATORS if backend == "auto" else names:
        kind = accelerator(name)
        reason = kind.unavailable()
        if reason is None:
            return kind, None
        reasons.append(reason)
    return None, "; ".join(reasons) or None


def holder_of(values: object) -> Accelerator | None:
    """Return the kind of accelerator on which an array lies; None for the host."""
    for kind in accelerators():
        if hasattr(values, kind.ARRAY_ATTRIBUTE):
            return kind
        if _dlpack_device(values) in kind.DLPACK_DEVICES:
            return kind
    return None


def _dlpack_device(values: object) -> int | None:
    """Return the number that DLPack gives the device of an array, if it has one."""
    try:
        return int(values.__dlpack_device__()[0])  # type: ignore[attr-defined]
    except Exception:  # no such array, or of a type that its library does not export
        return None


def cpu_device(threads: int = 1, tuning: "Tuning | None" = None) -> "CpuBackend":
    """Return the CPU as a device that computes with some threads."""
    from .cpu.backend import CpuBackend

    return CpuBackend(threads, tuning)


def few_arcs_device(threads: int = 1, tuning: "Tuning | None" = None) -> "CpuBackend":
    """Return the CPU as a device that solves few arcs without kernels."""
    from .cpu.backend import FewArcsBackend

    return FewArcsBackend(threads, tuning)
