"""Steps 1 and 2: read a graph, and divide it among ranks and devices (partGraph)."""

from dataclasses import replace
from pathlib import Path

import numpy as np

from ..backends.costs import SERVED_SOLVES
from ..comm.communicator import Comm
from ..comm.directory import Directory
from ..host.formatting import size_text
from ..host.memory import Budget, resident_bytes
from ..io.shards.sharded_graph import open_graph
from ..kernels.threads import Threads
from .config import Config
from .devices import DeviceAssignment, assign_devices, make_backends
from .read import balanced_vtxdist, begin_read, keep_to_host
from .run import Run, State
from .run_report import Report
from .split import assign_rows, begin_upload, upload_rows
from .startup import start_devices


def part_graph(
    comm: Comm,
    path: str | Path,
    config: Config,
    report: Report,
    host_rows: bool = False,
    assigned: DeviceAssignment | None = None,
) -> Run:
    """Read a graph and divide it among ranks and devices (partGraph). Collective.

    Every rank reads consecutive rows, balanced by arcs, and divides them between its
    devices by their measured speed (4.3.1). Every vertex is a component. `path`
    is a directory of shards, its index, or a graph in one shard. With `host_rows`, host
    memory has the rows even if a GPU has all of them, for a graph that stays loaded and
    is solved many times. `assigned` is the device of this rank, if it has been chosen.
    Raises MndmstError on every rank if the graph, the options or the machine do not
    suit.
    """
    budget = Budget(config.memory, one_band=not config.light_edges)
    with report.stage("start"):
        with comm.raise_on_all():
            graph = open_graph(path, check=comm.rank == 0)
        if assigned is None:
            solves = SERVED_SOLVES if host_rows else 1
            assigned = assign_devices(comm, config, graph, report.progress, solves)
        few_arcs = assigned.few_arcs and comm.size == 1 and not host_rows
        assigned = replace(assigned, few_arcs=few_arcs)
        backends, threads = make_backends(comm, config, assigned, report)
        one_host = comm.is_one_host()
        weights = None if host_rows else _different_weights(comm, assigned, threads)
    with report.stage("kernels"):
        background = start_devices(
            comm, backends, graph, report.progress, compiles=not few_arcs
        )
        if budget.given:  # started devices take memory that the rows cannot have
            background.loaded()
        else:
            most = None if weights is None else float(weights.max() / weights.sum())
            budget = keep_to_host(comm, graph, budget, background.loaded, most)
        if budget.shared:
            report.progress.say(
                "the rows may not fit the memory of the hosts: each rank keeps to "
                f"{size_text(budget.limit)}, as with --memory"
            )
    # 1. Read consecutive rows
    with report.stage("read") as entry:
        entry["resident_bytes"] = resident_bytes()
        vtxdist = balanced_vtxdist(comm, graph, weights)
        reading = begin_read(comm, graph, vtxdist, budget, threads, entry)
        rows = reading.rows if host_rows else reading.rows_for(backends)
        inspection = begin_upload(background, backends, rows, config)
        num_edges = reading.finish(inspection, on_device=rows.files is not None)
    report.level("read", num_edges)
    with report.stage("kernels"), comm.raise_on_all():
        background.finish()
    # 2. Divide them between the devices
    with report.stage("split"):
        workers, ratio = assign_rows(backends, rows, background, config, report)
    with report.stage("place"):
        workers = upload_rows(workers, report)
    state = State(Directory(comm, vtxdist))
    return Run(
        comm, config, graph, num_edges, state, workers, ratio, reading.budget, report,
        reading.stored, one_host=one_host, threads=Threads(threads, config.tuning),
    )  # fmt: skip


def _different_weights(
    comm: Comm, assigned: DeviceAssignment, threads: int
) -> np.ndarray | None:
    """Return the weights of all ranks if their devices differ, else None. Collective.

    Only some ranks have a device, or its memory counts. Without weights, rows are
    balanced by arcs alone.
    """
    devices = comm.sum(int(assigned.kind is not None))
    if assigned.capacity is None and devices in (0, comm.size):
        return None
    return comm.allgather(assigned.weight(threads, comm.max(comm.node().size)))
