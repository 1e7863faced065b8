"""HyPar: graph programs that contract a graph part by part, in four calls.

The four functions of the HyPar framework (Panja and Vadhiyar, ICPP 2018, section
4.1). `pipeline.py` computes spanning forests with them, `components.py` connected
components; a program of the same shape reads

    run = part_graph(comm, path, config, report)
    for edges in portions(run):
        left = ind_comp(run, edges, exception)
        left = merge_parts(run, left)
        post_process(run, left)

and finds its answer in `run`: `run.directory` knows the component of every vertex
(after `run.directory.resolve()`), and `run.fixed` has the edges along which this rank
has contracted, a spanning forest over all ranks.

All four are collective: every rank calls them, in the same order. They raise
`MndmstError` on every rank alike. Time, edges and bytes of each go into `run.report`.

An application gives the *exception condition*: how far components may grow in a part
without knowing the others. It is a function `(backend, graph) -> Growth`, called with
a reduced graph that has ghosts, and it must

- leave every component that is not `own` its own root,
- merge own components only, along edges it marks as `final`, and
- depend on nothing but the graph.

`lightest_cut_edge` and `any_cut_edge` (EXCPT_BORDER_VERTEX and EXCPT_BORDER_EDGE of
the paper) are two. The first stops a component whose lightest edge is a cut edge: for
forests, where only the lightest edge of a component is known to be right. The second
leaves cut edges alone and stops no component: for programs that may contract any edge.
Where edges close a cycle the last of them in the order of `graph.order` is dropped,
so the answer must not depend on it: true of connected components, minimum spanning
forests, and bottleneck paths, not of shortest paths.
"""

from pathlib import Path

from ..backends.base import Band
from ..comm.communicator import Comm
from ..comm.directory import Directory
from ..comm.network import measure
from ..graph.model import ReducedGraph
from ..host.memory import Budget, resident_bytes
from ..io.shards import open_graph
from ..kernels.threads import Threads
from ..run.background import warm_up
from ..run.config import Config
from ..run.report import Report
from ..run.run import Run, contract_graph, learn_names, merge_contractions
from ..steps.boruvka import (
    ExceptionCondition,
    any_cut_edge,
    contract_rows,
    lightest_cut_edge,
)
from ..steps.local import contract_rest
from ..steps.read import balanced_vtxdist, keep_to_host, read_rows
from ..steps.streamed import contract_stored
from ..steps.workers import begin_placing, deal, make_backends, place
from .leaders import finish, merge_ranks
from .portions import portions

__all__ = [
    "ExceptionCondition",
    "any_cut_edge",
    "ind_comp",
    "lightest_cut_edge",
    "merge_parts",
    "part_graph",
    "portions",
    "post_process",
]


def part_graph(comm: Comm, path: str | Path, config: Config, report: Report) -> Run:
    """Read a graph and deal it to ranks and devices (partGraph). Collective.

    Every rank reads consecutive rows, balanced by arcs, and cuts them once more
    between its devices by their measured speed (4.3.1).

    Parameters
    ----------
    path : str or Path
        A directory of shards, its index, or a graph in one shard.

    Returns
    -------
    Run
        The state that the other calls work on; every vertex is its own component.

    Raises
    ------
    MndmstError
        On every rank, if the graph, the options or the machine will not do.
    """
    budget = Budget(config.memory, one_band=not config.light_edges)
    with report.stage("start"):
        with comm.together():
            graph = open_graph(path, check=comm.rank == 0)
        backends = make_backends(comm, config, report)
    with report.stage("kernels"):
        background = warm_up(comm, backends, graph, report.progress)
        if budget.given:  # what the kernels take is not left for the rows
            background.loaded()
        elif keep_to_host(comm, graph, budget, background.loaded):
            report.progress.say(
                "the rows may not fit the memory of the hosts: each rank keeps to "
                f"{budget.limit:,} bytes, as with --memory"
            )
    with report.stage("network"):
        network = measure(comm)
        report.facts["network"] = network._asdict()
    with report.stage("read") as entry:
        entry["resident_bytes"] = resident_bytes()
        vtxdist = balanced_vtxdist(comm, graph)
        threads = report.facts.get("threads", 1)
        rows, stored, num_edges = read_rows(
            comm, graph, vtxdist, budget, threads, entry,
            begun=lambda rows: begin_placing(background, backends, rows, config),
        )  # fmt: skip
    report.level("read", num_edges)
    with report.stage("kernels"), comm.together():
        background.finish()
    with report.stage("split"):
        workers, ratio = deal(backends, rows, background, config, report)
        directory = Directory(comm, vtxdist)
        run = Run(
            comm, config, graph, num_edges, directory, workers, ratio, budget, report,
            stored=stored, threads=Threads(threads), network=network,
        )  # fmt: skip
    with report.stage("place"):
        place(run)
    return run


def ind_comp(
    run: Run,
    edges: Band | ReducedGraph,
    exception: ExceptionCondition = lightest_cut_edge,
) -> ReducedGraph:
    """Contract what each rank holds by itself (indComp). Collective.

    Both devices of a rank work at once; what was the border between them is not one
    any more when they are done, so what they have left is contracted once again.

    Parameters
    ----------
    edges : Band or ReducedGraph
        What `portions` yields: arcs of the rows that were dealt out, or edges
        between components.
    exception : ExceptionCondition
        In force until the next call, for merging goes on contracting.

    Returns
    -------
    ReducedGraph
        This rank's components that are not finished, and the edges between them.
    """
    run.exception = exception
    with run.report.stage("indComp"):
        if isinstance(edges, ReducedGraph):
            # Components that reach over several ranks are nobody's to contract.
            return contract_graph(run, edges) if edges.own.any() else edges
        if run.stored is not None:
            return contract_stored(run, run.stored)
        contractions = run.at_once([
            lambda w=worker: contract_rows(
                w.backend, w.rows, w.placed, edges, exception
            )
            for worker in run.workers
        ])  # fmt: skip
        left = merge_contractions(run, contractions)
        if edges.rest and edges.high is not None:
            return contract_rest(run, left, edges.high)
        return contract_graph(run, left) if len(contractions) > 1 else left


def merge_parts(run: Run, left: ReducedGraph) -> ReducedGraph:
    """Merge what the ranks have left until one of them has it all (mergeParts).

    Collective. Ghosts get their present names, self edges and multi-edges go, and
    the ranks merge: by rings and leaders, contracting wherever a cut edge has become
    an inner one, or by global rounds (`hierarchy.py`).

    Returns
    -------
    ReducedGraph
        On the last leader what is left of the whole graph, elsewhere nothing.
    """
    with run.report.stage("mergeParts"):
        if run.stored is not None or run.comm.max(len(run.renamed)):
            left = learn_names(run, left)
        edges = run.comm.sum(len(left))
    run.report.level("indComp", edges)
    run.safe_point()
    return merge_ranks(run, left)


def post_process(run: Run, left: ReducedGraph) -> None:
    """Contract the rest on the last leader, without exception (postProcess).

    Collective. Afterwards `run.directory` knows all components that the edges so far
    have joined, and `run.fixed` all edges they were joined along.
    """
    with run.report.stage("finish"):
        finish(run, left)
