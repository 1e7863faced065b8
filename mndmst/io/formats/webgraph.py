"""WebGraph's BVGraphs [1], `.graph` beside `.properties`, as LAW publishes them.

Each list of successors refers to lists before it, so a file is read from its
beginning; the offsets that come with it are not needed. An arc is one way, as links
are, and has no weight.

[1] Boldi and Vigna: The WebGraph Framework I: Compression Techniques. WWW 2004.
"""

import mmap
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from ...graph.order import id_dtype
from ...host.errors import InputError, MndmstError
from ...host.formatting import counted
from ...host.memory import Budget
from ..edge_file import PIECE_ENTRIES, EdgeFile, Edges, checked_edges
from ..file_access import opened, read_small, unreadable
from ..kernels import webgraph as kernels
from ..memory_limit import check_room
from .packed_files import COMPRESSIONS, read_bytes, readable

_CODES = {"OUTDEGREES_GAMMA", "REFERENCES_UNARY", "BLOCK_COUNT_GAMMA", "BLOCKS_GAMMA",
          "RESIDUALS_ZETA", "OFFSETS_GAMMA", "OFFSETS_DELTA"}  # fmt: skip

_NUMBERS = ("nodes", "arcs", "windowsize", "minintervallength", "zetak")
_MOST = 1 << 62


class WebGraphFile(EdgeFile):
    """A BVGraph. It counts in vertices."""

    seekable = False
    num_entries: int

    def __init__(self, path: Path, budget: Budget) -> None:
        self.path, self.budget = path, budget
        self.name = str(path)
        self.weight_dtype = np.dtype(np.int32)
        beside = properties_path(path)
        properties = _read_properties(beside)
        try:
            numbers = [int(properties[name]) for name in _NUMBERS]
            self.length, self.num_entries, window, shortest, k = numbers
        except (KeyError, ValueError) as error:
            raise InputError(
                f"{beside}: lacks a number ({error}). Copy it again."
            ) from error
        self.num_vertices = self.length
        self._coding = kernels.Coding(window, shortest, k)
        packed = path.suffix in COMPRESSIONS
        self._contents = read_bytes(path, budget) if packed else None
        self._check(properties, len(self._bits()))

    def pieces(self, begin: int, end: int) -> Iterator[Edges]:
        """Yield all arcs; see `EdgeFile`."""
        bits = self._bits()
        begins = np.zeros((self._coding.window + 1, 2), np.int64)
        dst = np.empty(PIECE_ENTRIES, id_dtype(self.length))
        degrees = np.empty(PIECE_ENTRIES, np.int64)
        cursor, listed = kernels.Cursor(0, 0, 0), 0
        while cursor.vertex < self.length:
            _, first, filled = cursor
            status, cursor, needed = kernels.decode(
                bits, cursor, self.length, self._coding, begins, dst, degrees
            )
            at, vertex, used = cursor
            if status == kernels.DAMAGED or listed + used - filled > self.num_entries:
                raise InputError(
                    f"{self.path}: is damaged at bit {at}, in the arcs of vertex "
                    f"{vertex} (counted from 0). Copy it again."
                )
            if used > filled:
                src = np.repeat(np.arange(first, vertex), degrees[: vertex - first])
                heads, weight = dst[filled:used].copy(), np.ones(len(src), np.int32)
                yield checked_edges(self.path, self.length, src, heads, weight, listed)
            listed += used - filled
            dst, used = self._keep_window(begins, dst, needed)
            cursor = cursor._replace(used=used)

    def _bits(self) -> np.ndarray:
        """Return the file: mapped, or in memory if it had to be unpacked."""
        contents = mapped(self.path) if self._contents is None else self._contents
        return np.frombuffer(contents, np.uint8)

    def _keep_window(
        self, begins: np.ndarray, dst: np.ndarray, needed: int
    ) -> tuple[np.ndarray, int]:
        """Return a buffer for the next list, after the lists of the window."""
        first, last = int(begins[:, 0].min()), int(begins[:, 1].max())
        size = last - first
        length = max(PIECE_ENTRIES, 2 * size, size + needed)
        nbytes = dst.itemsize * length
        check_room(self.budget, self.path, nbytes, "a window of its lists")
        longer = np.empty(length, dst.dtype)
        longer[:size] = dst[first:last]
        begins -= first
        return longer, size

    def _check(self, properties: dict[str, str], size: int) -> None:
        flags = set(properties.get("compressionflags", "").replace("|", " ").split())
        window, shortest, k = self._coding
        if not properties.get("graphclass", "").endswith("BVGraph") or flags - _CODES:
            raise InputError(
                f"{self.path}: is a {properties.get('graphclass')} with codes "
                f"{', '.join(sorted(flags)) or 'as usual'}; a BVGraph with the usual "
                "codes can be read. Compress it again without options."
            )
        likely = (
            0 <= self.num_entries < _MOST and 0 <= shortest < _MOST and 1 <= k <= 16
        )
        if not (0 <= self.length <= 8 * size and likely and 0 <= window <= 1 << 16):
            raise InputError(
                f"{properties_path(self.path)}: says {counted(self.length, 'vertex')}, "
                f"{counted(self.num_entries, 'arc')}, window {window}, intervals of "
                f"{shortest} or more, k {k}: no graph of {size} bytes has that. Copy "
                "both files again."
            )


def properties_path(path: Path) -> Path:
    """Return the path of the properties of a BVGraph."""
    unpacked = path.with_suffix("") if path.suffix in COMPRESSIONS else path
    return unpacked.with_suffix(".properties")


def _read_properties(path: Path) -> dict[str, str]:
    """Read a file of Java properties, as far as a graph needs them."""
    try:
        lines = read_small(path).decode("latin-1").splitlines()
    except OSError as error:
        missing = unreadable(path, error)
        missing.remedy = "A BVGraph is a .graph file and this one beside it."
        raise missing from error
    pairs = (line.partition("=") for line in lines if line[:1] not in ("#", "!"))
    return {key.strip(): value.strip() for key, _, value in pairs}


def mapped(path: Path) -> bytes | mmap.mmap:
    """Return the contents of a file, mapped into memory."""
    try:
        with readable(path), opened(path) as file:
            return mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
    except MndmstError:
        raise
    except ValueError:  # an empty file cannot be mapped
        return b""
