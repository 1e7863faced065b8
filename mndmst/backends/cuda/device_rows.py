"""Rows in the memory of a device, with local vertex ids from 0 on."""

from dataclasses import dataclass
from itertools import pairwise

import cupy
import numpy as np

from ...graph.model import ReadProgress, Rows
from ...graph.order import KeyRule, key_dtype, key_rule, reversed_keys
from ...graph.tuning import Tuning
from ...host.errors import ConfigError, InputError
from ..costs import MAX_DEVICE_VERTICES
from .kernels import Kernels
from .transfer import Fill, Transfer, copy_next, fill_from

_TRANSLATED = 1 << 24  # arcs that are renumbered at a time
_MARKING = 1 << 20  # threads of a kernel that visits all arcs


@dataclass(frozen=True)
class DeviceRows:
    """Rows whose ends are local ids: ghosts below, the rows, ghosts above.

    Local ids rise with the global ones, so that both order edges alike.
    """

    indptr: cupy.ndarray  # int64
    ends: cupy.ndarray  # uint32, by arc
    keys: cupy.ndarray  # uint32 or uint64, by arc
    ghosts: cupy.ndarray  # int64: global ids of the ghosts, ascending
    first: int  # local id of the first row's vertex: the number of ghosts below it
    first_global: int  # its global id
    id_dtype: np.dtype  # of global ids

    @property
    def num_rows(self) -> int:
        """Number of rows."""
        return len(self.indptr) - 1

    @property
    def num_arcs(self) -> int:
        """Number of arcs."""
        return len(self.ends)

    @property
    def nbytes(self) -> int:
        """Bytes of the device that the rows take."""
        arrays = (self.indptr, self.ends, self.keys, self.ghosts)
        return sum(int(array.nbytes) for array in arrays)

    @property
    def complete(self) -> bool:
        """Whether no vertex is a ghost."""
        return not len(self.ghosts)

    @property
    def vertices(self) -> int:
        """Number of local ids."""
        return self.num_rows + len(self.ghosts)

    def to_global(self, local: cupy.ndarray) -> cupy.ndarray:
        """Return the global ids, of `id_dtype`, of local ones."""
        if self.complete and not self.first_global and self.id_dtype == local.dtype:
            return local
        if self.complete:
            return (local.astype(np.int64) + self.first_global).astype(self.id_dtype)
        local = local.astype(np.int64)
        row = local - self.first
        ghost = cupy.where(row < 0, local, cupy.maximum(local - self.num_rows, 0))
        ghost = self.ghosts[cupy.minimum(ghost, len(self.ghosts) - 1)]
        inside = (row >= 0) & (row < self.num_rows)
        return cupy.where(inside, row + self.first_global, ghost).astype(self.id_dtype)

    def to_local(self, ids: cupy.ndarray) -> cupy.ndarray:
        """Return the local ids, of int64, of global ones that occur here."""
        ids = ids.astype(np.int64)
        row = ids - self.first_global
        ghost = cupy.searchsorted(self.ghosts, ids)
        ghost = cupy.where(row < 0, ghost, ghost + self.num_rows)
        return cupy.where((row >= 0) & (row < self.num_rows), row + self.first, ghost)


def upload(
    rows: Rows, transfer: Transfer, kernels: Kernels, tuning: Tuning
) -> DeviceRows:
    """Copy rows to the current device, while threads may still be reading them.

    Raises ConfigError if rows and ghosts together are too many for one device.
    """
    indptr = transfer.to_device(np.asarray(rows.indptr, np.int64))
    if rows.files is None:
        keys, ends = _arcs_of(rows, transfer, tuning.uploaded_arcs)
    else:
        with rows.files.opened() as arcs:
            if arcs is not None:
                ends = cupy.empty(rows.num_arcs, rows.id_dtype)
                keys = cupy.empty(rows.num_arcs, rows.key_dtype)
                transfer.read(arcs, ends, keys)
        if arcs is None:
            keys, ends = _arcs_of(rows, transfer, tuning.uploaded_arcs)
        else:
            if not _make_keys(rows.files.rule, keys, kernels):
                _ = rows.keys  # the host reads the rows again, and names the weight
    return with_ghosts(rows, kernels, indptr, ends, keys)


def _make_keys(rule: KeyRule, weights: cupy.ndarray, kernels: Kernels) -> bool:
    """Turn weights into keys, in place; return whether no weight is NaN."""
    wrong = cupy.zeros(1, np.uint64)
    key = kernels.key
    kernels.launch(
        "make_keys", min(len(weights), _MARKING), weights, np.uint64(len(weights)),
        key(rule.sign), key(rule.above), key(rule.at), key(rule.below),
        key(rule.largest), wrong,
    )  # fmt: skip
    return not int(wrong[0])


def with_ghosts(
    rows: Rows,
    kernels: Kernels,
    indptr: cupy.ndarray,
    ends: cupy.ndarray,
    keys: cupy.ndarray,
) -> DeviceRows:
    """Number the ghosts of rows on the device, and replace global ids by local ones."""
    dtype = rows.id_dtype
    if ends.dtype == np.uint32:
        ghosts, first = _number_ghosts(rows, ends, kernels)
        return DeviceRows(indptr, ends, keys, ghosts, first, rows.first, dtype)
    ghosts = cupy.empty(0, np.int64)
    if not rows.complete:
        ghosts = _find_ghosts(ends, rows)
    _check_count(len(rows) + len(ghosts))
    first = int(cupy.searchsorted(ghosts, cupy.array([rows.first]))[0])
    with_global_ends = DeviceRows(indptr, ends, keys, ghosts, first, rows.first, dtype)
    local = cupy.empty(len(ends), np.uint32)
    for low in range(0, len(ends), _TRANSLATED):
        piece = slice(low, low + _TRANSLATED)
        local[piece] = with_global_ends.to_local(ends[piece])
    return DeviceRows(indptr, local, keys, ghosts, first, rows.first, dtype)


def _check_count(vertices: int) -> None:
    if vertices > MAX_DEVICE_VERTICES:
        raise ConfigError(
            f"{vertices} vertices on one GPU (rows and their neighbours); at most "
            f"{MAX_DEVICE_VERTICES} fit its kernels. Use more ranks."
        )


def _number_ghosts(
    rows: Rows, ends: cupy.ndarray, kernels: Kernels
) -> tuple[cupy.ndarray, int]:
    """Replace the global ids in `ends` (uint32) by local ones, in place.

    Returns the ghosts (int64, ascending), and the number of ghosts below the rows.
    """
    if rows.complete:
        _check_count(len(rows))
        return cupy.empty(0, np.int64), 0
    words = rows.num_vertices // 32 + 1
    bits = cupy.zeros(words, np.uint32)
    threads, arcs = min(len(ends), _MARKING), np.uint64(len(ends))
    first, length = np.uint64(rows.first), np.uint64(len(rows))
    vertices = np.uint64(rows.num_vertices)
    kernels.launch("mark_ghosts", threads, ends, arcs, first, length, vertices, bits)
    rank = kernels.prefix_sums("bits", bits)
    word, bit = divmod(rows.first, 32)
    below = int(rank[word]) + (int(bits[word]) & ((1 << bit) - 1)).bit_count()
    ghosts = cupy.empty(int(rank[-1]), np.int64)
    _check_count(len(rows) + len(ghosts))
    kernels.launch("list_ghosts", words, bits, rank, np.uint64(words), ghosts)
    kernels.launch(
        "to_local", threads, ends, arcs, first, length, vertices, bits, rank,
        np.uint32(below),
    )  # fmt: skip
    return ghosts, below


def _arcs_of(rows: Rows, transfer: Transfer, at_once: int) -> list[cupy.ndarray]:
    """Return copies of the keys and the indices; copy `at_once` arcs at a time."""
    columns = rows.keys, rows.indices
    copies = [cupy.empty(len(column), column.dtype) for column in columns]
    bounds = list(pairwise([*range(0, rows.num_arcs, at_once), rows.num_arcs]))
    filled = transfer.filled(
        ((high - low) * column.itemsize, _fill(column[low:high], high, rows.progress))
        for low, high in bounds
        for column in columns
    )
    for low, high in bounds:
        for copy in copies:
            copy_next(filled, copy[low:high])
    cupy.cuda.get_current_stream().synchronize()
    return copies


def _fill(column: np.ndarray, stop: int, progress: ReadProgress | None) -> Fill:
    """Return a function that fills pieces after the arcs before `stop` are read."""
    fill = fill_from(column)

    def fill_later(piece: np.ndarray, low: int) -> None:
        if progress is not None:
            progress.wait(stop)
        fill(piece, low)

    return fill_later


def _find_ghosts(ends: cupy.ndarray, rows: Rows) -> cupy.ndarray:
    ghosts = [cupy.empty(0, np.int64)]
    for low in range(0, len(ends), _TRANSLATED):
        piece = ends[low : low + _TRANSLATED].astype(np.int64)
        outside = (piece < rows.first) | (piece >= rows.last)
        ghosts.append(cupy.unique(piece[outside]))
    return cupy.unique(cupy.concatenate(ghosts))


def rows_of_edges(
    num_vertices: int,
    src: cupy.ndarray,
    dst: cupy.ndarray,
    weight: cupy.ndarray,
    maximum: bool,
    kernels: Kernels,
) -> DeviceRows:
    """Return the rows of edges in any order and direction.

    Ends are integers, weights of 32 or 64 bits. Raises InputError if an end is not a
    vertex or a weight is NaN.
    """
    if len(src) and (
        int(cupy.minimum(src, dst).min()) < 0
        or int(cupy.maximum(src, dst).max()) >= num_vertices
    ):
        raise InputError(f"the edges: an end is not among the {num_vertices} vertices")
    keys = device_keys(weight, maximum, kernels)
    other = src != dst
    tail = cupy.concatenate([src[other], dst[other]]).astype(np.uint64)
    head = cupy.concatenate([dst[other], src[other]]).astype(np.uint64)
    keys = cupy.concatenate([keys[other], keys[other]])
    arcs = tail << np.uint64(32) | head
    # Sorted by ends and then by key, so that of parallel arcs the lightest is first.
    order = cupy.lexsort(cupy.stack([keys.astype(np.uint64), arcs]))
    arcs, keys = arcs[order], keys[order]
    first = cupy.ones(len(arcs), np.bool_)
    first[1:] = arcs[1:] != arcs[:-1]
    arcs, keys = arcs[first], keys[first]
    rows = cupy.arange(num_vertices + 1, dtype=np.uint64) << np.uint64(32)
    indptr = cupy.searchsorted(arcs, rows).astype(np.int64)
    ends = (arcs & np.uint64(0xFFFFFFFF)).astype(np.uint32)
    return DeviceRows(
        indptr, ends, keys, cupy.empty(0, np.int64), 0, 0, np.dtype(np.uint32)
    )


def device_keys(
    weight: cupy.ndarray, descending: bool, kernels: Kernels
) -> cupy.ndarray:
    """Return the keys that `order.weights_to_keys` makes on the host.

    Raises InputError if a weight is NaN.
    """
    keys = weight.view(key_dtype(weight.dtype)).copy()
    if not _make_keys(key_rule(weight.dtype), keys, kernels):
        bad = int(cupy.isnan(weight).argmax())
        raise InputError(
            f"the edges: the weight of entry {bad} (from 0) is NaN, which has no "
            "place in an order. Give it a number or leave the edge out."
        )
    return reversed_keys(keys) if descending else keys
