"""GPUs of one host merge by themselves: only the forest of the graph leaves them.

Every device computes the forest of its rank's rows, and that of the first rank the
forest of these forests. Each edge is offered once, by the home of its smaller end, so
what is left of an offer is what its rank has to write, in order.
"""

from typing import Any

import numpy as np

from ..backends.base import Peer
from ..graph.model import EdgeList
from ..run.run import Run


def join_on_devices(run: Run) -> bool:
    """Merge all ranks' rows at once, if each has one device that can. Collective.

    Afterwards `run.fixed` has the forest of the graph, and the directory knows all
    components.

    Returns
    -------
    bool
        Whether that has been done; if not, nothing has changed.
    """
    worker, peer = run.workers[0], None
    if len(run.workers) == 1 and run.stored is None and not run.resumed:
        peer = worker.backend.peer(worker.placed, run.num_vertices)
    if run.comm.min(int(peer is not None)) == 0 or peer is None:
        return False
    with run.report.stage("devices") as entry, run.report.work(worker.backend.name):
        found = _merge(run, peer, entry)
    if found is None:
        return False
    run.take_forest(*found, "devices")
    return True


def _merge(
    run: Run, peer: Peer, entry: dict[str, Any]
) -> tuple[EdgeList, np.ndarray] | None:
    """Return what `Peer.accept` does; None on all ranks, if it does on any."""
    comm = run.comm
    offers = comm.collect(peer.offer())
    answer = None
    if offers is not None and None not in offers:
        answer = peer.join(offers, comm.rank)
    answer = comm.share(answer)
    if answer is None:
        return None
    found = peer.accept(answer, comm.rank)
    entry["edges_offered"] = answer.bounds[-1]
    return found if comm.min(int(found is not None)) else None  # and waits for all
