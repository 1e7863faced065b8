"""The CUDA backend: kernels of our own, run through CuPy.

Importing this package is cheap; CuPy is imported by `backend.py`.
"""

import ctypes
import os
import sys
from contextlib import suppress
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from threading import Thread
from typing import TYPE_CHECKING

from ...host.errors import optional

if TYPE_CHECKING:
    import cupy
    import numpy as np

    from ...graph.tuning import Tuning
    from ..base import HostBackend
    from .backend import CudaBackend

NAME = "cuda"
VISIBLE = "CUDA_VISIBLE_DEVICES"  # by which launchers show devices to a process
ARRAY_ATTRIBUTE = "__cuda_array_interface__"
DLPACK_DEVICES = 2, 13  # CUDA memory; managed memory
DEVICE_FILES = Path("/dev")
MOST_DEVICES = 1 << 10  # where the system does not list devices as files
DISTRIBUTIONS = ("cupy-cuda13x", "cupy-cuda12x")


def visibility() -> tuple[str | None, ...]:
    """Return what decides which devices this process sees; see `Accelerator`.

    Slurm may show each task its own device under the same number, and then lets the
    task open the file of this device alone.
    """
    return (os.environ.get(VISIBLE), *_device_files())


def unavailable() -> str | None:
    """Return None if CUDA can be used here, else the reason and the remedy."""
    if find_spec("cupy") is None:
        return "CuPy is not installed; pip install 'mndmst[cuda]'"
    try:
        import cupy

        count = cupy.cuda.runtime.getDeviceCount()
    except Exception as error:  # a broken driver shows in many kinds of error
        return f"CUDA does not start ({error}); check the driver with nvidia-smi"
    return None if count else "no CUDA device is visible; check CUDA_VISIBLE_DEVICES"


def device_count() -> int:
    """Return the number of visible CUDA devices."""
    import cupy

    return int(cupy.cuda.runtime.getDeviceCount())


def device_names() -> list[str]:
    """Return the names of the visible CUDA devices."""
    import cupy

    properties = cupy.cuda.runtime.getDeviceProperties
    return [properties(device)["name"].decode() for device in range(device_count())]


def device_ids() -> list[str]:
    """Return the names of the visible CUDA devices, each unique on the machine."""
    import cupy

    bus_id = cupy.cuda.runtime.deviceGetPCIBusId
    return [f"{name} at {bus_id(i)}" for i, name in enumerate(device_names())]


def device_bytes(device: int) -> int:
    """Return the bytes of memory of a visible device."""
    import cupy

    return int(cupy.cuda.runtime.getDeviceProperties(device)["totalGlobalMem"])


def make_device(
    device: int,
    host: "HostBackend | None" = None,
    limit: int = 0,
    tuning: "Tuning | None" = None,
) -> "CudaBackend":
    """Return a CUDA device; see `Accelerator.make_device`."""
    from .backend import CudaBackend

    return CudaBackend(device, host, limit, tuning)


def started() -> bool:
    """Return whether this process has run kernels; see `Accelerator.started`."""
    modules = sys.modules.get(f"{__name__}.modules")
    return modules is not None and modules.any_loaded()


def compile_kernels(into: Path | None, jobs: int | None) -> tuple[Path, int]:
    """Compile the kernels of graphs; see `Accelerator.compile_kernels`."""
    optional("cupy", "cuda")
    from .kernels import SOURCES

    return SOURCES.compile_all(into, jobs)


def as_arrays(*columns: object) -> "list[cupy.ndarray]":
    """Return arrays of CuPy, without copies."""
    optional("cupy", "cuda")
    import cupy

    def as_array(column: object) -> "cupy.ndarray":
        device = getattr(column, "__dlpack_device__", None)
        if hasattr(column, ARRAY_ATTRIBUTE) or device is None:
            return cupy.asarray(column)
        on_device = device()[0] in DLPACK_DEVICES
        return cupy.from_dlpack(column) if on_device else cupy.asarray(column)

    return [as_array(column) for column in columns]


def device_of(array: "cupy.ndarray") -> int:
    """Return the number of an array's device, once kernels have filled the array."""
    array.device.synchronize()
    return int(array.device.id)


def to_host(array: "cupy.ndarray") -> "np.ndarray":
    """Return a copy of an array in host memory."""
    return array.get()


def start_driver(local_rank: int) -> None:
    """Begin to start a process's device and to import CuPy, in a thread.

    Without CuPy or a driver do nothing: `unavailable` says so where the device is used.
    A process that sees no more devices than there are processes before it does nothing
    either: one of them may drive the device, and else it starts where it is used.
    """
    if find_spec("cupy") is None or local_rank >= _most_devices():
        return
    Thread(target=_start, args=(local_rank,), name="mndmst-driver").start()


def _most_devices() -> int:
    """Return at least the number of visible devices, without a call of the driver."""
    shown = os.environ.get(VISIBLE)
    listed = MOST_DEVICES if shown is None else len(shown.split(","))
    return min(listed, len(_device_files()) or MOST_DEVICES)


def _device_files() -> list[str]:
    """Return the files of CUDA devices that this process may open."""
    files = sorted(map(str, DEVICE_FILES.glob("nvidia[0-9]*")))
    return [file for file in files if os.access(file, os.R_OK | os.W_OK)]


def _start(local_rank: int) -> None:
    try:
        driver = ctypes.CDLL("libcuda.so.1")
    except OSError:
        return
    count = ctypes.c_int(0)
    if driver.cuInit(0) or driver.cuDeviceGetCount(ctypes.byref(count)):
        return
    if local_rank < count.value:
        driver.cuDevicePrimaryCtxRetain(ctypes.byref(ctypes.c_void_p()), local_rank)
        with suppress(Exception):  # `unavailable` names the error
            import_module("cupy")


def use_private_cache() -> None:
    """Point CuPy to a cache of kernels that no other user can change.

    To be called before CuPy compiles. Raises ConfigError without such a cache.
    """
    from ...host.caches import (
        fresh_directory,
        home_directory,
        report_refused_cache,
        weak_ancestor,
        weak_file_in,
    )

    given, home = os.environ.get("CUPY_CACHE_DIR"), home_directory()
    if not given and home is None:
        os.environ["CUPY_CACHE_DIR"] = str(fresh_directory())
        return
    directory = Path(given) if given else Path(home or "") / ".cupy" / "kernel_cache"
    try:
        weak = weak_ancestor(directory)
        if weak is None and directory.exists():
            weak = weak_file_in(directory)
    except OSError:
        return  # CuPy then cannot read it either
    if weak:
        fresh = fresh_directory()
        os.environ["CUPY_CACHE_DIR"] = str(fresh)
        report_refused_cache(directory, weak, fresh)
