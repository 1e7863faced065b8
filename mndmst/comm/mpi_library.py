"""The MPI library: loaded, named, and started.

`mpi4py.MPI` is imported here and nowhere else, on first use, so that
commands without MPI never start it.
"""

import os
import re
from functools import cache
from typing import Any

from ..host.errors import MissingExtraError
from ..host.launcher import (
    prepare_environment,
    slurm_started_nodes,
    without_networks,
)
from .stale_shared_memory import remove_leftovers


@cache
def load() -> Any:
    """Return mpi4py's module. It does not start MPI by itself.

    Raises
    ------
    MissingExtraError
        If no MPI library can be loaded.
    """
    try:
        import mpi4py

        mpi4py.rc.initialize, mpi4py.rc.finalize = False, True
        from mpi4py import MPI
    except (ImportError, RuntimeError) as error:
        raise MissingExtraError(
            f"no MPI library: {str(error).splitlines()[0]}. Load the module of your "
            "site's MPI, or pip install 'mndmst[mpi]'"
        ) from error
    return MPI


def version() -> str:
    """Return the name and version of the MPI library, without starting MPI."""
    return str(load().Get_library_version()).splitlines()[0].strip("\0 \t:")


def start() -> Any:
    """Start MPI unless it runs already; return mpi4py's module."""
    prepare_environment()
    mpi = load()
    if not mpi.Is_initialized():
        remove_leftovers()  # their space, or names, may be missing
        choose_network(mpi.Get_library_version())
        with without_networks():
            mpi.Init_thread(mpi.THREAD_MULTIPLE)
    return mpi


def forgo_memory_events() -> None:
    """Keep MPI, before it starts, from tracking memory maps.

    UCX tracks them for memory registered with a network, and drops its records when it
    registers more. A process that serves requests has threads that come and go, each
    with a stack of its own, and would grow by half a kilobyte for each request.
    """
    os.environ.setdefault("UCX_MEM_EVENTS", "no")


def choose_network(library: str) -> None:
    """Choose a network with which an MPI library starts, given its description.

    MPICH with UCX (seen with 5.0.2) publishes 4 KiB of memory from the UCX address on,
    whatever lies behind it. What has no zeros to leave out makes a line longer than
    Slurm reads from a process, and Slurm ends the step. So where Slurm itself starts
    ranks on several nodes, and the library has libfabric as well, that is used. A
    setting that the user has made is kept.
    """
    both = re.search(r"MPICH Device:\s*ch4:(ucx.*ofi|ofi.*ucx)", library)
    if both and slurm_started_nodes() > 1:
        os.environ.setdefault("MPIR_CVAR_CH4_NETMOD", "ofi")
