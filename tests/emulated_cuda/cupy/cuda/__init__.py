"""Memory, streams and kernels of the emulated device."""

import ctypes
import mmap
import threading
import time
from tempfile import NamedTemporaryFile
from types import MappingProxyType
from typing import Any

import numpy as np

from . import driver, memory
from . import nvrtc as nvrtc
from . import runtime as runtime

_launching = threading.Lock()  # the emulator has one set of fibers
Memory = memory.Memory


class MemoryPointer:
    """An address of the device; `nbytes` follow it."""

    def __init__(self, mem: Any, offset: int, ptr: int = 0, nbytes: int = 0) -> None:
        self.mem, self.ptr = mem, ptr or mem.ptr + offset
        self._nbytes = nbytes

    def _check(self, nbytes: int) -> None:
        if nbytes > self._nbytes:
            raise IndexError(f"a copy of {nbytes} bytes to an array of {self._nbytes}")

    def copy_from_host_async(self, source: int, nbytes: int, stream: "Stream") -> None:
        """Copy bytes of the host."""
        self._check(nbytes)
        ctypes.memmove(self.ptr, source, nbytes)

    def copy_to_host_async(self, target: int, nbytes: int, stream: "Stream") -> None:
        """Copy bytes to the host."""
        self._check(nbytes)
        ctypes.memmove(target, self.ptr, nbytes)

    def copy_from_device_async(
        self, source: "MemoryPointer", nbytes: int, stream: "Stream"
    ) -> None:
        """Copy bytes of the device."""
        self._check(nbytes)
        source._check(nbytes)
        ctypes.memmove(self.ptr, source.ptr, nbytes)

    def memset_async(self, value: int, nbytes: int) -> None:
        """Fill bytes."""
        self._check(nbytes)
        ctypes.memset(self.ptr, value, nbytes)


class UnownedMemory:
    """Memory of another process."""

    def __init__(self, ptr: int, size: int, owner: Any, device_id: int) -> None:
        self.ptr = ptr


class PinnedMemory(mmap.mmap):
    """Memory of the host."""


def alloc_pinned_memory(nbytes: int) -> PinnedMemory:
    """Return memory of the host."""
    return PinnedMemory(-1, nbytes)


class _Current:
    def __enter__(self) -> Any:
        return self

    def __exit__(self, *_: object) -> None:
        pass


class Device(_Current):
    """The only device; streams and threads share it."""

    compute_capability = "90"
    attributes = MappingProxyType(
        {"MultiProcessorCount": 1, "MaxSharedMemoryPerBlockOptin": 232448}
    )

    def __init__(self, number: int = 0) -> None:
        self.id = number

    def synchronize(self) -> None:
        """Return at once: everything is done."""


class Stream(_Current):
    """A queue whose work is done when it is submitted."""

    def __init__(self, non_blocking: bool = False) -> None:
        self.ptr = id(self)

    def synchronize(self) -> None:
        """Return at once."""

    def record(self) -> "Event":
        """Return an event that has happened."""
        return Event()

    def wait_event(self, event: "Event") -> None:
        """Return at once."""


class Event:
    """A moment."""

    def __init__(self, disable_timing: bool = False) -> None:
        self.time = 0.0

    def record(self, stream: Stream | None = None) -> None:
        """Note the time."""
        self.time = time.perf_counter()

    def synchronize(self) -> None:
        """Return at once."""


def get_elapsed_time(begin: Event, end: Event) -> float:
    """Return milliseconds."""
    return 1000 * (end.time - begin.time)


def get_current_stream() -> Stream:
    """Return a stream."""
    return Stream()


class Module:
    """Compiled kernels."""

    def load(self, code: bytes) -> None:
        """Load a library that `nvrtc` has made."""
        if code[1:4] != b"ELF":
            raise driver.CUDADriverError("no code for this device")
        with NamedTemporaryFile(suffix=".so") as file:
            file.write(code)
            file.flush()
            self._library = ctypes.CDLL(file.name)

    def get_function(self, name: str) -> "Function":
        """Return a kernel."""
        return Function(self._library, name)


class Function:
    """A kernel, whose arguments are compared with its parameters."""

    def __init__(self, library: ctypes.CDLL, name: str) -> None:
        self._name, self._launch = name, library[f"launch_{name}"]
        codes = library[f"codes_{name}"]
        codes.restype = ctypes.POINTER(ctypes.c_char_p)
        self._codes, found = [], codes()
        while found[len(self._codes)] is not None:
            self._codes.append(found[len(self._codes)].decode())
        self.ptr = id(self)

    def __call__(
        self,
        grid: tuple[int, ...],
        block: tuple[int, ...],
        args: tuple[Any, ...],
        shared_mem: int = 0,
        enable_cooperative_groups: bool = False,
    ) -> None:
        """Run the kernel."""
        if len(args) != len(self._codes):
            raise TypeError(f"{self._name} takes {len(self._codes)}, not {len(args)}")
        given = [self._argument(*pair) for pair in zip(args, self._codes, strict=True)]
        if not (0 < block[0] <= 1024 and grid[0] > 0):
            raise ValueError(
                f"{self._name}: a grid of {grid} blocks of {block} threads"
            )
        if shared_mem > driver.shared_bytes.get(self.ptr, 48 << 10):
            raise ValueError(f"{self._name}: {shared_mem} bytes of shared memory")
        addresses = (ctypes.c_void_p * len(given))(*map(ctypes.addressof, given))
        with _launching:
            self._launch(grid[0], block[0], addresses, shared_mem)

    def _argument(self, value: Any, code: str) -> Any:
        """Return an argument as the kernel takes it.

        Raises
        ------
        TypeError
            If a type differs, or an array is on the host or not contiguous.
        """
        if code[0] == "*":
            if isinstance(value, np.uint64) and value == 0:
                return ctypes.c_void_p(0)
            if type(value).__module__ != "cupy":
                raise TypeError(f"{self._name}: {type(value)} for an array of a device")
            if value.size and not value.flags.c_contiguous:
                raise TypeError(f"{self._name}: an array that is not contiguous")
            kind = value.dtype.kind.replace("b", "u") + str(value.dtype.itemsize)
            if code[1:] and code[1:] != kind:
                raise TypeError(f"{self._name}: an array of {value.dtype} for {code}")
            return ctypes.c_void_p(value.ctypes.data if value.size else 0)
        dtype = getattr(value, "dtype", None)
        if dtype is None or dtype.kind + str(dtype.itemsize) != code:
            raise TypeError(f"{self._name}: {value!r} of {dtype} for {code}")
        return (ctypes.c_char * dtype.itemsize).from_buffer_copy(value.tobytes())
