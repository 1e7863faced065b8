"""The runtime of the emulated device."""

from pathlib import Path
from typing import Any

from . import memory

FREE, TOTAL = 6 << 30, 8 << 30
_opened: dict[int, Any] = {}


class CUDARuntimeError(RuntimeError):
    """An error of the runtime."""

    def __init__(self, status: int) -> None:
        super().__init__(f"error {status}")
        self.status = status


def getDeviceCount() -> int:  # noqa: N802
    """Return one."""
    return 1


def getDeviceProperties(device: int) -> dict[str, Any]:  # noqa: N802
    """Return the device's name and memory."""
    return {"name": b"emulated", "totalGlobalMem": TOTAL}


def deviceGetPCIBusId(device: int) -> str:  # noqa: N802
    """Return a name of the device that is unique on a host."""
    return "0000:00:00.0"


def memGetInfo() -> tuple[int, int]:  # noqa: N802
    """Return the free and all bytes."""
    return FREE, TOTAL


def runtimeGetVersion() -> int:  # noqa: N802
    """Return a version that no toolkit has, so that caches keep its code apart."""
    return 99000


def hostRegister(ptr: int, nbytes: int, flags: int) -> None:  # noqa: N802
    """Do nothing."""


def hostUnregister(ptr: int) -> None:  # noqa: N802
    """Do nothing."""


def ipcGetMemHandle(ptr: int) -> bytes:  # noqa: N802
    """Return the name of an allocation."""
    return memory.allocated[ptr].encode()


def ipcOpenMemHandle(handle: bytes) -> int:  # noqa: N802
    """Return the address of another process's allocation."""
    with Path(handle.decode()).open("r+b") as file:
        mapping, ptr = memory.mapped(file.fileno())
    _opened[ptr] = mapping
    return ptr


def ipcCloseMemHandle(ptr: int) -> None:  # noqa: N802
    """Forget another process's allocation."""
    del _opened[ptr]
