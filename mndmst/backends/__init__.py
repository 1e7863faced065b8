"""Devices that compute forests, all behind one interface (`base.Backend`).

`cpu/` (Numba) and `cuda/` (CuPy and kernels of our own) have the same steps. Other
rooms make devices with the functions here and import no module of a device. A device
is imported when it is made.
"""

from typing import TYPE_CHECKING

from .cuda import device_ids, device_names, start_driver, unavailable

if TYPE_CHECKING:
    from ..graph.tuning import Tuning
    from .base import Backend
    from .point_products import PointArrays, PointProducts

__all__ = [
    "cpu_device", "cuda_device", "cuda_point_products", "device_ids", "device_names",
    "start_driver", "unavailable",
]  # fmt: skip


def cpu_device(threads: int = 1, tuning: "Tuning | None" = None) -> "Backend":
    """Return the CPU as a device that computes with some threads."""
    from .cpu.backend import CpuBackend

    return CpuBackend(threads, tuning)


def cuda_device(
    device: int,
    host: "Backend | None" = None,
    limit: int = 0,
    sharers: int = 1,
    tuning: "Tuning | None" = None,
) -> "Backend":
    """Return a CUDA device; see `cuda.backend.CudaBackend` for the parameters.

    Raises
    ------
    ConfigError
        If the device cannot be used.
    """
    from .cuda.backend import CudaBackend

    return CudaBackend(device, host, limit, sharers, tuning)


def cuda_point_products(points: "PointArrays", device: int = 0) -> "PointProducts":
    """Return points on a CUDA device; see `cuda.point_products.CudaPointProducts`.

    Raises
    ------
    ConfigError
        If the device has too little memory, or the points do not suit it.
    """
    from .cuda.point_products import CudaPointProducts

    return CudaPointProducts(points, device)
