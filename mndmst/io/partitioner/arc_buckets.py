"""Route arcs: every process writes each arc of its share to the bucket of its row.

A run file has batches of arcs, each grouped by bucket, and an index of the groups.
"""

from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import numpy as np

from ..atomic_output import whole_file
from ..edge_file import Edges, without_negative_zero
from ..file_access import fill, writing
from ..kernels import partitioner as kernels
from .bucket_plan import KEY_BYTES, Plan

# Bytes of a batch: the edges as they are read, and their arcs in the order of buckets.
SMALLEST_BATCH, LARGEST_BATCH = 1 << 20, 1 << 28


class RunWriter:
    """Writes batches of arcs grouped by bucket (`.arcs`), and an index of the groups.

    The index (`.npy`) is written last, unless the block fails: its file is whole.
    """

    def __init__(self, path: Path, buckets: int) -> None:
        self.path = path
        self.counts = [np.zeros(buckets, np.int64)]
        with writing(path):
            self.file = path.with_suffix(".arcs").open("xb")

    def append(self, counts: np.ndarray, *columns: np.ndarray) -> None:
        """Write columns in the order of buckets; `counts` has the arcs of each."""
        self.counts.append(counts)
        with writing(self.path):
            for column in columns:
                self.file.write(column.view(np.uint8).data)

    def __enter__(self) -> "RunWriter":
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        if kind is not None:
            with suppress(OSError):  # a write that failed may fail again
                self.file.close()
            return
        with writing(self.path):
            self.file.close()
        index = self.path.with_suffix(".npy")
        with whole_file(index) as temporary, temporary.open("wb") as file:
            np.save(file, np.stack(self.counts[1:] or self.counts))


def read_buckets(
    path: Path, buckets: range, places: np.ndarray, *columns: np.ndarray
) -> None:
    """Read the arcs of consecutive buckets into columns from `places` on, moved on."""
    with writing(path):
        counts = np.load(path.with_suffix(".npy"), mmap_mode="r")
    with writing(path), path.with_suffix(".arcs").open("rb") as file:
        begin = 0
        for batch in counts:
            total, before = int(batch.sum()), int(batch[: buckets.start].sum())
            ends = places + batch[buckets.start : buckets.stop]
            held = list(map(slice, places.tolist(), ends.tolist()))
            for column in columns:
                file.seek(begin + before * column.itemsize)
                for some in held:
                    fill(file, column[some])
                begin += total * column.itemsize
            places[:] = ends


def run_file(work: Path, rank: int) -> Path:
    """Return the path of a rank's run file, without suffix."""
    return work / f"run-{rank}"


def route_arcs(
    plan: Plan, pieces: Iterator[Edges], work: Path, rank: int, room: int
) -> None:
    """Write the arcs of this rank's share to its run file, holding `room` bytes."""
    buckets = plan.buckets()
    bits = np.uint64(plan.head_bits)
    edge = 2 * plan.ids.itemsize + plan.weight_dtype.itemsize
    arc = KEY_BYTES + plan.weight_dtype.itemsize
    limit = min(max(room // 2, SMALLEST_BATCH), LARGEST_BATCH)
    limit //= edge + arc * (1 + plan.mirrored)
    keys, weights = np.empty(0, np.uint64), np.empty(0, plan.weight_dtype)
    with RunWriter(run_file(work, rank), len(plan.arcs)) as writer:
        for batch in _batches(pieces, limit):
            counts = np.zeros(len(plan.arcs), np.int64)
            for src, dst, _ in batch:
                kernels.count_arcs(src, dst, buckets, plan.mirrored, counts)
            total = int(counts.sum())
            if len(keys) < total:
                keys, weights = (np.empty(total, c.dtype) for c in (keys, weights))
            free = np.cumsum(counts) - counts
            for src, dst, weight in batch:
                edges = src, dst, final_weights(weight, plan)
                kernels.route(edges, buckets, bits, plan.mirrored, free, keys, weights)
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
    return without_negative_zero(weight.astype(plan.weight_dtype, copy=False))
