"""DIMACS shortest-path graphs, `.gr` [1]: 1-based arcs, one `a u v w` a line.

Most files list every edge in both directions, some only one, some different weights
for the two; the list is therefore taken as directed. The count in the `p sp n m`
line is that of the arcs.

[1] 9th DIMACS Implementation Challenge, Shortest Paths, 2006.
"""

import io
import re
from pathlib import Path

import numpy as np

from ...backends.numba import dimacs as kernels
from ...errors import InputError
from ...order import id_dtype
from ..edges import MAX_VERTICES, Edges, checked_edges, narrow_integers
from .files import import_scipy, read_bytes, whole_file

_PROBLEM = re.compile(rb"^p[ \t]+sp[ \t]+(\d{1,18})[ \t]+(\d{1,18})[ \t\r]*$", re.M)
_SHORTEST_ARC = len("a 1 1 1\n")
_MISTAKES = {
    kernels.BAD_LINE: 'is not "a u v w" with whole numbers u and v and a number w',
    kernels.BAD_ID: "joins a vertex that is not between 1 and the n of the p line",
    kernels.LONG_WEIGHT: f"has a weight of over {kernels.WEIGHT_DIGITS} digits",
    kernels.TOO_MANY: "is an arc more than the m of the p line",
}


def read(path: Path) -> Edges:
    """Read a `.gr` file, compressed or not; see `formats.read_edges`."""
    text = read_bytes(path)
    num_vertices, num_arcs = _read_problem(path, text)
    characters = np.frombuffer(text, np.uint8)
    src, dst = np.empty((2, num_arcs), id_dtype(num_vertices))
    weight = np.empty(num_arcs, np.int64)
    arrays = (characters, num_vertices, src, dst, weight)
    status, line, found = kernels.parse_arcs(*arrays, np.empty(0, np.int64))
    real = status == kernels.REAL_WEIGHT
    if real:
        begins = np.empty(num_arcs, np.int64)
        status, line, found = kernels.parse_arcs(*arrays, begins)
    if status != kernels.GOOD:
        mistake = _MISTAKES[status]
        raise InputError(f"{path}: line {line} {mistake}. Mend the line.")
    if found != num_arcs:
        raise InputError(
            f"{path}: holds {found} arcs, but its p line says {num_arcs}. The file may "
            "have been cut short: copy it again, or mend the p line."
        )
    weight = _read_reals(characters, begins) if real else narrow_integers(weight)
    return checked_edges(path, num_vertices, src, dst, weight, directed=True)


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


def _read_problem(path: Path, text: bytes) -> tuple[int, int]:
    """Return the counts of the p line once the file is long enough for them."""
    problem = _PROBLEM.search(text)
    if problem is None:
        raise InputError(f'{path}: has no line "p sp n m". Put it before the arcs.')
    num_vertices, num_arcs = (int(count) for count in problem.groups())
    if num_arcs > len(text) // _SHORTEST_ARC + 1 or num_vertices > MAX_VERTICES:
        raise InputError(
            f"{path}: its p line says {num_vertices} vertices and {num_arcs} arcs, "
            "more than the file can hold. Copy it again, or mend the p line."
        )
    return num_vertices, num_arcs


def _read_reals(text: np.ndarray, begins: np.ndarray) -> np.ndarray:
    """Read numbers, known to be such, as SciPy reads them: fast and exactly."""
    header = f"%%MatrixMarket matrix array real general\n{len(begins)} 1\n".encode()
    column = io.BytesIO(header + kernels.join_words(text, begins).tobytes())
    return import_scipy().io.mmread(column, spmatrix=False)[:, 0]
