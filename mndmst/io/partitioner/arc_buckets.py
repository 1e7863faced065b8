"""Divide rows into stored parts, and parts into buckets that fit into memory.

Every process writes each arc of its share to the bucket of its row. A run file
(`.arcs`) has batches of arcs, each grouped by bucket, and an index of the groups
(`.npy`). Where the arcs fit in memory, the run file is a link to memory.
"""

import os
import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import IO

import numpy as np

from ...graph.order import id_dtype, stored_id_dtype
from ...host.errors import ConfigError, InputError, OutputError
from ...host.formatting import counted, size_text, sufficient_size
from ..atomic_output import whole_file
from ..edge_file import (
    BOUND_BYTES,
    ROWS_ALLOWED,
    EdgeFile,
    Edges,
    without_negative_zero,
)
from ..file_access import fill, writing
from ..kernels import partitioner as kernels
from .edge_survey import SIZES, BufferSizes, Survey

# Bytes an arc and a row while sorting, copies included.
KEY_BYTES, ROW_BYTES = 8, 16
# Arcs are written to all buckets at once, and from some hundreds on each of them waits
# for its page.
MOST_BUCKETS = 512
GUIDE_BITS = 15
# A part may be empty, but more empty parts than this are refused as an error.
MOST_EMPTY_PARTS = 1 << 12
# The largest factor that --compress saves for rows that are not mostly empty.
PACKING = 8
# Beyond `ROWS_ALLOWED`, rows may take `TIMES_ALLOWED` times the larger of the file's
# size and `ENTRY_BYTES` for each edge.
TIMES_ALLOWED, ENTRY_BYTES = 1000, 16


def balanced_cuts(load: np.ndarray, num_parts: int) -> np.ndarray:
    """Return the `num_parts + 1` positions that cut ascending loads evenly."""
    total = int(load[-1])
    shares = np.array([total * part // num_parts for part in range(num_parts + 1)])
    cuts = np.searchsorted(load, shares)
    cuts[-1] = len(load) - 1
    return cuts


@dataclass(frozen=True)
class Plan:
    """The division of rows into parts and buckets, the same on every rank."""

    num_vertices: int
    weight_dtype: np.dtype
    mirrored: bool  # whether each listed edge means both its arcs
    # Whether the arcs are listed in the order of rows, so that the arcs of a bucket
    # are next to each other and need not be routed
    in_rows: bool
    room: int  # bytes that sorting may take
    runs: int  # how many processes route arcs, each to a run file
    vtxdist: np.ndarray  # int64 [parts + 1]: the first vertex of each part
    first: np.ndarray  # int64 [buckets + 1]: the first vertex of each bucket
    # int64 [buckets]: how many will be routed to each, repeats included
    arcs: np.ndarray
    begins: np.ndarray  # int64 [parts + 1]: the first bucket of each part
    maximum: bool = False  # whether the heaviest of parallel edges stays

    @property
    def ids(self) -> np.dtype:
        """The type of vertex ids on the way."""
        return id_dtype(self.num_vertices)

    @property
    def arc_bytes(self) -> int:
        """Bytes of all arcs in the run files."""
        return int(self.arcs.sum()) * (KEY_BYTES + self.weight_dtype.itemsize)

    @property
    def bucket_bytes(self) -> int:
        """Bytes that the sort of the largest bucket takes."""
        arc = 2 * (KEY_BYTES + self.weight_dtype.itemsize)
        return int((arc * self.arcs + ROW_BYTES * np.diff(self.first)).max(initial=0))

    @property
    def head_bits(self) -> int:
        """Bits of a sort key that hold the neighbour."""
        return max(1, (self.num_vertices - 1).bit_length())

    def buckets(self) -> kernels.Buckets:
        """Return the tables by which kernels find a bucket."""
        shift = max(0, (self.num_vertices - 1).bit_length() - GUIDE_BITS)
        vertices = np.arange(0, self.num_vertices, 1 << shift)
        guide = np.searchsorted(self.first[1:], vertices, "right").astype(np.int32)
        return kernels.Buckets(self.first.astype(np.uint64), guide, np.uint64(shift))


def check_vertices(file: EdgeFile, num_vertices: int, num_entries: int) -> None:
    """Refuse far more vertices than the edges of a file can name."""
    rows = BOUND_BYTES * num_vertices
    size = max(file.nbytes(), ENTRY_BYTES * num_entries)
    if file.vertices_given or rows <= max(ROWS_ALLOWED, TIMES_ALLOWED * size):
        return
    raise InputError(
        f"{file.name}: {counted(num_entries, 'edge')} would make a graph of "
        f"{counted(num_vertices, 'vertex')}, whose rows take {size_text(rows)}, over "
        f"{TIMES_ALLOWED:,} times what the file takes. The largest vertex id that "
        f"occurs, or that the header allows, is {file.first_id + num_vertices - 1}. If "
        "it is wrong, fix it; else give --compact-ids for a graph of the vertices "
        f"that edges name, or --num-vertices {num_vertices} for one of all."
    )


def built_size(survey: Survey, num_parts: int) -> tuple[int, int]:
    """Return an upper bound of a graph's arcs, and of their bytes."""
    n = survey.num_vertices
    arcs = int(survey.counts.sum()) // (2 if survey.symmetric else 1)
    # Every part tells where all of them begin.
    bounds = n + num_parts * (num_parts + 1)
    arc = stored_id_dtype(n).itemsize + survey.weight_dtype.itemsize
    return arcs, BOUND_BYTES * bounds + arc * arcs


def check_size(
    survey: Survey, num_parts: int, name: str, out: Path, compress: bool
) -> None:
    """Make sure that the graph has room on its disk, before any of it is written."""
    n = survey.num_vertices
    if num_parts > max(n, MOST_EMPTY_PARTS):
        raise ConfigError(
            f"{name}: has {counted(n, 'vertex')}, too few for "
            f"{counted(num_parts, 'part')}. Give {max(n, MOST_EMPTY_PARTS):,} or fewer."
        )
    need = built_size(survey, num_parts)[1] // (PACKING if compress else 1)
    with writing(out):
        free = shutil.disk_usage(out).free
    if need > free:
        raise OutputError(
            f"{out}: to make a graph of {name} in {counted(num_parts, 'part')} takes "
            f"{size_text(need)}, and {size_text(free)} are free. It has {n:,} "
            "vertices, since every number up to the largest id is one: if one id is "
            "wrong, fix it; else give a directory with more room."
        )


def make_plan(
    survey: Survey,
    num_parts: int,
    room: int,
    memory: int,
    name: str,
    runs: int = 1,
    maximum: bool = False,
    sizes: BufferSizes = SIZES,
) -> Plan:
    """Cut vertices into parts of equal cost, and these into buckets of `room` bytes.

    `memory` is the limit that leaves this room.
    """
    mirrored = not survey.symmetric
    arcs = survey.counts if mirrored else survey.counts // 2
    n, shift = survey.num_vertices, survey.shift
    edges = np.minimum(np.arange(len(arcs) + 1, dtype=np.int64) << shift, n)
    before = np.concatenate(([0], np.cumsum(arcs)))
    cuts = balanced_cuts(before + edges, num_parts)
    in_rows = survey.in_rows and not mirrored
    key = id_dtype(n).itemsize if in_rows else KEY_BYTES
    width = (key + survey.weight_dtype.itemsize) * (1 if in_rows else 2)
    cost = width * before + ROW_BYTES * edges
    goal = sizes.largest_bucket
    goal = min(room, goal if in_rows else max(goal, cost[-1] // MOST_BUCKETS))
    # The key of an arc is its row and its neighbour, in 64 bits
    most_rows = 1 << (64 - max(1, (n - 1).bit_length()))
    if most_rows >> shift == 0 and not in_rows:
        raise ConfigError(
            f"{name}: has {n:,} vertices; arcs of at most 2^42 can be sorted. Give "
            "--compact-ids, if edges name fewer."
        )
    of_block = np.diff(cost)
    needed = int(of_block.max(initial=0))
    if needed > room:
        largest = int(of_block.argmax())
        raise ConfigError(
            f"{name}: the {int(arcs[largest]):,} arcs of "
            f"{counted(int(edges[largest + 1] - edges[largest]), 'vertex')} take "
            f"{size_text(needed)} to sort, and --memory leaves {size_text(room)}. "
            f"Give --memory {sufficient_size(memory + needed - room)} or more."
        )
    blocks, begins = [0], [0]
    for end in cuts[1:].tolist():
        while blocks[-1] < end:
            low = blocks[-1]
            high = int(np.searchsorted(cost, cost[low] + goal, "right")) - 1
            high = max(low + 1, min(high, end, low + (most_rows >> shift)))
            blocks.append(high)
        begins.append(len(blocks) - 1)
    bounds = np.array(blocks)
    return Plan(
        n, survey.weight_dtype, mirrored, in_rows, room, runs,
        edges[cuts], edges[bounds], np.diff(before[bounds]), np.array(begins),
        maximum,
    )  # fmt: skip


def run_file(work: Path, rank: int) -> Path:
    """Return the path of a rank's run file, without suffix."""
    return work / f"run-{rank}"


def open_run_file(work: Path, rank: int, in_memory: bool) -> IO[bytes]:
    """Make the run file of a rank: on disk, or a link to memory while it is open.

    Other processes of the system read the memory by the link. It is freed when the file
    is closed, or the process is killed.
    """
    path = run_file(work, rank).with_suffix(".arcs")
    with writing(path):
        if not in_memory:
            return path.open("xb")
        memory = os.memfd_create(path.name)
        path.symlink_to(f"/proc/{os.getpid()}/fd/{memory}")
        return os.fdopen(memory, "wb")


def process_space() -> str | None:
    """Return an id of the processes that see each other's memory files, or None."""
    if not hasattr(os, "memfd_create"):
        return None
    try:
        boot = Path("/proc/sys/kernel/random/boot_id").read_text()
        return boot + str(Path("/proc/self/ns/pid").readlink())
    except OSError:
        return None


def route_arcs(
    plan: Plan,
    pieces: Iterator[Edges],
    work: Path,
    rank: int,
    room: int,
    file: IO[bytes],
    sizes: BufferSizes = SIZES,
) -> None:
    """Write the arcs of this rank's share to its run file, holding `room` bytes."""
    buckets = plan.buckets()
    bits = np.uint64(plan.head_bits)
    edge = 2 * plan.ids.itemsize + plan.weight_dtype.itemsize
    arc = KEY_BYTES + plan.weight_dtype.itemsize
    limit = min(max(room // 2, sizes.smallest_batch), sizes.largest_batch)
    limit //= edge + arc * (1 + plan.mirrored)
    keys, weights = np.empty(0, np.uint64), np.empty(0, plan.weight_dtype)
    path = run_file(work, rank)
    groups = [np.zeros(len(plan.arcs), np.int64)]
    with writing(path):
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
            groups.append(counts)
            file.write(keys[:total].view(np.uint8).data)
            file.write(weights[:total].view(np.uint8).data)
        file.flush()
    # The index comes last: where it is, the file is whole
    index = path.with_suffix(".npy")
    with whole_file(index) as temporary, temporary.open("wb") as file:
        np.save(file, np.stack(groups[1:] or groups))


def read_buckets(
    path: Path, buckets: range, offsets: np.ndarray, *columns: np.ndarray
) -> None:
    """Read arcs of consecutive buckets into columns at `offsets`, and advance these."""
    with writing(path):
        counts = np.load(path.with_suffix(".npy"), mmap_mode="r")
    with writing(path), path.with_suffix(".arcs").open("rb") as file:
        begin = 0
        for batch in counts:
            total, before = int(batch.sum()), int(batch[: buckets.start].sum())
            ends = offsets + batch[buckets.start : buckets.stop]
            targets = list(map(slice, offsets.tolist(), ends.tolist()))
            for column in columns:
                file.seek(begin + before * column.itemsize)
                for some in targets:
                    fill(file, column[some])
                begin += total * column.itemsize
            offsets[:] = ends


def _batches(
    pieces: Iterator[Edges], limit: int
) -> Iterator[list[tuple[np.ndarray, ...]]]:
    """Yield pieces together that have at most `limit` edges, or are one piece."""
    batch: list[tuple[np.ndarray, ...]] = []
    length = 0
    for piece in pieces:
        if batch and length + len(piece) > limit:
            yield batch
            batch, length = [], 0
        batch.append((piece.src, piece.dst, piece.weight))
        length += len(piece)
    if batch:
        yield batch


def final_weights(weight: np.ndarray, plan: Plan) -> np.ndarray:
    """Return weights in the type of the shards; -0.0 is written as 0.0."""
    return without_negative_zero(weight.astype(plan.weight_dtype, copy=False))
