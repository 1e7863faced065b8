"""One small graph that is kept in every format, and how to compare what is read."""

from pathlib import Path

import numpy as np

from mndmst.io.edge_file import Edges
from mndmst.io.partitioner.vertex_numbering import symmetric_rows

DATA = Path(__file__).parent / "data"
SQUARE = [(0, 1, 7), (0, 2, 7), (0, 3, 0), (1, 2, -2), (2, 3, 5)]


def square(dtype: str = "int32") -> Edges:
    """Return the square 0-1-2-3 with a diagonal 0-2, and vertex 4 alone."""
    src, dst, weight = (np.array(column) for column in zip(*SQUARE, strict=True))
    ends = src.astype(np.uint32), dst.astype(np.uint32)
    return Edges(5, *ends, weight.astype(dtype), directed=False)


def triples(edges: Edges) -> list[tuple[int, int, float]]:
    """Return each undirected edge once, as (smaller end, larger end, weight)."""
    indptr, indices, weights = symmetric_rows(edges)
    rows = np.repeat(np.arange(edges.num_vertices), np.diff(indptr))
    arcs = zip(rows.tolist(), indices.tolist(), weights.tolist(), strict=True)
    return [(u, v, w) for u, v, w in arcs if u < v]
