"""Second pass: write every arc to the bucket of its row."""

from collections.abc import Iterator
from pathlib import Path

import numpy as np

from ..edges import Edges
from ..kernels import partitioner as kernels
from .arc_files import RunWriter
from .plan import KEY_BYTES, Plan

# What a batch takes: what has been read of it, and its arcs in the order of buckets.
SMALLEST_BATCH, LARGEST_BATCH = 1 << 20, 1 << 28


def route_arcs(plan: Plan, pieces: Iterator[Edges], path: Path, room: int) -> None:
    """Write the arcs of this rank's share to a run file.

    Parameters
    ----------
    path : Path
        Of the run file, without suffix.
    room : int
        Bytes that may be taken.
    """
    buckets = plan.buckets()
    bits = np.uint64(plan.head_bits)
    edge = 2 * plan.ids.itemsize + plan.weight_dtype.itemsize
    arc = KEY_BYTES + plan.weight_dtype.itemsize
    limit = min(max(room // 2, SMALLEST_BATCH), LARGEST_BATCH)
    limit //= edge + arc * (1 + plan.mirrored)
    keys, weights = np.empty(0, np.uint64), np.empty(0, plan.weight_dtype)
    with RunWriter(path, len(plan.arcs)) as writer:
        for batch in _batches(pieces, limit):
            counts = np.zeros(len(plan.arcs), np.int64)
            for src, dst, _ in batch:
                kernels.count_arcs(src, dst, buckets, plan.mirrored, counts)
            total = int(counts.sum())
            if len(keys) < total:
                keys, weights = (
                    np.empty(total, kept.dtype) for kept in (keys, weights)
                )
            free = np.cumsum(counts) - counts
            for src, dst, weight in batch:
                edges = src, dst, final_weights(weight, plan)
                mirrored = plan.mirrored
                kernels.route(edges, buckets, bits, mirrored, free, keys, weights)
            writer.append(counts, keys[:total], weights[:total])


def _batches(
    pieces: Iterator[Edges], limit: int
) -> Iterator[list[tuple[np.ndarray, ...]]]:
    """Yield pieces together that have at most `limit` edges, or are one piece."""
    batch: list[tuple[np.ndarray, ...]] = []
    held = 0
    for piece in pieces:
        if batch and held + len(piece) > limit:
            yield batch
            batch, held = [], 0
        batch.append((piece.src, piece.dst, piece.weight))
        held += len(piece)
    if batch:
        yield batch


def final_weights(weight: np.ndarray, plan: Plan) -> np.ndarray:
    """Return weights in the type of the shards; -0.0 is written as 0.0."""
    weight = weight.astype(plan.weight_dtype, copy=False)
    return weight + weight.dtype.type(0) if weight.dtype.kind == "f" else weight
