"""The last pass: the buckets of a part are sorted and become its rows."""

from collections.abc import Iterator
from pathlib import Path

import numpy as np

from ...backends.numba import external as kernels
from ...order import key_dtype
from ..shard_writer import ShardWriter
from .plan import Plan
from .runs import read_bucket


def write_part(
    plan: Plan, writer: ShardWriter, part: int, runs: list[Path]
) -> tuple[int, int]:
    """Sort the buckets of a part and write its rows.

    Parameters
    ----------
    runs : list of Path
        The run files of all ranks.

    Returns
    -------
    tuple of int
        What the part adds to the sums that tell graphs apart.
    """
    buckets = range(plan.begins[part], plan.begins[part + 1])
    sums = np.zeros(2, np.uint64)
    with writer.part(part, int(plan.arcs[buckets.start : buckets.stop].sum())) as file:
        for bucket in buckets:
            first = int(plan.first[bucket])
            rows = sorted_rows(plan, bucket, runs)
            indptr, heads, weights = rows
            keys = weights.view(key_dtype(weights.dtype))
            found = kernels.fingerprint(indptr, heads, keys, first)
            sums += np.array(found, np.uint64)
            file.append(indptr, heads, weights)
    return int(sums[0]), int(sums[1])


def sorted_rows(
    plan: Plan, bucket: int, runs: list[Path]
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the rows of a bucket: ascending ids, none twice, lightest weights."""
    begin, end = plan.first[bucket : bucket + 2].tolist()
    keys = np.empty(plan.arcs[bucket], np.uint64)
    weights = np.empty(len(keys), plan.weight_dtype)
    place = 0
    for rows, heads, some in _arcs(plan, bucket, runs):
        held = slice(place, place + len(rows))
        kernels.pack(rows, heads, begin, plan.head_bits, keys[held])
        weights[held] = some
        place = held.stop
    bits = plan.head_bits + max(0, end - begin - 1).bit_length()
    keys, weights = sort_arcs(keys, weights, bits)
    indptr = np.empty(end - begin + 1, np.int64)
    # The heads take the place of the keys they are taken from
    heads = keys.view(plan.ids)[: len(keys)]
    count = kernels.close_up(keys, weights, plan.head_bits, indptr, heads)
    return indptr, heads[:count], weights[:count]


def sort_arcs(
    keys: np.ndarray, weights: np.ndarray, bits: int
) -> tuple[np.ndarray, np.ndarray]:
    """Return keys of some bits in ascending order, and the weights with them."""
    if kernels.ascending(keys):
        return keys, weights
    spare = np.empty_like(keys), np.empty_like(weights)
    for shift in range(0, bits, kernels.DIGIT):
        if kernels.sort_by_digit(keys, weights, shift, *spare):
            (keys, weights), spare = spare, (keys, weights)
    return keys, weights


def _arcs(plan: Plan, bucket: int, runs: list[Path]) -> Iterator[list[np.ndarray]]:
    dtypes = [plan.ids, plan.ids, plan.weight_dtype]
    for run in runs:
        yield from read_bucket(run, bucket, dtypes)
