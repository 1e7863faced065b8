"""Which devices a rank has, and which rows each of them gets.

No other module of the algorithm knows that there are a CPU and GPUs.
"""

from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

from ..backends import cpu_device, cuda_device, device_ids, unavailable
from ..backends.base import Backend
from ..backends.fallback import Fallback
from ..comm.communicator import Comm
from ..comm.placement import locate, ranges, warnings
from ..graph.model import Rows
from ..host.errors import MissingExtraError
from ..io.stored_rows import Look
from ..kernels.heap import keep_freed
from ..run.background import Background
from ..run.config import Config
from ..run.report import Report
from ..run.run import Worker
from .speeds import measure
from .split import bounded_ratio, split

# Fewer arcs go to the CPU alone: two devices would take longer, to merge.
LEAST_ARCS = 1 << 20
# By how much a run with a GPU starts and ends later, and what a core takes for an arc
# of the forest, first touches of memory and the order of its edges included.
GPU_SECONDS, ARC_SECONDS = 0.8, 13e-9


def make_backends(
    comm: Comm, config: Config, num_arcs: int, report: Report
) -> list[Backend]:
    """Return this rank's devices, the GPU first. Collective.

    There is none where the cores are done before it has started, unless it was asked
    for.

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
    without = alone or config.backend == "cpu"
    reason = None if without else unavailable()
    with comm.raise_on_all():
        if config.backend == "cuda" and reason is not None:
            raise MissingExtraError(f"--backend cuda: {reason}")
    if reason is not None:
        report.progress.say(f"computing on the CPU ({reason})")
    gpus = [] if without or reason is not None else device_ids()
    place = place.equipped(gpus, config.threads)
    for warning in warnings(comm.gather(place) or []):
        report.progress.say(warning)
    keep_freed()
    backends: list[Backend] = [cpu_device(place.threads)]
    if place.gpus:
        gpu = cuda_device(place.device, backends[0], config.gpu_memory, place.sharers)
        both = [Fallback(gpu, backends[0]), *backends]
        backends = [gpu] if config.backend == "cuda" else both
    devices = [backend.describe() for backend in backends]
    report.facts |= {
        "devices": devices,
        "threads": place.threads,
        "cores": ranges(place.cores),
    }
    return backends


def begin_placing(
    background: Background, backends: list[Backend], rows: Rows, config: Config
) -> Look | None:
    """Begin to copy all rows to the first device, if it may get them all.

    Returns who looks at them there, if the device does.
    """
    shared = len(backends) > 1
    if shared and (isinstance(config.ratio, int | float) or rows.num_arcs < LEAST_ARCS):
        return None
    background.place(backends[0], rows)
    return background.look if backends[0].looks_at_arcs else None


def deal(
    backends: list[Backend],
    rows: Rows,
    background: Background,
    config: Config,
    report: Report,
) -> tuple[tuple[Worker, ...], float]:
    """Divide a rank's rows between its devices.

    Parameters
    ----------
    background : Background
        May have copied all rows to the first device.

    Returns
    -------
    workers : tuple of Worker
        Their rows are not on the devices yet, except where `background` has them.
    ratio : float
        The share of the first.
    """
    placed = background.placed()
    if len(backends) == 1:
        return (Worker(backends[0], rows, placed),), 1.0
    begin = report.seconds
    ratio, source = _ratio(backends, rows, config, report)
    if ratio < 1:
        placed = None  # what it takes is free again
    if placed is None:
        ratio = bounded_ratio(backends[0], rows, ratio)
    seconds = report.seconds - begin
    report.facts |= {
        "ratio": ratio, "ratio_source": source, "ratio_seconds": seconds
    }  # fmt: skip
    parts = zip(backends, split(rows, ratio), strict=True)
    dealt = [(backend, part) for backend, part in parts if len(part)]
    dealt = dealt or [(backends[-1], rows)]
    first, *others = (Worker(*pair) for pair in dealt)
    return (replace(first, placed=placed), *others), ratio


def _ratio(
    backends: list[Backend], rows: Rows, config: Config, report: Report
) -> tuple[float, str]:
    """Return the share of the first of two devices, and where it comes from."""
    if isinstance(config.ratio, int | float):
        return config.ratio, "given"
    if rows.num_arcs < LEAST_ARCS:
        return 0.0, "few arcs"
    speeds = measure(
        backends, rows, config.ratio_samples, config.ratio_share, config.light_edges
    )
    report.facts["speeds"] = speeds._asdict()
    return speeds.best_ratio(rows), "measured"


def place(workers: tuple[Worker, ...], report: Report) -> tuple[Worker, ...]:
    """Copy every worker's rows to its device, all at once, if they are not there."""

    def bring(worker: Worker) -> Worker:
        with report.work(worker.backend.name):
            if worker.placed is not None:
                return worker
            return replace(worker, placed=worker.backend.place(worker.rows))

    if len(workers) == 1:
        return (bring(workers[0]),)
    with ThreadPoolExecutor(len(workers), "mndmst-worker") as pool:
        return tuple(pool.map(bring, workers))
