"""START HERE: a run from shards to forest, one call for each step.

Every rank runs this file. What a step does is told in its own module; what devices
there are is known to `workers.py` alone.
"""

from dataclasses import dataclass
from pathlib import Path

from .boruvka import contract_rows
from .comm import Comm
from .config import Config
from .ghosts import Directory
from .graph import ReducedGraph
from .heavy import band_graph, bands, giant_component, heavy_graph
from .hierarchy import merge_ranks
from .io.forest_writer import check_writable
from .io.shards import open_graph
from .memory import Budget
from .progress import Progress
from .read import balanced_vtxdist, read_rows
from .report import Report
from .run import Run, contract_graph, merge_contractions, merge_parts
from .workers import deal, make_backends, place, warm_up
from .write import Summary, write_forest


@dataclass(frozen=True)
class Targets:
    """Where the results go; None leaves one out."""

    forest: Path | None = None
    report: Path | None = None
    labels: bool = False


def solve(
    comm: Comm, path: str | Path, config: Config, targets: Targets, progress: Progress
) -> Summary:
    """Compute the minimum spanning forest of a sharded graph. Collective.

    Parameters
    ----------
    path : str or Path
        A directory of shards, its index, or a graph in one shard.

    Returns
    -------
    Summary
        The same on every rank.

    Raises
    ------
    MndmstError
        On every rank, if the input, the options or the output will not do.
    """
    report = Report(comm, progress)
    budget = Budget(config.memory)
    for target in (targets.forest, targets.report):
        if target is not None:
            check_writable(comm, target)
    with report.stage("start"):
        with comm.together():
            graph = open_graph(path, check=comm.rank == 0)
        backends = make_backends(comm, config, report)
        warm_up(comm, backends, graph, progress)

    # 1. Every rank reads its rows, balanced by arcs
    with report.stage("read"):
        vtxdist = balanced_vtxdist(comm, graph)
        rows, num_edges = read_rows(comm, graph, vtxdist, budget)
    report.level("read", num_edges)

    # 2. The rows of a rank are dealt to its devices
    with report.stage("split"):
        workers, ratio = deal(comm, backends, rows, config, report)
        directory = Directory(comm, vtxdist)
        run = Run(comm, config, directory, workers, ratio, budget, report)
    with report.stage("place"):
        place(run)

    # Light edges first: the steps run for each band of weights
    for number, band in enumerate(bands(run)):
        if number == 0:
            # 3. Both devices contract what they can without the other ranks
            with report.stage("indComp", band=number):
                left = independent_computation(run, band)
            # 4. Parts merge; ghosts learn their components
            with report.stage("mergeParts", band=number):
                left = merge_parts(run, left)
            components = comm.sum(sum(len(worker.rows) for worker in workers))
        else:
            with report.stage("band", band=number):
                left, components = band_graph(run, band), 0
        report.level(f"band {number}", comm.sum(len(left)))

        # 5. Rings in groups, 6. leaders, level by level, 7. the last leader
        merge_ranks(run, left, components)
        with report.stage("resolve", band=number):
            directory.resolve()
            giant = None if band.high is None else giant_component(run)

        # Heavy edges matter to vertices outside the giant component only
        if giant is not None and band.high is not None:
            with report.stage("heavy"):
                left = heavy_graph(run, giant, band.high)
            report.level("heavy", comm.sum(len(left)))
            merge_ranks(run, left, 0)
            break

    # 8. Every rank writes the forest edges that begin at its vertices
    return write_forest(run, graph, num_edges, targets)


def independent_computation(run: Run, band) -> ReducedGraph:
    """Contract the rows of all workers of this rank, at once.

    What was the border between them is not one any more, so what they have left is
    contracted once again.
    """
    contractions = run.at_once([
        lambda w=worker: contract_rows(w.backend, w.rows, w.placed, band)
        for worker in run.workers
    ])  # fmt: skip
    left = merge_contractions(run, contractions)
    return contract_graph(run, left) if len(contractions) > 1 else left
