"""Rows of neighbours as text: METIS and PBBS adjacency graphs.

METIS [1], `.graph` and `.metis`: the neighbours of vertex i in line i. The first line
has the number of vertices and of edges (each edge is in two lines), and up to three
flags: sizes of vertices, weights of vertices, weights of edges. Sizes
and weights of vertices are passed over. Lines that begin with % are comments.

PBBS [2], Ligra and GBBS, `.adj`: a word that tells the kind, `AdjacencyGraph` or
`WeightedAdjacencyGraph`, the number of vertices and of arcs; where the row of each
vertex begins; the neighbours, counted from 0; the weights. White space of any kind
separates them.

[1] Karypis and Kumar: A Fast and High Quality Multilevel Scheme for Partitioning
    Irregular Graphs. SIAM J. Sci. Comput. 20(1), 1998; METIS's manual, section 4.

[2] Anderson, Blelloch, Dhulipala, Dobson and Sun: The Problem-Based Benchmark Suite
    (PBBS), V2. PPoPP 2022.
"""

import re
from pathlib import Path

import numpy as np

from ...graph.order import id_dtype
from ...host.errors import InputError
from ...host.formatting import counted
from ..edge_file import MOST_EXACT, Edges, checked_edges, narrow_integers
from ..kernels import tokens as kernels
from .edge_text import line_of
from .packed_files import read_bytes

# Arrays for each byte of a text with the shortest numbers
METIS_COPIES = 8
_METIS_HEADER = re.compile(
    rb"(?:%[^\n]*\n)*[ \t]*(\d{1,18})[ \t]+(\d{1,18})"
    rb"(?:[ \t]+([01]{1,3})(?:[ \t]+(\d{1,3}))?)?[ \t\r]*(?:\n|$)"
)
_MISTAKES = {
    kernels.NO_INTEGER: "is not whole numbers alone",
    kernels.BAD_NEIGHBOUR: "has a neighbour not between 1 and the number of vertices",
    kernels.ODD_WORDS: "has too few numbers, or a neighbour without a weight",
    kernels.TOO_MANY: "has arcs beyond the number that the first line says",
}

_KINDS = {b"AdjacencyGraph": False, b"WeightedAdjacencyGraph": True}
_LONGEST_KIND = 32
_WHOLE = re.compile(r"[+-]?[0-9]+")
# Arrays for each byte of a text with the shortest numbers
ADJACENCY_COPIES = 16


def read_metis(path: Path) -> Edges:
    """Read a METIS file; see `formats.read_edges`. Weights are integers, or 1."""
    text = np.frombuffer(read_bytes(path, METIS_COPIES), np.uint8)
    header = _METIS_HEADER.match(text.data)
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
            f"{path}: lists {counted(arcs, 'neighbour')}, but "
            f"{counted(edges, 'edge')} have {2 * edges}. Copy it again, or fix the "
            "first line."
        )
    weight = narrow_integers(weight) if weighted else np.ones(arcs, np.int32)
    return checked_edges(path, vertices, src, dst, weight)


def read_adjacency(path: Path) -> Edges:
    """Read a `.adj` file; see `formats.read_edges`. Weights are numbers, or 1."""
    text = np.frombuffer(read_bytes(path, ADJACENCY_COPIES), np.uint8)
    kind = (text[:_LONGEST_KIND].tobytes().split() or [b""])[0]
    if kind not in _KINDS:
        raise InputError(
            f'{path}: does not begin with "AdjacencyGraph" or '
            '"WeightedAdjacencyGraph". Put that in its first line, or name the format.'
        )
    at = text[:_LONGEST_KIND].tobytes().find(kind) + len(kind)
    counts, at = _integers(path, text, at, 2)
    vertices, arcs = counts.tolist()
    if min(vertices, arcs) < 0 or 2 * (vertices + arcs) > len(text):
        raise InputError(
            f"{path}: says it has {counted(vertices, 'vertex')} and "
            f"{counted(arcs, 'arc')}, more than it can hold. Copy it again, or fix "
            "its first lines."
        )
    begins, at = _integers(path, text, at, vertices)
    dst, at = _integers(path, text, at, arcs)
    weight = np.ones(arcs, np.int32)
    if _KINDS[kind]:
        weight = _numbers(path, text, at, arcs)
    elif text[at:].tobytes().strip():
        raise InputError(
            f"{path}: line {line_of(text, at)} goes on after the last neighbour. Copy "
            "the file again, or fix its first lines."
        )
    indptr = np.append(begins, arcs)
    if (begins[:1] != 0).any() or (np.diff(indptr) < 0).any():
        raise InputError(
            f"{path}: the beginnings of the rows do not ascend from 0 to {arcs}. Copy "
            "the file again."
        )
    src = np.repeat(np.arange(vertices), np.diff(indptr))
    return checked_edges(path, vertices, src, dst, weight)


def _integers(
    path: Path, text: np.ndarray, at: int, count: int
) -> tuple[np.ndarray, int]:
    """Return the next integers and where they end."""
    numbers = np.empty(count, np.int64)
    status, at = kernels.read_integers(text, at, numbers)
    if status == kernels.NO_WORD:
        raise InputError(
            f"{path}: ends before the numbers that its first lines promise. Copy it "
            "again."
        )
    if status != kernels.GOOD:
        raise InputError(
            f"{path}: line {line_of(text, at)} has a word that is not a whole number "
            f"of up to {kernels.DIGITS} digits. Fix the line."
        )
    return numbers, at


def _numbers(path: Path, text: np.ndarray, at: int, count: int) -> np.ndarray:
    """Return the weights that are the rest of the text."""
    integers = np.empty(count, np.int64)
    status, end = kernels.read_integers(text, at, integers)
    if status == kernels.GOOD and not text[end:].tobytes().strip():
        return narrow_integers(integers)
    words = text[at:].tobytes().split()
    if len(words) != count:
        raise InputError(
            f"{path}: has {counted(len(words), 'weight')} for {counted(count, 'arc')}. "
            "Copy it again."
        )
    try:
        weights = np.array(words, dtype="S").astype(np.float64)
    except ValueError as error:
        raise InputError(
            f"{path}: a weight is not a number ({error}). Fix it."
        ) from error
    if not np.isfinite(weights).all():
        word = words[int(np.isfinite(weights).argmin())].decode()
        raise InputError(f"{path}: a weight, {word}, does not fit float64. Fix it.")
    for place in np.flatnonzero(np.abs(weights) >= MOST_EXACT).tolist():
        word = words[place].decode()
        if _WHOLE.fullmatch(word) and int(word) != int(weights[place]):
            raise InputError(
                f"{path}: a weight, {word}, would be rounded to {weights[place]:.17g}: "
                "integers beyond 64 bits or beside fractions become float64. Scale "
                "the weights."
            )
    return weights
