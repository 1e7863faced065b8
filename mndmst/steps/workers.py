"""Which devices a rank has, and what each of them is given.

This is the only module of the algorithm that knows that there are a CPU and GPUs.
"""

from collections.abc import Callable

from ..backends import cuda_device, device_ids, unavailable
from ..backends.base import Backend
from ..backends.fallback import Fallback
from ..comm.communicator import Comm
from ..comm.placement import locate, warnings
from ..graph.model import Rows
from ..host.errors import MissingExtraError
from ..kernels.heap import keep_freed
from ..run.background import Background
from ..run.config import Config
from ..run.report import Report
from ..run.run import Run, Worker
from .speeds import Key, measure
from .split import bounded_ratio, split

# Fewer arcs are the CPU's: it is done with them before both would have merged.
LEAST_ARCS = 1 << 20


def make_backends(comm: Comm, config: Config, report: Report) -> list[Backend]:
    """Return this rank's devices, the GPU first. Collective.

    The GPUs a machine shows are dealt to its ranks in turn; each rank gets an equal
    share of the cores, and one core fewer for its CPU worker if it drives a GPU.
    Warns where that does not go well (see `placement`).

    Raises
    ------
    MissingExtraError
        If the GPU was asked for and there is none.
    """
    reason = unavailable() if config.backend != "cpu" else "not asked for"
    with comm.together():
        if config.backend == "cuda" and reason is not None:
            raise MissingExtraError(f"--backend cuda: {reason}")
    if config.backend == "auto" and reason is not None:
        report.progress.say(f"computing on the CPU ({reason})")
    place = locate(comm).equipped([] if reason else device_ids(), config.threads)
    for warning in warnings(comm.collect(place) or []):
        report.progress.say(warning)
    keep_freed()
    backends: list[Backend] = [CpuBackend(place.threads)]
    if place.gpus:
        gpu = cuda_device(place.device, backends[0], config.gpu_memory, place.sharers)
        both = [Fallback(gpu, backends[0]), *backends]
        backends = [gpu] if config.backend == "cuda" else both
    devices = [backend.describe() for backend in backends]
    report.facts.update({"devices": devices, "threads": place.threads})
    return backends


def begin_placing(
    background: Background, backends: list[Backend], rows: Rows, config: Config
) -> None:
    """Begin to bring all rows to the first device, if it may get them all."""
    shared = len(backends) > 1
    if shared and (isinstance(config.ratio, int | float) or rows.num_arcs < LEAST_ARCS):
        return
    background.place(backends[0], rows)


def deal(
    backends: list[Backend],
    rows: Rows,
    background: Background,
    config: Config,
    report: Report,
) -> tuple[list[Worker], float]:
    """Deal a rank's rows to its devices.

    Parameters
    ----------
    background : Background
        May have brought all rows to the first device.

    Returns
    -------
    workers : list of Worker
    ratio : float
        The share of the first.
    """
    placed = background.placed()
    if len(backends) == 1:
        return [Worker(backends[0], rows, placed)], 1.0
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
    workers = [Worker(backend, part) for backend, part in parts if len(part)]
    if placed is not None:
        workers[0].placed = placed
    return workers or [Worker(backends[-1], rows)], ratio


def _ratio(
    backends: list[Backend], rows: Rows, config: Config, report: Report
) -> tuple[float, str]:
    """Return the share of the first of two devices, and where it comes from."""
    if isinstance(config.ratio, int | float):
        return config.ratio, "given"
    if rows.num_arcs < LEAST_ARCS:
        return 0.0, "few arcs"
    key = Key.of(backends, rows, config.light_edges)
    speeds = None if config.ratio == "measure" else key.recall()
    source = "measured" if speeds is None else "cached"
    if speeds is None:
        speeds = measure(
            backends, rows, config.ratio_samples, config.ratio_share, config.light_edges
        )
        key.remember(speeds)
    report.facts["speeds"] = {"file": str(key.file), **speeds._asdict()}
    return speeds.best_ratio(rows), source


def place(run: Run) -> None:
    """Bring every worker's rows to its device, all at once, if they are not there."""

    def bring(worker: Worker) -> Callable[[], None]:
        def task() -> None:
            if worker.placed is None:
                worker.placed = worker.backend.place(worker.rows)

        return task

    run.at_once([bring(worker) for worker in run.workers])
