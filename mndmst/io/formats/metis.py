"""METIS graphs [1], `.graph` and `.metis`: the neighbours of vertex i in line i.

The first line has the number of vertices and of edges (each edge is in two lines),
and up to three flags: sizes of vertices, weights of vertices, weights of edges. What
belongs to vertices is passed over. Lines that begin with % are comments.

[1] Karypis and Kumar: A Fast and High Quality Multilevel Scheme for Partitioning
    Irregular Graphs. SIAM J. Sci. Comput. 20(1), 1998; METIS's manual, section 4.
"""

import re
from pathlib import Path

import numpy as np

from ...graph.order import id_dtype
from ...host.errors import InputError
from ...host.formatting import counted
from ..edges import Edges, checked_edges, narrow_integers
from ..kernels import tokens as kernels
from .files import read_bytes
from .heads import line_of

# Arrays for each byte of a text with the shortest numbers
COPIES = 8
_HEADER = re.compile(
    rb"(?:%[^\n]*\n)*[ \t]*(\d{1,18})[ \t]+(\d{1,18})"
    rb"(?:[ \t]+([01]{1,3})(?:[ \t]+(\d{1,3}))?)?[ \t\r]*(?:\n|$)"
)
_MISTAKES = {
    kernels.NO_INTEGER: "is not whole numbers alone",
    kernels.BAD_NEIGHBOUR: "has a neighbour not between 1 and the number of vertices",
    kernels.ODD_WORDS: "has too few numbers, or a neighbour without a weight",
    kernels.TOO_MANY: "has arcs beyond the number that the first line says",
}


def read(path: Path) -> Edges:
    """Read a METIS file; see `formats.read_edges`. Weights are integers, or 1."""
    text = np.frombuffer(read_bytes(path, COPIES), np.uint8)
    header = _HEADER.match(text.data)
    if header is None:
        raise InputError(
            f"{path}: its first line is not the number of vertices, that of edges "
            'and flags, such as "5 7 001". Put it there, or name the format.'
        )
    vertices, edges = int(header[1]), int(header[2])
    sizes, has_weights, weighted = (c == ord("1") for c in (header[3] or b"").zfill(3))
    constraints = int(header[4] or 1) if has_weights else 0
    if vertices > len(text) or 4 * edges > len(text) + 1:
        raise InputError(
            f"{path}: its first line says {counted(vertices, 'vertex')} and "
            f"{counted(edges, 'edge')}, more than the file can hold. Copy it again, or "
            "fix the line."
        )
    ids = id_dtype(vertices)
    src, dst = np.empty((2, 2 * edges), ids)
    weight = np.empty(2 * edges if weighted else 0, np.int64)
    status, at, arcs = kernels.read_rows(
        text, header.end(), vertices, sizes + constraints, src, dst, weight
    )
    if status == kernels.TOO_FEW_LINES:
        raise InputError(
            f"{path}: ends after the line of vertex {arcs} of {vertices}. Copy it "
            "again, or fix the first line."
        )
    if status != kernels.GOOD:
        mistake = _MISTAKES[status]
        raise InputError(f"{path}: line {line_of(text, at)} {mistake}. Fix the line.")
    if arcs != 2 * edges:
        raise InputError(
            f"{path}: lists {counted(arcs, 'neighbour')}, and of "
            f"{counted(edges, 'edge')} there are {2 * edges}. Copy it again, or fix "
            "the first line."
        )
    weight = narrow_integers(weight) if weighted else np.ones(arcs, np.int32)
    return checked_edges(path, vertices, src, dst, weight, directed=True)
