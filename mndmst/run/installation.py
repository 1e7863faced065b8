"""Versions and devices of an installation, to diagnose failures."""

import platform
from typing import Any

from ..backends import ACCELERATORS, accelerator, find_accelerator
from ..comm import mpi_library
from ..comm.communicator import Comm
from ..comm.placement import RankPlacement, locate
from ..host.cores import core_count
from ..host.errors import MissingExtraError
from .report import versions

# No kernel has a parallel loop, so it does not matter which layer Numba would choose.
THREADING = "threads of our own, no Numba threading layer"


def describe_installation() -> dict[str, Any]:
    """Return versions, the MPI library and the devices of this machine.

    MPI is not started, since login nodes often forbid it.
    """
    facts: dict[str, Any] = dict(versions())
    facts["platform"] = platform.platform()
    facts["cores"] = core_count()
    facts["threading"] = THREADING
    facts["mpi"] = _mpi_library()
    for name in ACCELERATORS:
        kind = accelerator(name)
        facts[name] = kind.unavailable() or ", ".join(kind.device_names())
    return facts


def describe_places(comm: Comm) -> list[RankPlacement] | None:
    """Return the places of all ranks on rank 0, None elsewhere. Collective."""
    kind, _ = find_accelerator("auto")
    gpus = kind.device_ids() if kind else []
    return comm.gather(locate(comm).equipped(gpus))


def _mpi_library() -> str:
    try:
        return mpi_library.version()
    except MissingExtraError as error:
        return str(error)
