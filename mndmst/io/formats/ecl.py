"""ECL graphs [1], `.egr`: rows with int32 neighbours and, if they follow, weights.

Counts and row beginnings have 32 bits, or 64 in files for more arcs than that. Only
the length of the file tells which, and whether there are weights.

[1] Burtscher: ECLgraph, Texas State University; used by Fallin, Gonzalez, Seo and
    Burtscher: A High-Performance MST Implementation for GPUs. SC 2023.
"""

from pathlib import Path

from ...host.errors import InputError
from .binary import Binary
from .rows import RowsFile


def open_file(path: Path) -> RowsFile:
    """Open a `.egr` file; see `EdgeFile`. Weights are int32, or 1."""
    file = Binary(path)
    for width in (4, 8):
        file.at = 0
        vertices, arcs = file.counts(f"<i{width}", 2)
        after_rows = file.left - (vertices + 1) * width
        if vertices >= 0 and arcs >= 0 and after_rows in (4 * arcs, 8 * arcs):
            indptr = file.take(f"<i{width}", vertices + 1, "rows")
            indices = file.take("<i4", arcs, "neighbours")
            weight = file.take("<i4", arcs, "weights") if file.left else None
            return RowsFile(file, indptr, indices, weight)
    raise InputError(
        f"{path}: its {file.size} bytes are not as many as an ECL graph with "
        "the counts at its beginning has, with 32 or with 64 bits. It is damaged or "
        "cut short: copy it again."
    )
