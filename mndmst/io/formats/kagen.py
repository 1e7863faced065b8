"""KaGen's binary edge lists [1]: two 64-bit counts, then pairs of 32 or 64 bits.

`.binary-edgelist` has each edge in both directions, `.undirected-binary-edgelist` in
one, though the second count is that of the first. KaGen writes no weights into them.
Its text, `.edgelist`, is in `delimited`.

[1] Funke, Lamm, Meyer, Penschuck, Sanders, Schulz, Strash and von Looz:
    Communication-free massively distributed graph generation. JPDC 131, 2019.
"""

from collections.abc import Iterator
from pathlib import Path

import numpy as np

from ...host.errors import InputError
from ..edge_file import PIECE_ENTRIES, EdgeFile
from ..edges import Edges, checked_edges
from .binary import Binary
from .files import COMPRESSIONS


class PairFile(EdgeFile):
    """A list of pairs of ids. It counts in pairs.

    Raises
    ------
    InputError
        If its length does not fit its counts.
    """

    rereadable = True

    def __init__(self, path: Path, both_directions: bool) -> None:
        file = Binary(path)
        vertices, arcs = file.counts("<u8", 2)
        fewest = arcs if both_directions else arcs // 2
        width = 8 if file.left >= 16 * fewest else 4
        entries, rest = divmod(file.left, 2 * width)
        if rest or not fewest <= entries <= arcs:
            raise InputError(
                f"{path}: {file.left} bytes after the counts are no {arcs} arcs, of "
                "32 or of 64 bits. It is damaged or cut short, or of another format: "
                "copy it again, or name its format."
            )
        self.path = path
        self.name = str(path)
        self.seekable = path.suffix not in COMPRESSIONS
        self.num_vertices: int = vertices
        self.length = self.num_entries = entries
        self.weight_dtype = np.dtype(np.int32)
        self.both_directions = both_directions
        self._file = file
        self._pairs = file.take(f"<u{width}", 2 * entries, "ends")

    def pieces(self, begin: int, end: int) -> Iterator[Edges]:
        """Yield the pairs [begin, end); see `EdgeFile`."""
        for low in range(begin, end, PIECE_ENTRIES):
            high = min(low + PIECE_ENTRIES, end)
            pairs = self._file.read(self._pairs, 2 * low, 2 * high).reshape(-1, 2)
            src, dst = map(np.array, pairs.T)
            weight = np.ones(len(src), np.int32)
            yield checked_edges(
                self.path, self.num_vertices, src, dst, weight, True, low
            )


def open_both(path: Path) -> PairFile:
    """Open a `.binary-edgelist` file; see `EdgeFile`. Weights are 1."""
    return PairFile(path, both_directions=True)


def open_single(path: Path) -> PairFile:
    """Open a `.undirected-binary-edgelist` file; see `EdgeFile`. Weights are 1."""
    return PairFile(path, both_directions=False)
