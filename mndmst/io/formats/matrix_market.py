"""Matrix Market coordinate files [1], `.mtx`: entry (u, v) is an edge.

A pattern has weights 1. The entries may be general or symmetric, in either triangle.

[1] Boisvert, Pozo and Remington: The Matrix Market Exchange Formats. NISTIR 5935, 1996.
"""

import re
from pathlib import Path

import numpy as np

from ...host.errors import InputError
from ...host.formatting import counted
from ..atomic_output import whole_file
from ..edge_file import Edges
from .edge_text import Lines, TextFile, check_counts, read_head
from .packed_files import import_scipy

_BANNER = re.compile(rb"%%matrixmarket\s+matrix\s+(\w+)\s+([\w-]+)\s+([\w-]+)", re.I)
_SIZE = re.compile(rb"(\d{1,18})\s+(\d{1,18})\s+(\d{1,18})")
_KINDS = (
    ("coordinate",),
    ("integer", "real", "double", "pattern", "unsigned-integer"),
    ("general", "symmetric"),
)
_ENDS = "whole numbers i and j"
_PATTERN = Lines(comments="%", base=1, weighted=False, what=f'"i j" with {_ENDS}')
_WEIGHTED = Lines(comments="%", base=1, what=f'"i j w" with {_ENDS} and a number w')
_SHORTEST_ENTRY = len("1 1\n")


def open_file(path: Path) -> TextFile:
    """Open a `.mtx` file; see `EdgeFile`. Weights are integers or float64, or 1."""
    comments, line, place = read_head(path, b"%")
    banner = _BANNER.fullmatch(comments[0]) if comments else None
    if banner is None:
        raise InputError(
            f'{path}: does not begin with a line "%%MatrixMarket matrix ...". Put it '
            "there, or name the format."
        )
    kind = [word.decode().lower() for word in banner.groups()]
    if any(word not in known for word, known in zip(kind, _KINDS, strict=True)):
        raise InputError(
            f"{path}: is a matrix of kind {' '.join(kind)}; a graph is coordinate, "
            "integer or real or pattern, general or symmetric."
        )
    size = _SIZE.fullmatch(line.strip())
    if size is None:
        raise InputError(
            f"{path}: has no line with its size, such as 5 5 7, after the comments. "
            "Put it there."
        )
    rows, columns, entries = map(int, size.groups())
    if rows != columns:
        raise InputError(
            f"{path}: is a {rows} by {columns} matrix. The matrix of a graph is square."
        )
    said = f"says {counted(rows, 'row')} and {counted(entries, 'entry')}"
    check_counts(path, rows, entries, _SHORTEST_ENTRY, said)
    lines = _PATTERN if kind[1] == "pattern" else _WEIGHTED
    return TextFile(path, lines, rows, entries, place + len(line) + 1)


def write(edges: Edges, path: Path) -> None:
    """Write a `.mtx` file: general if directed, else symmetric."""
    scipy = import_scipy()
    src, dst = edges.src, edges.dst
    if not edges.directed:  # the lower triangle stands for both
        src, dst = np.maximum(src, dst), np.minimum(src, dst)
    size = (edges.num_vertices, edges.num_vertices)
    matrix = scipy.sparse.coo_array((edges.weight, (src, dst)), shape=size)
    symmetry = "general" if edges.directed else "symmetric"
    with whole_file(path) as temporary, temporary.open("wb") as file:
        scipy.io.mmwrite(file, matrix, symmetry=symmetry)
