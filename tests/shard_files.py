"""Small sharded graphs for the tests of their files."""

import numpy as np

from mndmst.io.shards.graph_directory import Destination
from mndmst.io.shards.shard_writer import ShardWriter

UUID = "00000000-0000-0000-0000-000000000001"


def symmetric_rows(num_vertices=60, num_edges=150, dtype=np.int32, seed=1):
    """Return random CSR rows with the isolated vertices 10 to 19."""
    random = np.random.default_rng(seed)
    ends = random.integers(0, num_vertices, (2, num_edges))
    ends = ends[:, (ends[0] != ends[1]) & ((ends < 10) | (ends > 19)).all(axis=0)]
    pairs = np.unique(np.sort(ends, axis=0), axis=1)
    weights = random.integers(0, 100, pairs.shape[1]).astype(dtype)
    rows, columns = np.concatenate((pairs, pairs[::-1]), axis=1)
    order = np.lexsort((columns, rows))
    counts = np.bincount(rows, minlength=num_vertices)
    indptr = np.concatenate(([0], np.cumsum(counts)))
    return indptr, columns[order].astype(np.uint32), np.tile(weights, 2)[order]


def claimed(path, parts, overwrite=False):
    """Return a directory that may be written to, for a `ShardWriter`."""
    target = Destination(path, overwrite)
    target.claim(parts)
    return target


def write(
    path, rows, vtxdist, uuid=UUID, num_vertices=None, overwrite=False, **options
):
    indptr, indices, weights = rows
    num_vertices = len(indptr) - 1 if num_vertices is None else num_vertices
    target = claimed(path, len(vtxdist) - 1, overwrite)
    with ShardWriter(
        target, num_vertices, weights.dtype, np.array(vtxdist), uuid, **options
    ) as writer:
        for part in range(writer.num_parts):
            begin, end = vtxdist[part : part + 2]
            low, high = indptr[[begin, end]]
            pointers = indptr[begin : end + 1] - low
            writer.write_part(part, pointers, indices[low:high], weights[low:high])
        writer.finish()
    return path
