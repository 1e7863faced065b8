"""The project's own forests, to pass them on in other formats."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from ..edge_file import PIECE_ENTRIES, EdgeFile
from ..edges import Edges, checked_edges
from ..file_errors import open_hdf5, read_attribute, reading
from ..results.forest_file import FORMAT, read_forest


class ForestEdges(EdgeFile):
    """The edges of a forest file, each once. It counts in edges.

    Raises
    ------
    InputError
        If it is damaged.
    """

    rereadable = True

    def __init__(self, path: Path) -> None:
        self.forest = read_forest(path)
        self.name = str(path)
        self.length = self.num_entries = self.forest.num_edges
        self.num_vertices: int = self.forest.header.num_vertices
        self.weight_dtype = self.forest.weight_dtype

    def pieces(self, begin: int, end: int) -> Iterator[Edges]:
        """Yield the edges [begin, end); see `EdgeFile`."""
        for low in range(begin, end, PIECE_ENTRIES):
            columns = self.forest.read(low, min(low + PIECE_ENTRIES, end))
            yield checked_edges(self.name, self.num_vertices, *columns, True, low)

    def read(self) -> Edges:
        """Return the whole forest; no edge is listed in both directions."""
        return replace(super().read(), directed=False)


def is_forest(path: Path) -> bool:
    """Return whether a file is one of the project's forests.

    Raises
    ------
    InputError
        If it is damaged.
    """
    with reading(path), open_hdf5(path) as file:
        return bool(read_attribute(file, "format") == FORMAT)
