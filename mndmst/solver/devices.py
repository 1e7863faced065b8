"""Which devices a rank has. No other module of the algorithm knows CPUs from GPUs."""

from ..backends import cpu_device, find_accelerator
from ..backends.base import Backend
from ..backends.costs import COSTS
from ..backends.fallback import Fallback
from ..comm.communicator import Comm
from ..comm.placement import locate, ranges, warnings
from ..host.errors import MissingExtraError
from ..kernels.freed_memory import keep_freed
from .config import Config
from .run_report import Report


def make_backends(
    comm: Comm, config: Config, num_arcs: int, report: Report
) -> tuple[list[Backend], int]:
    """Return this rank's devices, the GPU first, and its threads on the host.

    Collective. With `auto` a rank has the device that `COSTS` predicts to be faster. It
    has both if the ratio is given, or if the faster one takes so long that measuring
    the speeds of both pays (`Tuning.measured_seconds`).

    The GPUs of a machine are assigned to its ranks round robin. Each rank gets an equal
    share of the cores, and one core fewer for its CPU worker if it drives a GPU. Warns
    of poor placement (see `placement`). Raises MissingExtraError if the GPU was asked
    for and there is none.
    """
    place = locate(comm)
    cores = comm.min(config.threads or place.share)
    free = config.backend == "auto" and config.ratio is None
    arcs = num_arcs / comm.size
    cpu = COSTS.cpu_seconds(arcs, cores, comm.max(place.local_size))
    chosen = "cpu" if free and cpu <= COSTS.gpu_seconds(arcs, 1) else config.backend
    kind, reason = find_accelerator(chosen)
    with comm.raise_on_all():
        if config.backend != "auto" and reason is not None:
            raise MissingExtraError(f"--backend {config.backend}: {reason}")
    if reason is not None:
        report.progress.say(f"computing on the CPU ({reason})")
    equipped = place.equipped(kind.device_ids() if kind else [], config.threads)
    sharers = comm.max(equipped.sharers if equipped.gpus else 1)
    gpu = COSTS.gpu_seconds(arcs, sharers)
    if free:
        report.facts["device_seconds"] = {"cpu": cpu, "gpu": gpu}
        report.progress.detail(f"predicted: CPU {cpu:.2f} s, GPU {gpu:.2f} s")
    if free and cpu <= gpu:
        kind = None
    place = equipped if kind else place.equipped([], config.threads)
    for warning in warnings(comm.gather(place) or []):
        report.progress.say(warning)
    keep_freed()
    host = cpu_device(place.threads, config.tuning)
    backends = [host]
    if kind and place.gpus:
        device = kind.make_device(
            place.device, host, config.gpu_memory, place.sharers, config.tuning
        )
        if config.backend != "auto":
            backends = [device]
        elif free and min(cpu, gpu) < config.tuning.measured_seconds:
            backends = [Fallback(device, host)]
        else:
            backends = [Fallback(device, host), host]
    report.facts |= {
        "devices": [backend.describe() for backend in backends],
        "threads": place.threads,
        "cores": ranges(place.cores),
    }
    return backends, place.threads
