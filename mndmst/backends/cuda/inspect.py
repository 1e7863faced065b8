"""One look at all arcs of placed rows: faults, distinct edges, and symmetry."""

import cupy
import numpy as np

from ...kernels.inspect import ArcFacts
from .kernels import NULL, TILE, Kernels
from .placed import PlacedRows


def inspect(rows: PlacedRows, num_vertices: int, kernels: Kernels) -> ArcFacts | None:
    """Return the facts of all arcs; None if an id is wrong (`Backend.look_at_arcs`)."""
    if rows.num_arcs == 0:
        return ArcFacts(0, 0)
    tiles, arcs = -(-rows.num_arcs // TILE), np.uint64(rows.num_arcs)
    tile_row = cupy.empty(tiles + 1, np.uint32)
    kernels.launch(
        "find_tiles", tiles + 1, rows.indptr, np.uint64(rows.own), arcs, tile_row,
        np.uint64(tiles),
    )  # fmt: skip
    found = cupy.zeros(3, np.uint64)
    kernels.launch(
        "inspect_arcs", tiles * 256, rows.indptr, arcs, np.uint32(rows.first),
        np.uint64(rows.own), np.uint64(rows.first_global),
        NULL if rows.complete else rows.ghosts, np.uint64(num_vertices), rows.ends,
        rows.keys, tile_row, found,
    )  # fmt: skip
    wrong, edges, balance = found.tolist()
    return None if wrong else ArcFacts(edges, balance)
