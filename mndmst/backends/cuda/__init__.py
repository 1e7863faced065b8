"""The CUDA backend: kernels of our own, run through CuPy.

Importing this package is cheap; CuPy is imported by `backend.py`.
"""

from importlib.util import find_spec

__all__ = ["device_count", "device_ids", "device_names", "unavailable"]


def unavailable() -> str | None:
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


def device_names() -> list[str]:
    """Return the names of the visible CUDA devices."""
    import cupy

    properties = cupy.cuda.runtime.getDeviceProperties
    return [properties(device)["name"].decode() for device in range(device_count())]


def device_ids() -> list[str]:
    """Return what tells the visible CUDA devices from others of the machine."""
    import cupy

    bus_id = cupy.cuda.runtime.deviceGetPCIBusId
    return [f"{name} at {bus_id(i)}" for i, name in enumerate(device_names())]
