"""Which devices a rank has. No other module of the algorithm knows CPUs from GPUs."""

from ..backends import cpu_device, find_accelerator
from ..backends.base import Backend
from ..backends.fallback import Fallback
from ..comm.communicator import Comm
from ..comm.placement import locate, ranges, warnings
from ..host.errors import MissingExtraError
from ..kernels.freed_memory import keep_freed
from ..run.config import Config
from ..run.report import Report

# By how much a run with a GPU starts and ends later, and what a core takes for an arc
# of the forest, first touches of memory and the order of its edges included.
GPU_SECONDS, ARC_SECONDS = 0.8, 13e-9


def make_backends(
    comm: Comm, config: Config, num_arcs: int, report: Report
) -> tuple[list[Backend], int]:
    """Return this rank's devices, the GPU first, and its threads on the host.

    Collective. There is no GPU where the cores are done before it would have started,
    unless it was asked for.

    The GPUs of a machine are assigned to its ranks round robin. Each rank gets an equal
    share of the cores, and one core fewer for its CPU worker if it drives a GPU.
    Warns of poor placement (see `placement`).

    Parameters
    ----------
    num_arcs : int
        Of the graph.

    Raises
    ------
    MissingExtraError
        If the GPU was asked for and there is none.
    """
    place = locate(comm)
    cores = comm.min(config.threads or place.share)
    seconds = num_arcs / comm.size / cores * ARC_SECONDS
    measured = config.backend == "auto" and config.ratio is None
    alone = measured and seconds < GPU_SECONDS
    kind, reason = find_accelerator("cpu" if alone else config.backend)
    with comm.raise_on_all():
        if config.backend != "auto" and reason is not None:
            raise MissingExtraError(f"--backend {config.backend}: {reason}")
    if reason is not None:
        report.progress.say(f"computing on the CPU ({reason})")
    gpus = kind.device_ids() if kind else []
    place = place.equipped(gpus, config.threads)
    for warning in warnings(comm.gather(place) or []):
        report.progress.say(warning)
    keep_freed()
    backends: list[Backend] = [cpu_device(place.threads, config.tuning)]
    if kind and place.gpus:
        gpu = kind.make_device(
            place.device,
            backends[0],
            config.gpu_memory,
            place.sharers,
            config.tuning,
        )
        both = [Fallback(gpu, backends[0]), *backends]
        backends = both if config.backend == "auto" else [gpu]
    devices = [backend.describe() for backend in backends]
    report.facts |= {
        "devices": devices,
        "threads": place.threads,
        "cores": ranges(place.cores),
    }
    return backends, place.threads
