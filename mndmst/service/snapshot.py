"""Write a graph as it is now as shards, one for each rank."""

import uuid
from contextlib import suppress
from pathlib import Path

from ..comm.communicator import Comm
from ..graph.order import keys_to_weights, stored_id_dtype
from ..host.errors import OutputError
from ..io.results.graph_names import vertex_ids
from ..io.shards.graph_directory import Destination, remove_shards
from ..io.shards.shard_writer import ShardWriter
from .served_graph import ServedGraph


def write_snapshot(comm: Comm, graph: ServedGraph, folder: Path) -> str:
    """Write a graph to a new directory; return its uuid. Collective.

    Raises
    ------
    OutputError
        On every rank, if it cannot be written; the directory is then removed.
    """
    try:
        return _write(comm, graph, folder)
    except OutputError:
        if comm.rank == 0:
            with suppress(OSError):
                remove_shards(folder)
        raise


def _write(comm: Comm, graph: ServedGraph, folder: Path) -> str:
    version = graph.written()
    assert version.weighed is not None
    rows, dtype = version.weighed.rows, version.weight_dtype
    run, vtxdist = graph.loaded.run, graph.loaded.run.directory.vtxdist
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
    facts = run.num_vertices, dtype, vtxdist, named
    with ShardWriter(target, *facts, original=original) as writer:
        with comm.raise_on_all():
            weights = keys_to_weights(rows.keys, dtype)
            ids = rows.indices.astype(stored_id_dtype(run.num_vertices))
            writer.write_part(comm.rank, rows.indptr, ids, weights)
        with comm.raise_on_all():
            if comm.rank == 0:
                writer.finish()
    return named
