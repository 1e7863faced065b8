"""The CUDA backend: kernels of our own, run through CuPy.

Importing this package is cheap; CuPy is imported when a `CudaBackend` is made.
"""

from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .backend import CudaBackend

__all__ = ["CudaBackend", "available", "device_count"]


def available() -> str | None:
    """Return None if CUDA can be used here, else why not and what would help."""
    if find_spec("cupy") is None:
        return "CuPy is not installed; pip install 'mndmst[cuda]'"
    try:
        import cupy

        count = cupy.cuda.runtime.getDeviceCount()
    except Exception as error:  # a broken driver shows in many kinds of error
        return f"CUDA does not start ({error}); check the driver with nvidia-smi"
    return None if count else "no CUDA device is visible; check CUDA_VISIBLE_DEVICES"


def device_count() -> int:
    """Return how many CUDA devices are visible."""
    import cupy

    return int(cupy.cuda.runtime.getDeviceCount())


def __getattr__(name: str) -> Any:
    if name == "CudaBackend":
        from .backend import CudaBackend

        return CudaBackend
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
