"""Find an arc without its reverse in a file that should list both."""

import numpy as np

from ...graph.order import key_dtype
from ...host.errors import InputError
from ..edge_file import EdgeFile
from ..edges import Edges
from ..kernels.survey import add_by_pair, of_pair_class

CLASSES = 1 << 16


def arc_without_reverse(file: EdgeFile) -> InputError:
    """Return an error for an arc whose reverse is missing or has another weight.

    The file is read twice: once for sums over classes of pairs of vertices, which are
    zero where all arcs have their reverse, and once for the arcs of a class where it is
    not.
    """
    sums = np.zeros(CLASSES, np.uint64)
    for piece in file.pieces(0, file.length):
        add_by_pair(piece.src, piece.dst, _keys(piece), sums)
    wanted = int(np.flatnonzero(sums)[0])
    found = []
    for piece in file.pieces(0, file.length):
        chosen = of_pair_class(piece.src, piece.dst, CLASSES, wanted)
        columns = (piece.src[chosen], piece.dst[chosen], piece.weight[chosen])
        found += list(zip(*(column.tolist() for column in columns), strict=True))
    left: dict[tuple, int] = {}
    for u, v, w in found:
        pair = (min(u, v), max(u, v), w)
        left[pair] = left.get(pair, 0) + (1 if u < v else -1)
    u, v, w = next(pair for pair, surplus in left.items() if surplus)
    if left[u, v, w] < 0:
        u, v = v, u
    return InputError(
        f"{file.name}: the arc ({u}, {v}) of weight {w} (vertices counted from 0) has "
        f"no reverse ({v}, {u}) of the same weight. Give --symmetrize if the file "
        "lists edges in one direction only."
    )


def _keys(piece: Edges) -> np.ndarray:
    weight = piece.weight
    if weight.dtype.kind == "f":
        weight = weight + weight.dtype.type(0)
    return weight.view(key_dtype(weight.dtype))
