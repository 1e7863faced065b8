"""The last pass: the buckets of a part are sorted and become its rows."""

from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np

from ...backends.numba import arc_sort
from ...backends.numba import external as kernels
from ...memory import give_back_freed
from ...order import key_dtype
from ..edge_file import EdgeFile, Rows
from ..part_writer import PartWriter
from ..shard_writer import ShardWriter
from .plan import Plan
from .route import final_weights
from .runs import read_bucket


def write_part(
    plan: Plan, writer: ShardWriter, part: int, rows_of: Callable[[int], Rows]
) -> tuple[int, int]:
    """Write the rows of a part, bucket by bucket.

    Parameters
    ----------
    rows_of : callable
        Returns the rows of a bucket: ascending ids, none twice, lightest weights.

    Returns
    -------
    tuple of int
        What the part adds to the sums that tell graphs apart.
    """
    buckets = range(plan.begins[part], plan.begins[part + 1])
    sums = np.zeros(2, np.uint64)
    with writer.part(part, int(plan.arcs[buckets.start : buckets.stop].sum())) as file:
        for bucket in buckets:
            sums += _write_bucket(file, int(plan.first[bucket]), rows_of(bucket))
    return int(sums[0]), int(sums[1])


def _write_bucket(file: PartWriter, first: int, rows: Rows) -> np.ndarray:
    """Write rows, which nobody holds any more when the next bucket comes."""
    indptr, heads, weights = rows
    file.append(indptr, heads, weights)
    keys = weights.view(key_dtype(weights.dtype))
    return np.array(kernels.fingerprint(indptr, heads, keys, first), np.uint64)


def listed_rows(plan: Plan, file: EdgeFile, bucket: int) -> Rows:
    """Return the rows of a bucket from a file that lists arcs in their order."""
    first, end = plan.first[bucket : bucket + 2].tolist()
    if rows := file.rows(first, end):
        return rows[0], rows[1], final_weights(rows[2], plan)
    begin, count = int(plan.arcs[:bucket].sum()), int(plan.arcs[bucket])
    heads, weights = np.empty(count, plan.ids), np.empty(count, plan.weight_dtype)
    indptr = np.zeros(end - first + 1, np.int64)
    place = 0
    for piece in file.pieces(begin, begin + count):
        held = slice(place, place + len(piece))
        heads[held], weights[held] = piece.dst, final_weights(piece.weight, plan)
        kernels.count_rows(piece.src, first, indptr[1:])
        place = held.stop
    return np.cumsum(indptr, out=indptr), heads, weights


def sorted_rows(plan: Plan, runs: list[Path], bucket: int) -> Rows:
    """Return the rows of a bucket from the arcs that all ranks have routed to it."""
    rows = int(plan.first[bucket + 1] - plan.first[bucket])
    bits = plan.head_bits + max(0, rows - 1).bit_length()
    keys, weights = _packed(plan, runs, bucket)
    give_back_freed()  # batches that were routed or read
    keys, weights = sort_arcs(keys, weights, bits)
    indptr = np.empty(rows + 1, np.int64)
    # The heads take the place of the keys they are taken from
    heads = keys.view(plan.ids)[: len(keys)]
    count = kernels.close_up(keys, weights, plan.head_bits, indptr, heads)
    return indptr, heads[:count], weights[:count]


def _packed(plan: Plan, runs: list[Path], bucket: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the keys and weights of the arcs of a bucket; none else stay in memory."""
    keys = np.empty(plan.arcs[bucket], np.uint64)
    weights = np.empty(len(keys), plan.weight_dtype)
    place = 0
    for rows, heads, some in _arcs(plan, runs, bucket):
        held = slice(place, place + len(rows))
        kernels.pack(rows, heads, plan.first[bucket], plan.head_bits, keys[held])
        weights[held] = some
        place = held.stop
    return keys, weights


def sort_arcs(
    keys: np.ndarray, weights: np.ndarray, bits: int
) -> tuple[np.ndarray, np.ndarray]:
    """Return keys of some bits in ascending order, and the weights with them."""
    if arc_sort.ascending(keys):
        return keys, weights
    spare = np.empty_like(keys), np.empty_like(weights)
    moved = arc_sort.sort_arcs(keys, weights, bits, *spare)
    return spare if moved else (keys, weights)


def _arcs(plan: Plan, runs: list[Path], bucket: int) -> Iterator[list[np.ndarray]]:
    dtypes = [plan.ids, plan.ids, plan.weight_dtype]
    for run in runs:
        yield from read_bucket(run, bucket, dtypes)
