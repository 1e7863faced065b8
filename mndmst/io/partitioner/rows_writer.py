"""Write rows that lie on ranks as a sharded graph, and name it by its contents."""

from contextlib import nullcontext
from pathlib import Path

import numpy as np

from ...comm.communicator import Comm
from ...graph.model import Rows
from ...graph.order import key_dtype, keys_to_weights
from ...host.errors import OutputError
from ..file_access import writing
from ..kernels.partitioner import fingerprint
from ..shards.graph_directory import Destination, no_new_folders
from ..shards.shard_writer import ShardWriter, VertexIds
from .builders import RankBuilders
from .graph_lock import locked
from .write_parts import name_by_content


def check_new(out: Path, num_parts: int, overwrite: bool, read: Path) -> None:
    """Check, before any work, that a graph can be written; the one `read` stays."""
    with writing(out):
        folder = read if read.is_dir() else read.parent
        if out.resolve() == folder.resolve():
            raise OutputError(
                f"{out}: is read by this command, and would be replaced. Give another "
                "directory."
            )
    Destination(out, overwrite).check(num_parts)


def graph_uuid(
    comm: Comm, rows: Rows, weight_dtype: np.dtype, original: VertexIds | None = None
) -> str:
    """Return the uuid that `partition` gives the graph of these rows. Collective."""
    weights = keys_to_weights(rows.keys, weight_dtype)
    words = weights.view(key_dtype(weight_dtype))
    sums = fingerprint(rows.indptr, rows.indices, words, rows.first)
    total = comm.sum(np.array(sums, np.uint64))
    return name_by_content(rows.num_vertices, weight_dtype, total, original)


def write_rows(
    comm: Comm, out: Path, rows: Rows, weight_dtype: np.dtype, uuid: str,
    original: VertexIds | None = None, overwrite: bool = False,
) -> None:  # fmt: skip
    """Write the consecutive rows of all ranks, a part for each. Collective."""
    vtxdist = np.append(comm.allgather(rows.first), rows.num_vertices)
    own = no_new_folders(out.resolve()) if comm.rank == 0 else nullcontext()
    with own, locked(RankBuilders(comm), out.resolve(), out):
        target = None
        with comm.raise_on_all():
            if comm.rank == 0:
                target = Destination(out, overwrite)
                target.claim(comm.size)
        writer = ShardWriter(
            comm.bcast(target), rows.num_vertices, weight_dtype, vtxdist, uuid,
            original=original,
        )  # fmt: skip
        weights = keys_to_weights(rows.keys, weight_dtype)
        with writer:
            with comm.raise_on_all():
                writer.write_part(comm.rank, rows.indptr, rows.indices, weights)
            with comm.raise_on_all():
                if comm.rank == 0:
                    writer.finish()
