"""Widen the core binding of ranks beyond their launcher's default.

Open MPI binds each rank to one core if it starts one or two on a host, and to a part of
the host otherwise. A rank has threads for all of its cores, so most of the host would
be idle. A binding that the user chose stays.
"""

import os
import sys
from pathlib import Path
from typing import Any

from ..host.cores import own_cores
from ..host.launcher import by_open_mpi, launcher_of_this_host

# Words in options of Open MPI, and settings, by which users bind ranks.
_WORDS = (
    "bind-to", "map-by", "cpu-set", "cpu-list", "cpus-per", "rankfile", "-rf",
    "bycore", "bysocket", "binding_policy", "mapping_policy",
)  # fmt: skip
_SETTINGS = (
    "OMPI_MCA_hwloc_base_binding_policy", "OMPI_MCA_rmaps_base_mapping_policy",
    "PRTE_MCA_hwloc_default_binding_policy", "PRTE_MCA_rmaps_default_mapping_policy",
)  # fmt: skip


def widen_binding(comm: Any) -> None:
    """Let ranks use all cores that their launcher has, if most of them were idle.

    Collective over all ranks. The launcher's own cores are the ones that its control
    group, Slurm or `taskset` allows. A warning tells the user of the change.
    """
    if not by_open_mpi():
        return
    launcher = launcher_of_this_host()
    node = comm.node()
    bound = node.cores()
    allowed = _cores_of(launcher) if launcher else set()
    asked = bool(launcher) and _user_has_bound(launcher)
    idle = 2 * len(bound) <= len(allowed)
    wanted = bool(comm.max(int(asked)))
    if idle and not wanted:
        os.sched_setaffinity(0, allowed)
    node.free()
    if comm.rank == 0 and idle:
        sys.stderr.write(f"mndmst: {_message(len(bound), len(allowed), wanted)}\n")


def _message(bound: int, allowed: int, wanted: bool) -> str:
    what = f"the ranks of a host are bound to {bound} of {allowed} cores"
    if wanted:
        return f"{what}, as the launcher's options say; --bind-to none gives them all"
    return f"{what} by the launcher's default, and use all; --bind-to keeps them"


def _cores_of(process: int) -> set[int]:
    try:
        return own_cores(process)
    except OSError:
        return set()


def _user_has_bound(launcher: int) -> bool:
    """Return whether the user has chosen a binding."""
    if any(os.environ.get(name) for name in _SETTINGS):
        return True
    try:
        line = Path(f"/proc/{launcher}/cmdline").read_bytes().decode(errors="replace")
    except OSError:
        return True
    options = (word for word in line.split("\0") if word.startswith("-"))
    return any(word in option for option in options for word in _WORDS)
