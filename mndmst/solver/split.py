"""Step 2: divide a rank's rows between its GPU and its CPU by measured speed.

MND-MST (4.3.1) divides rows by the speeds of the devices. That does not tell whether
both together are faster than the better one alone: two parts of a rank's rows have a
border, which the host contracts and merges. So this module predicts the time of all
three arrangements and takes the best. The ratio may be 0 or 1.

If the job has one rank, its devices have no border, but hook their rows as a team
(`merging/hosts.py`), and the host takes all further steps. These take longer than a
second device saves. So the faster device has all rows, unless the ratio is given
(`--ratio`).

MND-MST times both devices on 5 to 10 random induced subgraphs of 5 % of the vertices.
This module times them on random runs of consecutive rows, cut edges included, because
a worker gets such rows. A random 5 % of the vertices induces only 0.25 % of the edges:
then the launch latency dominates. The samples are light bands, which both devices solve
at the same time in a run. Measuring takes about 0.2 s.
"""

import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import NamedTuple, TypeVar

import numpy as np

from ..backends.base import Band, Device
from ..graph.light_edges import first_share
from ..graph.model import EdgeList, Rows, sample_positions
from ..kernels.arc_inspection import ArcInspection
from .config import Config
from .contract import ContractedPart, contract, merge_parts
from .reduced_graphs import reduced_graph
from .run import Worker
from .run_report import Report
from .startup import Background

ResultT = TypeVar("ResultT")

# Two workers must be predicted to save this much, as predictions are uncertain.
LEAST_GAIN = 0.1


class Speeds(NamedTuple):
    """Times of two devices and their host, measured on samples of a rank's rows."""

    # Seconds a device needs for each arc of its rows, from host memory to the forest's
    # edges in host memory.
    first: float
    second: float
    forest_edges: float  # Edges of the forest for each arc of the rows
    # Seconds the host needs for each of these edges: to contract a part along them, and
    # to merge two parts and contract the result.
    contract: float
    merge: float

    @property
    def even(self) -> float:
        """The share of the first device for which both devices take the same time."""
        return self.second / (self.first + self.second)

    def seconds(self, ratio: float, rows: Rows) -> float:
        """Predict the seconds in which a rank contracts rows with ghosts.

        The prediction assumes that divided rows merge by messages.
        """
        parts = [share for share in (ratio, 1 - ratio) if share > 0]
        edges = [
            min(share * self.forest_edges * rows.num_arcs, rows.num_vertices)
            for share in parts
        ]
        devices = max(ratio * self.first, (1 - ratio) * self.second) * rows.num_arcs
        merge = self.merge * sum(edges) if len(parts) == 2 else 0.0
        return devices + self.contract * max(edges) + merge

    def best_ratio(self, rows: Rows) -> float:
        """Return the first device's share of the arcs with the least predicted time."""
        one_device = 1.0 if self.first <= self.second else 0.0
        if rows.complete:
            return one_device
        both = self.seconds(self.even, rows)
        gains = both < (1 - LEAST_GAIN) * self.seconds(one_device, rows)
        return self.even if gains else one_device


def split(rows: Rows, ratio: float) -> list[Rows]:
    """Return two parts of consecutive rows, the first with about `ratio` of the arcs.

    A ratio of 0 or 1 leaves one part empty.
    """
    if ratio >= 1.0:
        return [rows, rows.cut(len(rows), len(rows))]
    boundary = int(np.searchsorted(rows.indptr, ratio * rows.num_arcs))
    return [rows.cut(0, boundary), rows.cut(boundary, len(rows))]


def bounded_ratio(backend: Device, rows: Rows, ratio: float) -> float:
    """Lower a ratio, if need be, so that the device's share of rows fits its memory."""
    free = backend.memory().free
    needed = backend.rows_nbytes(rows)
    return min(ratio, 0.9 * free / needed) if needed else ratio


SAMPLE = 8192  # sampled arcs for a quantile
RUN_ARCS = 1 << 19  # approximate limit of the arcs in a timed run of rows
PAIR_ARCS = 1 << 18  # approximate limit of the arcs in two parts whose merge is timed


def measure(backends: list[Device], rows: Rows, config: Config) -> Speeds:
    """Time two devices, and their host, on samples of a rank's rows.

    There are `ratio_samples` runs of consecutive rows. Each has the fraction
    `ratio_share` of the rows, or fewer rows with about `RUN_ARCS` arcs. The devices
    solve the light band of each run; the option `light_edges` sets its size.
    """
    length = min(len(rows), 1 + int(config.tuning.ratio_share * len(rows)))
    starts = sample_positions(len(rows) - length + 1, config.tuning.ratio_samples)
    runs = [_run(rows, int(start), length, RUN_ARCS) for start in starts]
    bands = [_light_band(run, config) for run in runs]
    seconds, forest_edges = [], 0
    for backend in backends:
        _forest(backend, runs[0], bands[0])  # untimed: a first call is slower
        begin = time.perf_counter()
        forests = [_forest(backend, *pair) for pair in zip(runs, bands, strict=True)]
        seconds.append(time.perf_counter() - begin)
        forest_edges = sum(map(len, forests))
    arcs = sum(run.num_arcs for run in runs)
    pair = _run(rows, int(starts[0]), length, PAIR_ARCS)
    host = _time_host(backends[-1], split(pair, 0.5), bands[0])
    return Speeds(seconds[0] / arcs, seconds[1] / arcs, forest_edges / arcs, *host)


def _time_host(backend: Device, parts: list[Rows], band: Band) -> tuple[float, float]:
    """Return the seconds per edge for contracting two parts, and for merging them."""
    forests = [_forest(backend, part, band) for part in parts]

    def contract_parts() -> list[ContractedPart]:
        return [
            contract(
                backend,
                reduced_graph(edges, (edges.u, edges.v), part.first, part.last),
            )
            for edges, part in zip(forests, parts, strict=True)
        ]

    edges = max(1, sum(map(len, forests)))
    contractions, first = _timed(contract_parts)
    _, second = _timed(lambda: contract(backend, merge_parts(contractions)))
    return first / edges, second / edges


def _run(rows: Rows, begin: int, length: int, arcs: int) -> Rows:
    """Return at most `length` rows from `begin` on, and about `arcs` arcs at most."""
    end = int(np.searchsorted(rows.indptr, rows.indptr[begin] + arcs))
    return rows.cut(begin, min(begin + length, max(end, begin + 1)))


def _light_band(rows: Rows, config: Config) -> Band:
    share = first_share(rows.num_arcs / 2, len(rows), config.light_edges, config.tuning)
    if share is None:
        return Band()
    sample = rows.keys[sample_positions(rows.num_arcs, SAMPLE)]
    return Band(None, int(np.sort(sample)[int(share * SAMPLE)]))


def _forest(backend: Device, rows: Rows, band: Band) -> EdgeList:
    return backend.band_forest(backend.upload(rows), band, None)


def _timed(task: Callable[[], ResultT]) -> tuple[ResultT, float]:
    begin = time.perf_counter()
    result = task()
    return result, time.perf_counter() - begin


# Rows with fewer arcs go to the CPU alone: the merge of two parts would take longer.
LEAST_ARCS = 1 << 20


def begin_upload(
    background: Background, backends: list[Device], rows: Rows, config: Config
) -> ArcInspection | None:
    """Begin to upload rows to the first device: a given share, or all rows.

    Returns the device's inspection of all rows, if the device can inspect arcs.
    """
    first, ratio = backends[0], config.ratio
    if len(backends) > 1 and isinstance(ratio, int | float):

        def share() -> tuple[float, Rows, Rows]:
            bounded = bounded_ratio(first, rows, ratio)
            chosen, others = split(rows, bounded)
            return bounded, chosen, others

        if ratio > 0:
            background.upload_share(first, share)
        return None
    if len(backends) > 1 and rows.num_arcs < LEAST_ARCS:
        return None
    background.upload(first, rows)
    return background if first.inspects_arcs else None


def assign_rows(
    backends: list[Device],
    rows: Rows,
    background: Background,
    config: Config,
    report: Report,
) -> tuple[tuple[Worker, ...], float]:
    """Return a worker for each device that gets rows, and the first device's ratio.

    The workers have no copies on their devices yet, except rows that `background` has
    uploaded to the first device.
    """
    share = background.uploaded()
    if len(backends) == 1:
        on_device = None if share is None else share.on_device
        return (Worker(backends[0], rows, on_device),), 1.0
    begin = report.seconds
    ratio, source = _ratio(backends, rows, config, report)
    if source == "given" and share is not None:
        ratio = share.ratio  # as the memory of the device allows
    elif share is not None and ratio < 1:
        share = None  # frees its memory
    if share is None:
        ratio = bounded_ratio(backends[0], rows, ratio)
    seconds = report.seconds - begin
    report.facts |= {
        "ratio": ratio, "ratio_source": source, "ratio_seconds": seconds
    }  # fmt: skip
    if share is not None and len(share.rows):
        first = Worker(backends[0], share.rows, share.on_device)
        others = [Worker(backends[1], part) for part in (share.others,) if part]
        return (first, *others), ratio
    parts = zip(backends, split(rows, ratio), strict=True)
    assigned = [(backend, part) for backend, part in parts if len(part)]
    assigned = assigned or [(backends[-1], rows)]
    return tuple(Worker(*pair) for pair in assigned), ratio


def _ratio(
    backends: list[Device], rows: Rows, config: Config, report: Report
) -> tuple[float, str]:
    """Return the share of the first of two devices, and its source for the report."""
    if isinstance(config.ratio, int | float):
        return config.ratio, "given"
    if rows.num_arcs < LEAST_ARCS:
        return 0.0, "few arcs"
    speeds = measure(backends, rows, config)
    report.facts["speeds"] = speeds._asdict()
    return speeds.best_ratio(rows), "measured"


def upload_rows(workers: tuple[Worker, ...], report: Report) -> tuple[Worker, ...]:
    """Upload the rows of all workers at the same time; skip uploaded rows."""

    def upload(worker: Worker) -> Worker:
        with report.work(worker.backend.name):
            if worker.on_device is not None:
                return worker
            return replace(worker, on_device=worker.backend.upload(worker.rows))

    if len(workers) == 1:
        return (upload(workers[0]),)
    with ThreadPoolExecutor(len(workers), "mndmst-worker") as pool:
        return tuple(pool.map(upload, workers))
