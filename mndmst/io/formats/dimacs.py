"""DIMACS graphs, `.gr` [1].

A graph has 1-based arcs, one `a u v w` a line. Most files list every edge in both
directions, some only one, some different weights for the two; the list is therefore
taken as directed. The count in the `p sp n m` line is that of the arcs.

[1] 9th DIMACS Implementation Challenge, Shortest Paths, 2006.
"""

import io
import re
from pathlib import Path

import numpy as np

from ...host.errors import InputError
from ...host.formatting import counted
from ..atomic_output import whole_file
from ..edge_file import Edges
from .edge_text import Lines, TextFile, check_counts, read_head
from .packed_files import import_scipy

_PROBLEM = re.compile(rb"p[ \t]+sp[ \t]+(\d{1,18})[ \t]+(\d{1,18})[ \t\r]*")
_SHORTEST_ARC = len("a 1 1 1\n")
_LINES = Lines(
    prefix="a",
    comments="cp",
    base=1,
    what='"a u v w" with whole numbers u and v and a number w',
)


def open_file(path: Path) -> TextFile:
    """Open a `.gr` file, compressed or not; see `EdgeFile`."""
    _, line, place = read_head(path, b"c")
    problem = _PROBLEM.fullmatch(line)
    if problem is None:
        raise InputError(f'{path}: has no line "p sp n m". Put it before the arcs.')
    vertices, arcs = map(int, problem.groups())
    said = f"its p line says {counted(vertices, 'vertex')} and {counted(arcs, 'arc')}"
    check_counts(path, vertices, arcs, _SHORTEST_ARC, said)
    return TextFile(path, _LINES, vertices, arcs, place)


def write(edges: Edges, path: Path) -> None:
    """Write a `.gr` file; an undirected edge is listed in both directions."""
    scipy = import_scipy()
    src, dst, weight = edges.src, edges.dst, edges.weight
    if not edges.directed:
        src, dst = np.concatenate((src, dst)), np.concatenate((dst, src))
        weight = np.tile(weight, 2)
    # SciPy writes numbers fast and exactly: a list of Matrix Market entries has the
    # lines wanted, but for the letter in front.
    size = (edges.num_vertices, edges.num_vertices)
    matrix = scipy.sparse.coo_array((weight, (src, dst)), shape=size)
    buffer = io.BytesIO()
    scipy.io.mmwrite(buffer, matrix, symmetry="general")
    entries = buffer.getvalue().split(b"\n", 3)[3].rstrip(b"\n")
    with whole_file(path) as temporary, temporary.open("wb") as file:
        file.write(f"p sp {edges.num_vertices} {len(src)}\n".encode())
        if entries:
            file.write(b"a " + entries.replace(b"\n", b"\na ") + b"\n")
