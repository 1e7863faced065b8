"""DIMACS graphs, `.gr`, and coordinates, `.co` [1].

A graph has 1-based arcs, one `a u v w` a line. Most files list every edge in both
directions, some only one, some different weights for the two; the list is therefore
taken as directed. The count in the `p sp n m` line is that of the arcs.

Coordinates have a line `v id x y` for each vertex, ids from 1.

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
from ..kernels import tokens as kernels
from .edge_text import Lines, TextFile, check_counts, line_of, read_head
from .packed_files import import_scipy, read_bytes

_PROBLEM = re.compile(rb"p[ \t]+sp[ \t]+(\d{1,18})[ \t]+(\d{1,18})[ \t\r]*")
_SHORTEST_ARC = len("a 1 1 1\n")
_LINES = Lines(
    prefix="a",
    comments="cp",
    base=1,
    what='"a u v w" with whole numbers u and v and a number w',
)

_COORDINATES_HEADER = re.compile(
    rb"(?:(?:c[^\n]*)?\n)*p[ \t]+aux[ \t]+sp[ \t]+co[ \t]+(\d{1,18})[ \t\r]*\n"
)
_COMMENT = re.compile(rb"^c[^\n]*$", re.MULTILINE)
_SHORTEST_LINE = len("v 1 1 1\n")
COORDINATES_COPIES = 12


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


def read_coordinates(path: Path) -> tuple[np.ndarray, np.ndarray]:
    """Return x and y (float64) of all vertices, in the units of a `.co` file."""
    text = read_bytes(path, COORDINATES_COPIES)
    header = _COORDINATES_HEADER.match(text)
    if header is None:
        raise InputError(
            f'{path}: has no line "p aux sp co n" at its beginning. Give a file of '
            "coordinates."
        )
    count = int(header[1])
    if count > len(text) // _SHORTEST_LINE:
        raise InputError(
            f"{path}: says it has {counted(count, 'vertex')}, more than it can hold. "
            "Copy it again, or fix the p line."
        )
    # With the letters blanked, only numbers remain
    lines = _COMMENT.sub(lambda comment: b" " * len(comment[0]), text[header.end() :])
    body = np.frombuffer(b"\n" + lines, np.uint8).copy()
    body[1:][(body[1:] == ord("v")) & (body[:-1] == ord("\n"))] = ord(" ")
    numbers = np.empty((count, 3), np.int64)
    status, at = kernels.read_integers(body, 0, numbers.reshape(-1))
    if status == kernels.GOOD and body[at:].tobytes().strip():
        status = kernels.NO_INTEGER
    if status != kernels.GOOD:
        line = line_of(np.frombuffer(text, np.uint8), header.end() + at - 1)
        raise InputError(
            f'{path}: line {line} is not "v id x y" with whole numbers, or the file '
            f"has not {count} such lines. Fix the line or copy the file again."
        )
    ids = numbers[:, 0] - 1
    seen = np.zeros(count, bool)
    inside = (ids >= 0) & (ids < count)
    seen[ids[inside]] = True
    if not seen.all():
        raise InputError(
            f"{path}: vertex {int((~seen).argmax()) + 1} of {count} has no "
            "coordinates. Copy the file again."
        )
    x, y = np.empty((2, count))
    x[ids], y[ids] = numbers[:, 1], numbers[:, 2]
    return x, y
