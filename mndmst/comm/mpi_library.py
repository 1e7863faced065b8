"""The MPI library: loaded, named, and started.

`mpi4py.MPI` is imported here and nowhere else, on first use, so that commands without
MPI never start it.

*Leftovers.* MPICH's ranks on a machine share a file in /dev/shm, which the last of them
removes when it ends normally; UCX, on which MPICH is built, removes its files at once.
The files of a few killed jobs fill the /dev/shm of a container, so that no further job
starts. Starting MPI removes such files.

*Binding.* Open MPI binds each rank to one core if it starts one or two on a host, and
to a part of the host otherwise. A rank has threads for all of its cores, so most of the
host would be idle. `widen_binding` gives ranks all cores, unless the user has chosen.
"""

import contextlib
import ctypes
import fcntl
import os
import re
import signal
import stat
import time
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Protocol

from ..host.cores import usable_cores
from ..host.errors import ConfigError, MissingExtraError
from ..host.launcher import (
    by_open_mpi,
    launched_processes,
    launcher_of_this_host,
    prepare_environment,
    slurm_started_nodes,
    without_networks,
)
from ..host.progress import notice

if TYPE_CHECKING:
    from mpi4py.MPI import Comm, Request

    MpiComm = Comm
    MpiRequest = Request

SHARED_MEMORY = Path("/dev/shm")
LEFTOVER = re.compile(r"(mpich_shm_[0-9a-f]+_[0-9]+|ucx_shm_posix_[0-9a-f]+)")
# Seconds: much longer than the ranks need to open a new file, but shorter than the two
# minutes after which Slurm starts a requeued job, whose file has the same name.
LEAST_AGE = 60.0
# Other ranks that check the same file have it open for a moment.
TRIES, PAUSE = 5, 0.002
# The signal that the kernel sends if a process opens a leased file. It is ignored by
# default; the usual signal would end the process.
HARMLESS = signal.SIGURG


def remove_leftovers(directory: Path = SHARED_MEMORY, age: float = LEAST_AGE) -> None:
    """Remove the files of this user's MPI jobs that no process uses.

    All ranks of a host may do so at the same time, even if some have already started
    MPI. A file stays until it has been unchanged for `age` seconds.
    """
    with contextlib.suppress(OSError), os.scandir(directory) as entries:
        for entry in entries:
            if LEFTOVER.fullmatch(entry.name):
                with contextlib.suppress(OSError):
                    _remove_unless_used(Path(entry.path), age)


def _remove_unless_used(path: Path, age: float) -> None:
    """Remove a file if the kernel grants a lease on it.

    The kernel grants the lease only if no other process has the file open or mapped,
    even in containers whose processes are invisible to this one. A process that then
    opens the file waits until the lease ends. Raises OSError if another process has the
    file, or the file system or user gets no leases.
    """
    flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
    handle = os.open(path, flags)
    try:
        if not _left_behind(os.fstat(handle), age):
            return
        fcntl.fcntl(handle, fcntl.F_SETSIG, HARMLESS)
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        _lease(handle)
        if os.path.samestat(path.lstat(), os.fstat(handle)):
            path.unlink()
    finally:
        os.close(handle)


def _lease(handle: int) -> None:
    for _ in range(TRIES - 1):
        with contextlib.suppress(BlockingIOError):
            fcntl.fcntl(handle, fcntl.F_SETLEASE, fcntl.F_WRLCK)
            return
        time.sleep(PAUSE)
    fcntl.fcntl(handle, fcntl.F_SETLEASE, fcntl.F_WRLCK)


def _left_behind(facts: os.stat_result, age: float) -> bool:
    """Return whether a file is this user's, regular, and old."""
    return (
        stat.S_ISREG(facts.st_mode)
        and facts.st_uid == os.geteuid()
        and facts.st_nlink == 1
        and time.time() - max(facts.st_mtime, facts.st_ctime) >= age
    )


# Words in options of Open MPI, and settings, by which users bind ranks.
_WORDS = (
    "bind-to", "map-by", "cpu-set", "cpu-list", "cpus-per", "rankfile", "-rf",
    "bycore", "bysocket", "binding_policy", "mapping_policy",
)  # fmt: skip
_SETTINGS = (
    "OMPI_MCA_hwloc_base_binding_policy", "OMPI_MCA_rmaps_base_mapping_policy",
    "PRTE_MCA_hwloc_default_binding_policy", "PRTE_MCA_rmaps_default_mapping_policy",
)  # fmt: skip


class BoundRanks(Protocol):
    """The part of `Comm` that `widen_binding` needs."""

    rank: int

    def node(self) -> "BoundRanks":
        """Return the ranks on this rank's machine."""

    def cores(self) -> set[int]:
        """Return the cores that any of these ranks may use."""

    def max(self, value: int) -> int:
        """Return the largest value over all ranks."""


def widen_binding(comm: BoundRanks) -> None:
    """Let ranks use all cores of their launcher if most of these would be idle.

    Collective over all ranks. The launcher may use the cores that its control group,
    Slurm or `taskset` allows. A notice tells the user of the change.
    """
    if not by_open_mpi():
        return
    launcher = launcher_of_this_host()
    node = comm.node()
    bound = node.cores()
    allowed: set[int] = set()
    if launcher:
        with contextlib.suppress(OSError):
            allowed = usable_cores(launcher)
    asked = bool(launcher) and _user_has_bound(launcher)
    idle = 2 * len(bound) <= len(allowed)
    wanted = bool(comm.max(int(asked)))
    if idle and not wanted:
        os.sched_setaffinity(0, allowed)
    if comm.rank == 0 and idle:
        notice(_message(len(bound), len(allowed), wanted))


def _message(bound: int, allowed: int, wanted: bool) -> str:
    what = f"the ranks of a host are bound to {bound} of {allowed} cores"
    if wanted:
        return f"{what}, as the launcher's options say; --bind-to none gives them all"
    return f"{what} by the launcher's default, and use all; --bind-to keeps them"


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


@cache
def load() -> ModuleType:
    """Return mpi4py's module. It does not start MPI by itself.

    Raises MissingExtraError if no MPI library can be loaded.
    """
    try:
        import mpi4py

        mpi4py.rc.initialize, mpi4py.rc.finalize = False, True
        from mpi4py import MPI
    except (ImportError, RuntimeError) as error:
        missing = MissingExtraError(
            f"no MPI library: {str(error).splitlines()[0]}. Load the module of your "
            "site's MPI, or pip install 'mndmst[mpi]'"
        )
        missing.ranks = launched_processes()
        raise missing from error
    return MPI


def version() -> str:
    """Return the name and version of the MPI library, without starting MPI."""
    return str(load().Get_library_version()).splitlines()[0].strip("\0 \t:")


def start() -> ModuleType:
    """Start MPI unless it runs already; return mpi4py's module.

    Raises ConfigError if the launcher belongs to another MPI.
    """
    prepare_environment()
    mpi = load()
    if not mpi.Is_initialized():
        check_launcher(mpi.Get_library_version())
        remove_leftovers()  # they may fill the space for shared memory
        choose_network(mpi.Get_library_version())
        forgo_memory_of_others()
        with without_networks():
            mpi.Init_thread(mpi.THREAD_MULTIPLE)
    return mpi


def check_launcher(library: str) -> None:
    """Raise ConfigError if the library cannot start under this launcher.

    Under the mpirun of Open MPI, MPICH would abort with an obscure error.
    """
    if by_open_mpi() and library.startswith("MPICH"):
        raise other_launcher(launched_processes(), "cannot start under it", library)


def other_launcher(processes: int, fault: str, library: str) -> ConfigError:
    """Return the error of a launcher that does not belong to the MPI library.

    All processes of the launcher raise it.
    """
    name = " ".join(library.splitlines()[0].strip("\0 \t:").split())
    error = ConfigError(
        f"the launcher started {processes} processes, but the MPI library "
        f"{fault} ({name}). Use the mpirun or srun --mpi=... that belongs to this "
        "library, or point MPI4PY_LIBMPI at the library of your launcher."
    )
    error.ranks = processes
    return error


class _Span(ctypes.Structure):
    """A `struct iovec` of the system: an address and a number of bytes."""

    _fields_ = (("base", ctypes.c_void_p), ("length", ctypes.c_size_t))


def forgo_memory_of_others() -> None:
    """Keep MPICH from reading memory of other processes if the system forbids it.

    MPICH reads long messages by process_vm_readv, and fails during a run if the system
    forbids the call, as some containers and emulators do. The call is tried on memory
    of this process, which it may always read unless the call is forbidden. Must be
    called before MPI starts; a setting of the user has precedence.
    """
    if not _reads_memory():
        os.environ.setdefault("MPIR_CVAR_CH4_CMA_ENABLE", "0")


def _reads_memory() -> bool:
    """Return whether process_vm_readv copies a byte of this process."""
    read = getattr(ctypes.CDLL(None), "process_vm_readv", None)
    if read is None:
        return False
    source, target = (
        ctypes.create_string_buffer(b"1", 1),
        ctypes.create_string_buffer(1),
    )
    spans = [_Span(ctypes.addressof(buffer), 1) for buffer in (target, source)]
    here, there = map(ctypes.byref, spans)
    one, none = ctypes.c_ulong(1), ctypes.c_ulong(0)
    copied = read(os.getpid(), here, one, there, one, none)
    return bool(copied == 1 and target.raw == source.raw)


def forgo_memory_events() -> None:
    """Keep UCX from tracking memory maps; must be called before MPI starts.

    UCX tracks them for memory registered with a network, and drops its records only
    when it registers more. A server starts and ends threads, each with a new stack, so
    its memory would grow by half a kilobyte per request.
    """
    os.environ.setdefault("UCX_MEM_EVENTS", "no")


def choose_network(library: str) -> None:
    """Choose a network with which an MPI library starts, given its description.

    MPICH with UCX (seen with 5.0.2) publishes 4 KiB of memory from the UCX address on,
    without zeros. If the memory behind the address has few zeros, the line is longer
    than Slurm reads from a process, and Slurm ends the step. So if Slurm itself starts
    ranks on several nodes, and the library also has libfabric, libfabric is chosen. A
    setting of the user has precedence.
    """
    both = re.search(r"MPICH Device:\s*ch4:(ucx.*ofi|ofi.*ucx)", library)
    if both and slurm_started_nodes() > 1:
        os.environ.setdefault("MPIR_CVAR_CH4_NETMOD", "ofi")
