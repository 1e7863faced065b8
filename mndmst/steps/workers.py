"""Which rows each device of a rank gets: they are dealt, and copied there."""

from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

from ..backends.base import Backend
from ..graph.model import Rows
from ..io.stored_rows import Look
from ..run.background import Background
from ..run.config import Config
from ..run.report import Report
from ..run.run import Worker
from .speeds import measure
from .split import bounded_ratio, split

# Fewer arcs go to the CPU alone: two devices would take longer, to merge.
LEAST_ARCS = 1 << 20


def begin_placing(
    background: Background, backends: list[Backend], rows: Rows, config: Config
) -> Look | None:
    """Begin to copy all rows to the first device, if it may get them all.

    Returns a callback that inspects them there, if the device can.
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
        placed = None  # frees its memory
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
