"""What is installed here, for people who ask why something does not work."""

import os
import platform
from typing import Any

from .backends import cuda
from .report import versions


def describe_installation() -> dict[str, Any]:
    """Return versions, the MPI library and the devices of this machine.

    MPI is not started, since login nodes often forbid it.
    """
    facts: dict[str, Any] = dict(versions())
    facts["platform"] = platform.platform()
    facts["cores"] = len(os.sched_getaffinity(0))
    facts["mpi"] = _mpi_library()
    reason = cuda.unavailable()
    facts["cuda"] = reason or ", ".join(cuda.device_names())
    return facts


def _mpi_library() -> str:
    from .comm import library_version

    try:
        return library_version()
    except (ImportError, RuntimeError) as error:
        return (
            f"none could be loaded ({error}); install one, or pip install 'mndmst[mpi]'"
        )
