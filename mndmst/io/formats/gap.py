"""Serialised graphs of the GAP benchmark suite [1], `.sg` and `.wsg`.

A flag, the number of arcs and of vertices, where each row begins, the neighbours; in
`.wsg` each with its weight. A directed graph goes on with the rows of arcs turned
round, which hold nothing new.

[1] Beamer, Asanović and Patterson: The GAP Benchmark Suite. arXiv:1508.03619, 2015.
"""

from pathlib import Path

import numpy as np

from ...host.errors import InputError
from .binary import Binary
from .rows import RowsFile

_WEIGHTED = np.dtype([("id", "<i4"), ("weight", "<i4")])


def open_file(path: Path) -> RowsFile:
    """Open a `.sg` file; see `EdgeFile`. Weights are 1."""
    return _open(path, np.dtype("<i4"))


def open_weighted(path: Path) -> RowsFile:
    """Open a `.wsg` file; see `EdgeFile`. Weights are int32."""
    return _open(path, _WEIGHTED)


def _open(path: Path, neighbour: np.dtype) -> RowsFile:
    file = Binary(path)
    (directed,) = file.counts("u1", 1)
    arcs, vertices = file.counts("<i8", 2)
    if directed > 1:
        raise InputError(
            f"{path}: begins with {directed}, where a graph of GAP has 0 (undirected) "
            "or 1. Convert it again, or name its format."
        )
    indptr = file.take("<i8", vertices + 1, "rows")
    indices = file.take(neighbour, arcs, "neighbours")
    if directed:
        file.take("<i8", vertices + 1, "rows turned round")
        file.take(neighbour, arcs, "neighbours turned round")
    file.end()
    return RowsFile(file, indptr, indices, both_directions=not directed)
