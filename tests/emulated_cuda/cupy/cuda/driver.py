"""The driver of the emulated device, which is found by the name of CUDA's library."""

import ctypes
import subprocess
from pathlib import Path
from tempfile import TemporaryDirectory

SOURCE = Path(__file__).parents[2] / "driver.cpp"


class CUDADriverError(RuntimeError):
    """An error of the driver."""


def occupancyMaxActiveBlocksPerMultiprocessor(  # noqa: N802
    function: int, threads: int, shared: int
) -> int:
    """Return one block: the blocks of a grid run one after the other."""
    return 1


CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES = 8
shared_bytes: dict[int, int] = {}  # by function; 48 KB without an entry


def funcSetAttribute(function: int, attribute: int, value: int) -> None:  # noqa: N802
    """Let a kernel have more shared memory."""
    shared_bytes[function] = value


def _load() -> ctypes.CDLL:
    """Load the driver; the system then finds a loaded library by its name."""
    with TemporaryDirectory() as folder:
        library = Path(folder) / "libcuda.so.1"
        subprocess.run(
            ["g++", "-O1", "-fPIC", "-shared", "-Wl,-soname,libcuda.so.1",
             "-o", library, SOURCE],
            check=True,
        )  # fmt: skip
        return ctypes.CDLL(str(library))


library = _load()
