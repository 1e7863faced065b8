"""Write the parts of a graph, and compute its UUID from its contents.

The last pass of `partition` sorts the buckets of each part into rows. `write_rows`
writes rows that lie on ranks.
"""

import hashlib
import json
import time
import uuid
from collections.abc import Callable, Iterator
from contextlib import nullcontext, suppress
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import numpy as np

from ...comm.communicator import Comm
from ...graph.model import Rows
from ...graph.order import key_dtype, keys_to_weights, stored_id_dtype
from ...host.errors import MndmstError, OutputError
from ...host.memory import give_back_freed
from ...host.progress import Progress, progress_text
from ...kernels.sorting import sort_words
from ..edge_file import EdgeFile, RowPiece
from ..file_access import writing
from ..kernels import partitioner as kernels
from ..names import PIECE, IdRange
from ..shards.graph_directory import Destination, no_new_folders
from ..shards.shard_writer import OriginalIds, PartWriter, ShardWriter, VertexIds
from .arc_buckets import KEY_BYTES, Plan, final_weights, read_buckets, run_file
from .edge_survey import SIZES
from .graph_lock import check_early, locked
from .partition_run import NAMING, part_note, write_json

# Yields the rows of some buckets: ascending ids, none twice, lightest weights
RowsOf = Callable[[range], Iterator[RowPiece]]

UNNAMED = str(uuid.UUID(int=0))


def write_part(
    plan: Plan, writer: ShardWriter, part: int, rows_of: RowsOf
) -> tuple[int, int]:
    """Write the rows of a part; return its share of the sums that identify a graph."""
    buckets = range(plan.begins[part], plan.begins[part + 1])
    sums = np.zeros(2, np.uint64)
    rows = rows_of(buckets)
    with writer.part(part, int(plan.arcs[buckets.start : buckets.stop].sum())) as file:
        for _ in buckets:
            sums += _write_bucket(file, next(rows))
    return int(sums[0]), int(sums[1])


def _write_bucket(file: PartWriter, rows: RowPiece) -> np.ndarray:
    """Write rows, which are freed before the next bucket is read."""
    file.append(rows.indptr, rows.heads, rows.weights)
    keys = rows.weights.view(key_dtype(rows.weights.dtype))
    sums = kernels.fingerprint(rows.indptr, rows.heads, keys, rows.first)
    return np.array(sums, np.uint64)


def listed_rows(plan: Plan, file: EdgeFile, buckets: range) -> Iterator[RowPiece]:
    """Yield the rows of buckets from a file that lists arcs in their order."""
    for bucket in buckets:
        yield _listed(plan, file, bucket)


def _listed(plan: Plan, file: EdgeFile, bucket: int) -> RowPiece:
    first, end = plan.first[bucket : bucket + 2].tolist()
    if (rows := file.rows(first, end)) is not None:
        return replace(rows, weights=final_weights(rows.weights, plan))
    begin, count = int(plan.arcs[:bucket].sum()), int(plan.arcs[bucket])
    heads, weights = np.empty(count, plan.ids), np.empty(count, plan.weight_dtype)
    indptr = np.zeros(end - first + 1, np.int64)
    filled = 0
    for piece in file.pieces(begin, begin + count):
        slots = slice(filled, filled + len(piece))
        heads[slots], weights[slots] = piece.dst, final_weights(piece.weight, plan)
        kernels.count_rows(piece.src, first, indptr[1:])
        filled = slots.stop
    return RowPiece(first, np.cumsum(indptr, out=indptr), heads, weights)


def sorted_rows(
    plan: Plan, work: Path, buckets: range, largest_load: int = SIZES.largest_load
) -> Iterator[RowPiece]:
    """Yield the rows of buckets from the arcs that all ranks have routed to them."""
    give_back_freed()  # batches that were routed
    before = np.concatenate(([0], np.cumsum(plan.arcs)))
    loads = list(_loads(plan, before, buckets, largest_load))
    most = max((before[load.stop] - before[load.start] for load in loads), default=0)
    keys, weights = np.empty(most, np.uint64), np.empty(most, plan.weight_dtype)
    for load in loads:
        begins = before[load.start : load.stop + 1] - before[load.start]
        offsets = begins[:-1].copy()
        for rank in range(plan.runs):
            read_buckets(run_file(work, rank), load, offsets, keys, weights)
        for bucket, (low, high) in zip(load, pairwise(begins.tolist()), strict=True):
            yield _rows(plan, bucket, keys[low:high], weights[low:high])


def _loads(
    plan: Plan, before: np.ndarray, buckets: range, largest_load: int
) -> Iterator[range]:
    """Yield ranges of buckets that are read together, so that each read is long."""
    width = KEY_BYTES + plan.weight_dtype.itemsize
    most = min(plan.room // 2, largest_load) // width
    begin = buckets.start
    while begin < buckets.stop:
        end = int(np.searchsorted(before, before[begin] + most, "right")) - 1
        end = min(max(begin + 1, end), buckets.stop)
        yield range(begin, end)
        begin = end


def _rows(plan: Plan, bucket: int, keys: np.ndarray, weights: np.ndarray) -> RowPiece:
    """Return the rows of a bucket from the keys of its arcs, which are overwritten."""
    first, end = plan.first[bucket : bucket + 2].tolist()
    rows = end - first
    bits = plan.head_bits + max(0, rows - 1).bit_length()
    weights = sort_arcs(keys, weights, bits)
    indptr = np.empty(rows + 1, np.int64)
    # The heads replace the keys that they are computed from
    heads = keys.view(plan.ids)[: len(keys)]
    count = kernels.close_up(keys, weights, plan.head_bits, indptr, heads, plan.maximum)
    return RowPiece(first, indptr, heads[:count], weights[:count])


def sort_arcs(keys: np.ndarray, weights: np.ndarray, bits: int) -> np.ndarray:
    """Sort keys of some bits in place, and return the weights in their order."""
    if kernels.ascending(keys):
        return weights
    # A key has room for its position below it, unless there are some 2^40 vertices
    width = (len(keys) - 1).bit_length()
    if bits + width > 64:
        weights = weights[np.argsort(keys)]
        keys.sort()
        return weights
    keys <<= np.uint64(width)
    keys |= np.arange(len(keys), dtype=np.uint64)
    keys[:] = sort_words(keys, width, bits)
    ordered = np.empty_like(weights)
    kernels.take_in_order(keys, width, weights, ordered)
    return ordered


def write_parts(
    comm: Comm,
    plan: Plan,
    writer: ShardWriter,
    rows_of: RowsOf,
    work: Path,
    progress: Progress,
) -> None:
    """Write the parts that a run with this token has not written yet. Collective."""
    parts = writer.num_parts
    since = time.monotonic()
    with writer, comm.raise_on_all():
        for part in range(comm.rank, parts, comm.size):
            progress.stage(f"sorting: {progress_text(part, parts, since)}")
            if _noted(work, part) is None or not writer.is_whole(part):
                sums = write_part(plan, writer, part, rows_of)
                write_json(part_note(work, part), sums)


def finish_graph(writer: ShardWriter, work: Path, record: str | None) -> None:
    """Publish the parts that all ranks have written; see `ShardWriter.finish`."""
    sums = [_noted(work, part) for part in range(writer.num_parts)]
    total = np.array(sums, np.uint64).sum(axis=0)
    named = name_by_content(
        writer.num_vertices,
        writer.weight_dtype,
        total,
        writer.original,
        writer.maximum,
    )
    write_json(work / NAMING, named)
    writer.finish(named, record)


def _noted(work: Path, part: int) -> list[int] | None:
    """Return a part's sums, which identify the graph; None if it is not written."""
    with suppress(OSError, ValueError):
        sums: list[int] = json.loads(part_note(work, part).read_text())
        return sums
    return None


def name_by_content(
    num_vertices: int,
    weight_dtype: np.dtype,
    sums: np.ndarray,
    original: VertexIds | None,
    maximum: bool = False,
) -> str:
    """Return a uuid computed from ids and from sums of `fingerprint` over all rows.

    The same rows for maximum forests are another graph, with another forest.
    """
    digest = hashlib.blake2b(digest_size=16)
    digest.update(f"{num_vertices} {weight_dtype.str} ".encode())
    digest.update(sums.astype("<u8").tobytes())
    if isinstance(original, OriginalIds | IdRange) and original.first:
        digest.update(f"from {original.first} ".encode())
    if maximum:
        digest.update(b"maximum ")
    if isinstance(original, OriginalIds):
        if original.bound != num_vertices:
            digest.update(f"{original.bound} ".encode())
        stored = stored_id_dtype(original.last + 1)
        for low in range(0, len(original.ids), PIECE):
            digest.update(original.ids[low : low + PIECE].astype(stored).data)
    elif original is not None and not isinstance(original, IdRange):
        digest.update(original.kind.encode())
        for piece in original.pieces():
            for column in piece.columns().values():
                digest.update(column.data)
    return str(uuid.UUID(bytes=digest.digest(), version=5))


def check_new(out: Path, num_parts: int, overwrite: bool, read: Path) -> None:
    """Check, before any work, that a graph can be written without replacing `read`."""
    with writing(out):
        folder = read if read.is_dir() else read.parent
        if out.resolve() == folder.resolve():
            raise OutputError(
                f"{out}: is read by this command, and would be replaced. Give another "
                "directory."
            )
    check_early(Destination(out, overwrite), num_parts)


def graph_uuid(
    comm: Comm,
    rows: Rows,
    weight_dtype: np.dtype,
    original: VertexIds | None = None,
    maximum: bool = False,
) -> str:
    """Return the uuid that `partition` gives the graph of these rows. Collective."""
    weights = keys_to_weights(rows.keys, weight_dtype, maximum)
    words = weights.view(key_dtype(weight_dtype))
    sums = kernels.fingerprint(rows.indptr, rows.indices, words, rows.first)
    total = comm.sum(np.array(sums, np.uint64))
    return name_by_content(rows.num_vertices, weight_dtype, total, original, maximum)


def write_rows(
    comm: Comm, out: Path, rows: Rows, weight_dtype: np.dtype, uuid: str,
    original: VertexIds | None = None, overwrite: bool = False, maximum: bool = False,
) -> None:  # fmt: skip
    """Write the consecutive rows of all ranks, a part for each. Collective."""
    vtxdist = np.append(comm.allgather(rows.first), rows.num_vertices)
    cleanup = no_new_folders(out.resolve()) if comm.rank == 0 else nullcontext()
    with cleanup, locked(comm, out.resolve(), out):
        target = None
        with comm.raise_on_all():
            if comm.rank == 0:
                target = Destination(out, overwrite)
                target.claim(comm.size)
        writer = ShardWriter(
            comm.bcast(target), rows.num_vertices, weight_dtype, vtxdist, uuid,
            original=original, maximum=maximum,
        )  # fmt: skip
        weights = keys_to_weights(rows.keys, weight_dtype, maximum)
        try:
            with writer:
                with comm.raise_on_all():
                    writer.write_part(comm.rank, rows.indptr, rows.indices, weights)
                with comm.raise_on_all():
                    if comm.rank == 0:
                        writer.finish()
        except MndmstError:
            comm.barrier()  # rank 0 removes the directory when all parts are gone
            raise
