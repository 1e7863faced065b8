"""Write a graph as it is now as shards, one for each rank."""

import uuid
from pathlib import Path

from ..comm.communicator import Comm
from ..graph.order import keys_to_weights, stored_id_dtype
from ..io.destination import Destination
from ..io.shard_writer import ShardWriter
from ..io.vertex_names import vertex_ids
from .filters import joined_rows
from .held import HeldGraph


def write_snapshot(comm: Comm, graph: HeldGraph, folder: Path) -> str:
    """Write a graph to a new directory; return its uuid. Collective.

    Raises
    ------
    OutputError
        On every rank, if it cannot be written; the directory then has no index.
    """
    graph.refresh()
    run, vtxdist = graph.resident.run, graph.resident.run.directory.vtxdist
    name = f"{run.graph.uuid} version {graph.version}"
    named = run.graph.uuid
    if graph.version:
        named = str(uuid.uuid5(uuid.NAMESPACE_URL, name))
    original, target = None, Destination(folder)
    with comm.raise_on_all():
        original = vertex_ids(run.graph)
        if comm.rank == 0:
            target.claim(comm.size)
    target = comm.bcast(target)
    facts = run.num_vertices, graph.resident.weighed.dtype, vtxdist, named
    with ShardWriter(target, *facts, original=original) as writer:
        with comm.raise_on_all():
            rows = joined_rows(graph.resident.weighed.workers)
            weights = keys_to_weights(rows.keys, graph.resident.weighed.dtype)
            ids = rows.indices.astype(stored_id_dtype(run.num_vertices))
            writer.write_part(comm.rank, rows.indptr, ids, weights)
        with comm.raise_on_all():
            if comm.rank == 0:
                writer.finish()
    return named
