"""The environment that launchers give a process, read before MPI has started."""

import os
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

from . import PACKAGE_PARENT
from .cores import core_count
from .errors import ConfigError

_WORLD_SIZE = ("PMI_SIZE", "OMPI_COMM_WORLD_SIZE", "SLURM_STEP_NUM_TASKS")
# Variables that launchers set for their processes: MPICH and Intel, Open MPI, MVAPICH,
# Slurm, Cray, IBM, Flux. Other variables with such prefixes (PMIX_MCA_gds) are
# settings.
_BY_LAUNCHER = (
    "PMI_RANK", "PMI_SIZE", "PMI_FD", "PMI_ID", "PMI_PORT", "PMIX_RANK",
    "PMIX_NAMESPACE", "HYDI_", "MPI_LOCALNRANKS", "MPI_LOCALRANKID", "OMPI_COMM_WORLD",
    "MV2_COMM_WORLD", "MPIRUN_RANK", "SLURM_STEP", "PALS_RANKID", "ALPS_APP_PE",
    "JSM_NAMESPACE", "FLUX_TASK_RANK",
)  # fmt: skip
_WORLD_RANK = ("PMI_RANK", "OMPI_COMM_WORLD_RANK", "SLURM_PROCID")
_LAUNCHERS = ("mpirun", "mpiexec", "orterun", "prterun")
# With these settings Open MPI sends messages without searching networks, and UCX, which
# MPICH uses, reads 200 files of /proc and /sys less.
_ONE_HOST = {"OMPI_MCA_pml": "ob1", "UCX_TLS": "self,sm"}
# Buffers of MPICH on a crowded host.
CELLS_OF_HOST = 512
# The daemons by which Open MPI starts ranks on other hosts.
_DAEMONS = ("orted", "prted", "prte")
# Other processes by which launchers start ranks.
_STARTERS = ("hydra_pmi_proxy", "slurmstepd", "mpispawn", "palsd", "jsrun", "aprun")
# Prefixes of the variables of MPI launchers.
_OF_LAUNCHER = ("PMI_", "PMIX_", "HYDRA_", "OMPI_COMM_")
_LOCAL_SIZE = ("MPI_LOCALNRANKS", "OMPI_COMM_WORLD_LOCAL_SIZE")
_LOCAL_RANK = ("MPI_LOCALRANKID", "OMPI_COMM_WORLD_LOCAL_RANK", "SLURM_LOCALID")


def launched_processes() -> int:
    """Return the number of processes that the launcher has started; 1 if unknown."""
    return _first_integer(_WORLD_SIZE, 1)


def started_alone() -> bool:
    """Return whether no launcher of MPI programs has started this process.

    Each process of an unrecognised launcher would run the whole job by itself. So the
    variables and processes of all known launchers are checked.
    """
    named = any(name.startswith(_BY_LAUNCHER) for name in os.environ)
    return not (named or _ancestor((*_LAUNCHERS, *_DAEMONS, *_STARTERS)))


def launched_rank() -> int:
    """Return the rank of this process among the launched ones, 0 for one alone."""
    return _first_integer(_WORLD_RANK, 0)


def launched_local_rank() -> int | None:
    """Return the rank of this process on its host; None if the launcher states none."""
    unknown = -1 if launched_processes() > 1 else 0
    rank = _first_integer(_LOCAL_RANK, unknown)
    return None if rank < 0 else rank


def launched_local_size() -> int:
    """Return the number of processes launched on this host; 1 if unknown."""
    return _local_size() or 1


def _local_size() -> int:
    """Return the number of processes launched on this host; 0 if unknown."""
    return _first_integer(_LOCAL_SIZE, 0) or _tasks_of_slurm()


def _tasks_of_slurm() -> int:
    """Return the number of this step's processes on this node of Slurm; 0 if unknown.

    Slurm lists the numbers of all nodes, and counts neighbours with equal numbers:
    2(x3),1 means 2 processes on each of three nodes, and 1 on the fourth.
    """
    before, node = 0, _first_integer(("SLURM_NODEID",), 0)
    for entry in os.environ.get("SLURM_STEP_TASKS_PER_NODE", "").split(","):
        tasks, _, nodes = entry.removesuffix(")").partition("(x")
        if not (tasks.isdigit() and (nodes or "1").isdigit()):
            return 0
        before += int(nodes or 1)
        if node < before:
            return int(tasks)
    return 0


def prepare_environment(matrices: bool = True) -> None:
    """Set variables for NumPy, the MPI library and Numba, before they are loaded.

    With more ranks than cores a waiting rank must yield its core, or the computing
    ranks become slow; with enough cores the same setting would slow every message.
    NumPy's OpenBLAS starts a thread per core, which spins for 0.1 s: a run that
    multiplies no `matrices` gets one thread, and otherwise every rank gets its share of
    the machine. If ranks write to a terminal, Numba's colours for errors would end the
    output with a control code. Settings of the user have precedence.
    """
    os.environ.setdefault("NUMBA_DISABLE_ERROR_MESSAGE_HIGHLIGHTING", "1")
    sharers = launched_local_size()
    if not matrices:
        os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    elif sharers > 1:
        share = min(core_count(), max(1, (os.cpu_count() or 1) // sharers))
        os.environ.setdefault("OPENBLAS_NUM_THREADS", str(share))
    if crowded():
        os.environ.setdefault("MPIR_CVAR_ENABLE_HEAVY_YIELD", "1")
        os.environ.setdefault("OMPI_MCA_mpi_yield_when_idle", "1")
        os.environ.setdefault("I_MPI_THREAD_YIELD", "3")
        # Cells of 16 KiB in which MPICH sends short messages to ranks of the host: 64 a
        # rank by default, all of which a rank that receives from all has in memory.
        cells = min(64, max(4, CELLS_OF_HOST // sharers))
        os.environ.setdefault("MPIR_CVAR_CH4_SHM_POSIX_IQUEUE_NUM_CELLS", str(cells))


@contextmanager
def without_networks() -> Iterator[None]:
    """Start MPI in the block without searching networks if all ranks are on this host.

    Ranks are ready 0.17 s sooner. Settings of the user have precedence, and the
    variables are removed after the block.
    """
    one_host = _local_size() == launched_processes()
    wanted = _ONE_HOST if one_host else {}
    made = {name: wanted[name] for name in wanted if name not in os.environ}
    os.environ.update(made)
    try:
        yield
    finally:
        for name in made:
            del os.environ[name]


def slurm_started_nodes() -> int:
    """Return the number of nodes on which Slurm's PMI started the processes, else 0."""
    by_launcher = any(map(os.environ.get, _LOCAL_SIZE))
    if by_launcher or "PMI_FD" not in os.environ:
        return 0
    return _first_integer(("SLURM_STEP_NUM_NODES",), 0)


def crowded() -> bool:
    """Return whether the launcher started more ranks here than this one has cores.

    Settings before the start of MPI depend on it. Slurm says how many cores all ranks
    of the node have. With other launchers, ranks that are bound to one core each count
    as crowded, until MPI has started (`Comm.ranks_per_core`).
    """
    cores = max(core_count(), _first_integer(("SLURM_CPUS_ON_NODE",), 0))
    return launched_local_size() > cores


def child_environment() -> dict[str, str]:
    """Return the variables for a process that this one starts, with this package.

    Those of this process's launcher are left out: they would confuse an inner one.
    """
    environment = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith(_OF_LAUNCHER)
    }
    paths = [str(PACKAGE_PARENT), environment.get("PYTHONPATH", "")]
    return environment | {"PYTHONPATH": os.pathsep.join(filter(None, paths))}


def find_mpirun() -> str:
    """Return the mpirun beside this Python, else the first on the path.

    Raises ConfigError if there is none.
    """
    import shutil  # no rank calls this

    beside = Path(sys.executable).with_name("mpirun")
    path = str(beside) if beside.exists() else shutil.which("mpirun")
    if path is None:
        raise ConfigError(
            "no mpirun on PATH. Load the module of your MPI, or install one from PyPI: "
            "pip install 'mndmst[mpi]'"
        )
    return path


def by_open_mpi() -> bool:
    """Return whether Open MPI has started this process and all others of its job."""
    return "OMPI_COMM_WORLD_SIZE" in os.environ


def launcher_of_this_host() -> int:
    """Return the process that has started the ranks on this host; 0 if it is gone."""
    return _ancestor((*_LAUNCHERS, *_DAEMONS))


def end_launcher(seconds: float) -> None:
    """Kill the launcher on this machine after some seconds.

    It may wait forever for its helper on a failed host. A separate process, which
    outlives this one, kills it.
    """
    from subprocess import DEVNULL, Popen  # only the end of a failed job needs it

    launcher = _ancestor(_LAUNCHERS)
    if launcher:
        script = f"sleep {seconds}; kill {launcher}; sleep 1; kill -KILL {launcher}"
        with suppress(OSError):
            Popen(
                ["sh", "-c", script],
                stdin=DEVNULL,
                stdout=DEVNULL,
                stderr=DEVNULL,
                start_new_session=True,
            )


def _ancestor(names: tuple[str, ...]) -> int:
    """Return the nearest ancestor process whose name has one of the prefixes, or 0."""
    process = os.getppid()
    with suppress(OSError):
        while process > 1:
            status = Path(f"/proc/{process}/status").read_text().split()
            if status[1].startswith(names):
                return process
            process = int(status[status.index("PPid:") + 1])
    return 0


def _first_integer(variables: Sequence[str], otherwise: int) -> int:
    for name in variables:
        if os.environ.get(name, "").isdigit():
            return int(os.environ[name])
    return otherwise
