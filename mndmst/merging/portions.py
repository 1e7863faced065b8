"""Light edges first: the portions of the edges that the steps run for, in turn.

Most edges of a dense graph need not be compared at all. The lightest ones, about as
many as there are vertices, usually make a giant component; of the others only those
count that leave a vertex outside it. For spanning forests this is filter-Kruskal
[1]; for connected components, where a light edge is as good as any, it is the
sampling of Afforest [2].

[1] Osipov, Sanders, Singler: The filter-Kruskal minimum spanning tree algorithm,
    ALENEX 2009. [2] Sutton, Ben-Nun, Barak: Optimizing parallel graph connectivity
    computation via subgraph sampling, IPDPS 2018.
"""

from collections.abc import Iterator

from ..backends.base import Band
from ..graph.model import ReducedGraph
from ..run.run import Run
from ..steps.heavier import band_graph, bands, giant_component, heavy_graph
from ..steps.local import NEAR_SHARE, can_go_alone
from .devices import join_on_devices
from .replicated import CUT_SHARE, can_list_vertices, cut_share, join_scattered
from .shared import Together

# How wide the first band is where most of its edges travel to other ranks, where ranks
# share them, and where most stay: the less an edge costs before ranks merge, the wider.
TRAVELLING, SHARED, STAYING = 0.75, 0.9, 1.15


def portions(run: Run) -> Iterator[Band | ReducedGraph]:
    """Yield the edges of a graph, portion by portion. Collective.

    What one portion has joined must be known to the directory, as it is after
    `hypar.post_process`, when the next is asked for.

    Yields
    ------
    Band or ReducedGraph
        First a band of the rows as they are read; then edges between the components
        found so far, which may reach over several ranks.
    """
    merge = run.config.merge
    if merge == "auto" and _solve_alone(run):
        return
    if merge in ("auto", "devices") and join_on_devices(run):
        return
    if merge == "devices":
        run.report.progress.say("merging on the hosts: not all devices can")
    share = cut_share(run)
    scattered = merge not in ("ring", "boruvka") and share > CUT_SHARE
    shared = scattered and merge != "messages" and not run.resumed
    together = Together.of(run) if shared else None
    at_once = scattered and not together and can_list_vertices(run)
    width = STAYING
    if scattered:
        width = SHARED if together else 1 if at_once else TRAVELLING
    local = not scattered and share <= NEAR_SHARE and can_go_alone(run)
    for number, band in enumerate(bands(run, width * run.config.light_edges)):
        run.done = band.low
        edges: Band | ReducedGraph | None = band
        if number > 0 or run.resumed:
            with run.report.stage("band", band=number):
                edges = band_graph(run, band)
        elif local and band.high is not None:
            edges = band._replace(rest=True)
        elif together:
            if _join_together(run, together, band):
                return
            continue
        elif at_once:
            with run.report.stage("hook"):
                edges = join_scattered(run, band)
            run.scattered = edges is not None
        if edges is not None:
            yield edges
            run.scattered = False
        if band.high is None or run.rest_done:
            return
        with run.report.stage("resolve", band=number):
            if edges is not None:
                run.directory.resolve()
            giant = giant_component(run, run.directory.parent)
        if giant is not None:
            with run.report.stage("heavy"):
                edges = heavy_graph(run, giant, band.high)
            yield edges
            return


def _solve_alone(run: Run) -> bool:
    """Do all at once if one device has the whole graph; return whether it has."""
    if run.comm.size > 1 or len(run.workers) > 1 or run.stored or run.resumed:
        return False
    (worker,) = run.workers
    with run.report.stage("indComp"), run.report.work(worker.backend.name):
        forest = worker.backend.msf(worker.placed)
    run.take_forest(*forest, "indComp")
    return True


def _join_together(run: Run, together: Together, band: Band) -> bool:
    """Join the lightest band in shared memory, and all others if they go at once.

    Collective; returns whether they did: where there is a giant component.
    """
    giant = None
    with run.report.stage("hook"):
        together.join_band(band)
    if run.checkpoint is not None:
        together.publish()
        run.safe_point()
    if band.high is not None:
        with run.report.stage("resolve"):
            giant = giant_component(run, together.at_home)
        if giant is not None:
            with run.report.stage("heavy"):
                together.join_heavy(giant, band.high)
    with run.report.stage("publish"):
        together.publish()
    run.safe_point()
    return band.high is None or giant is not None
