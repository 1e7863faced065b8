"""New numbers for vertices, so that neighbours are near each other in memory.

Kolganov (2016) numbers well-connected vertices next to each other, for a GPU's cache.
`bfs` numbers them as a breadth-first search meets them, `rcm` by the reverse of Cuthill
and McKee's order (1969; George, 1971), the same search with vertices of least degree
first. `degree` puts vertices with many neighbours first: their data is used most, and
is then close together. It takes 8 bytes a vertex and process while it counts; for the
others one process reads the whole graph into memory.

Both maps between numbers are memory-mapped files in the working directory.
"""

from collections.abc import Iterator
from pathlib import Path

import numpy as np

from ...graph.order import id_dtype, stored_id_dtype
from ...host.errors import ConfigError
from ...host.memory import free_bytes
from ..edge_file import EdgeFile, EdgeFileOver
from ..edges import Edges, as_ids
from ..file_errors import writing
from ..kernels.csr_conversion import both_directions, upper_triangle
from ..kernels.partitioner import add_degrees, breadth_first
from .builders import Builders
from .compact_ids import load_ids
from .plan import check_vertices
from .survey import share
from .work_directory import NEW_IDS, ORDER

DEGREE_BYTES = 8
ORDERS = ("none", "degree", "bfs", "rcm")


class Renumbered(EdgeFileOver):
    """An edge file with new ids.

    Parameters
    ----------
    file : EdgeFile
        With the original ids.
    work : Path
        Where `save_order` has put the maps.
    """

    def __init__(self, file: EdgeFile, work: Path) -> None:
        super().__init__(file)
        self.work = work
        self.num_vertices = len(load_ids(work / ORDER))

    def pieces(self, begin: int, end: int) -> Iterator[Edges]:
        """Yield the pieces of the file with new ids; see `EdgeFile`."""
        new_id = load_ids(self.work / NEW_IDS)
        for piece in self.file.pieces(begin, end):
            yield _renamed(piece, new_id)


def save_order(builders: Builders, file: EdgeFile, order: str, work: Path) -> None:
    """Compute one of `ORDERS` of the vertices, and save its maps. Collective.

    Raises
    ------
    ConfigError
        If there is not the memory to count the edges of every vertex.
    InputError
        If the file is damaged, or has far more vertices than its edges name.
    OutputError
        If the maps cannot be written.
    """
    with builders.raise_on_all():
        counted, entries = _own_degrees(builders, file)
    bounds, all_entries = zip(*builders.allgather((len(counted), entries)), strict=True)
    num_vertices = max(bounds)
    with builders.raise_on_all():
        check_vertices(file, num_vertices, sum(all_entries))
    degrees = builders.sum(np.pad(counted, (0, num_vertices - len(counted))))
    with builders.raise_on_all():
        if builders.rank == 0:
            ordered = _ordered(file, order, degrees).astype(
                stored_id_dtype(num_vertices)
            )
            with writing(work):
                for name, ids in ((ORDER, ordered), (NEW_IDS, _inverse(ordered))):
                    with (work / name).open("xb") as target:
                        np.save(target, ids)


def _ordered(file: EdgeFile, order: str, degrees: np.ndarray) -> np.ndarray:
    if order == "degree":
        return np.argsort(-degrees, kind="stable")
    edges = file.read()
    lowest_first = np.arange(len(degrees))
    if order == "rcm":
        lowest_first = np.argsort(degrees, kind="stable")
        edges = _renamed(edges, _inverse(lowest_first.astype(edges.src.dtype)))
    indptr, indices, weight = upper_triangle(
        len(degrees), edges.src, edges.dst, edges.weight
    )
    indptr, indices, _ = both_directions(indptr, indices, weight)
    found = lowest_first[breadth_first(indptr, indices)]
    return found[::-1] if order == "rcm" else found


def _own_degrees(builders: Builders, file: EdgeFile) -> tuple[np.ndarray, int]:
    """Return the degrees of the vertices that occur, counted in this rank's share.

    Returns
    -------
    degrees : ndarray of int64
    entries : int
        Of the share.
    """
    num_vertices, entries = file.num_vertices or 0, 0
    _check_room(file.name, num_vertices, num_vertices)
    degrees = np.zeros(num_vertices, np.int64)
    begin, end = share(builders, file)
    for piece in file.pieces(begin, end) if begin < end else ():
        entries += len(piece)
        num_vertices = max(num_vertices, piece.num_vertices)
        if num_vertices > len(degrees):
            _check_room(file.name, 2 * num_vertices, num_vertices)
            fewer = degrees
            degrees = np.zeros(2 * num_vertices, np.int64)  # taken when written
            degrees[: len(fewer)] = fewer
        add_degrees(piece.src, piece.dst, degrees)
    return degrees[:num_vertices], entries


def _check_room(name: str, counts: int, num_vertices: int) -> None:
    """Check that the memory limit allows an array of degrees."""
    free = free_bytes()
    if counts * DEGREE_BYTES > free:
        raise ConfigError(
            f"{name}: to order its vertices takes {counts * DEGREE_BYTES:,} bytes in "
            f"every process, and {free:,} are free. It has a vertex id, counted from "
            f"0, of {num_vertices - 1}, and every number up to it is a vertex: if that "
            "id is wrong, fix it; else use fewer processes, or no --reorder."
        )


def _renamed(edges: Edges, new_id: np.ndarray) -> Edges:
    ids = id_dtype(len(new_id))
    src, dst = as_ids(new_id[edges.src], ids), as_ids(new_id[edges.dst], ids)
    return Edges(len(new_id), src, dst, edges.weight, edges.directed)


def _inverse(order: np.ndarray) -> np.ndarray:
    inverse = np.empty_like(order)
    inverse[order] = np.arange(len(order), dtype=order.dtype)
    return inverse
