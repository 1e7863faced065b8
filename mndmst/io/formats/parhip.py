"""ParHIP's binary graphs [1], `.parhip`, with the extensions of KaGen and KaMinPar.

Three 64-bit counts, the byte at which each row begins, the neighbours; then the
weights of vertices, which are passed over, and of edges. Bits of the first count say
what is missing or has 32 bits:

===  ==========================
bit  if it is set
===  ==========================
0    no weights of edges
1    no weights of vertices
2    row beginnings of 32 bits
3    neighbours of 32 bits
4    vertex weights of 32 bits
5    edge weights of 32 bits
===  ==========================

[1] Meyerhenke, Sanders and Schulz: Parallel Graph Partitioning for Complex Networks.
    IEEE TPDS 28(9), 2017; the user guide of KaHIP has the format.
"""

from pathlib import Path

from ...host.errors import InputError
from .binary import Binary
from .rows import RowsFile

_BITS = 6


def open_file(path: Path) -> RowsFile:
    """Open a `.parhip` file; see `EdgeFile`. Weights are int32 or int64."""
    file = Binary(path)
    version, vertices, arcs = file.counts("<u8", 3)
    if version >> _BITS:
        raise InputError(
            f"{path}: has version {version}; ParHIP's are below {1 << _BITS}. Convert "
            "it again, or name its format."
        )

    def width(bit: int) -> int:
        return 4 if version >> bit & 1 else 8

    indptr = file.take(f"<u{width(2)}", vertices + 1, "rows")
    base = file.at
    indices = file.take(f"<u{width(3)}", arcs, "neighbours")
    if not version & 2:
        file.take(f"<i{width(4)}", vertices, "weights of vertices")
    weight = None if version & 1 else file.take(f"<i{width(5)}", arcs, "weights")
    file.end()
    return RowsFile(file, indptr, indices, weight, unit=width(3), base=base)
