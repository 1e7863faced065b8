"""Steps 1 and 2: read a graph, and divide it among ranks and devices (partGraph)."""

from pathlib import Path

from ..comm.communicator import Comm
from ..comm.directory import Directory
from ..host.formatting import size_text
from ..host.memory import Budget, resident_bytes
from ..io.shards.sharded_graph import open_graph
from ..kernels.threads import Threads
from .config import Config
from .devices import make_backends
from .read import balanced_vtxdist, begin_read, keep_to_host
from .run import Run, State
from .run_report import Report
from .split import begin_placing, deal, place
from .startup import start_devices


def part_graph(
    comm: Comm,
    path: str | Path,
    config: Config,
    report: Report,
    host_rows: bool = False,
) -> Run:
    """Read a graph and divide it among ranks and devices (partGraph). Collective.

    Every rank reads consecutive rows, balanced by arcs, and divides them between its
    devices by their measured speed (4.3.1). Every vertex is its own component. `path`
    is a directory of shards, its index, or a graph in one shard. If `host_rows`, the
    rows are also kept in host memory where a GPU has all of them. Raises MndmstError on
    every rank if the graph, the options or the machine do not suit.
    """
    budget = Budget(config.memory, one_band=not config.light_edges)
    with report.stage("start"):
        with comm.raise_on_all():
            graph = open_graph(path, check=comm.rank == 0)
        backends, threads = make_backends(comm, config, graph.num_arcs, report)
        one_host = comm.is_one_host()
    with report.stage("kernels"):
        background = start_devices(comm, backends, graph, report.progress)
        if budget.given:  # the rows cannot have the memory of devices
            background.loaded()
        else:
            budget = keep_to_host(comm, graph, budget, background.loaded)
        if budget.shared:
            report.progress.say(
                "the rows may not fit the memory of the hosts: each rank keeps to "
                f"{size_text(budget.limit)}, as with --memory"
            )
    # 1. Read consecutive rows
    with report.stage("read") as entry:
        entry["resident_bytes"] = resident_bytes()
        vtxdist = balanced_vtxdist(comm, graph)
        reading = begin_read(comm, graph, vtxdist, budget, threads, entry)
        rows = reading.rows if host_rows else reading.rows_for(backends)
        inspection = begin_placing(background, backends, rows, config)
        num_edges = reading.finish(inspection, on_device=rows.files is not None)
    report.level("read", num_edges)
    with report.stage("kernels"), comm.raise_on_all():
        background.finish()
    # 2. Divide them between the devices
    with report.stage("split"):
        workers, ratio = deal(backends, rows, background, config, report)
    with report.stage("place"):
        workers = place(workers, report)
    state = State(Directory(comm, vtxdist))
    return Run(
        comm, config, graph, num_edges, state, workers, ratio, reading.budget, report,
        reading.stored, one_host=one_host, threads=Threads(threads, config.tuning),
    )  # fmt: skip
