"""A copy of what a process has read of a file that is expensive to read again."""

from collections.abc import Iterator
from pathlib import Path

import numpy as np

from ..edges import Edges, narrow_integers
from ..layout import writing
from .runs import fill


class Spool:
    """Pieces of an edge file, written by `keep` and read again by `pieces`.

    Parameters
    ----------
    path : Path
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._written: list[tuple[int, int, list[np.dtype]]] = []

    def keep(self, pieces: Iterator[Edges]) -> Iterator[Edges]:
        """Yield pieces as they come, and write them, weights as narrow as they can be.

        Raises
        ------
        OutputError
            If they cannot be written.
        """
        with writing(self.path), self.path.open("xb") as file:
            for piece in pieces:
                weight = piece.weight
                if weight.dtype == np.int64:
                    weight = narrow_integers(weight)
                columns = (piece.src, piece.dst, weight)
                for column in columns:
                    file.write(column.view(np.uint8).data)
                types = [column.dtype for column in columns]
                self._written.append((piece.num_vertices, len(piece), types))
                yield piece

    def pieces(self) -> Iterator[Edges]:
        """Yield the pieces again.

        Raises
        ------
        OutputError
            If the file is not what was written.
        """
        with writing(self.path), self.path.open("rb") as file:
            for num_vertices, length, types in self._written:
                src, dst, weight = (np.empty(length, dtype) for dtype in types)
                for column in (src, dst, weight):
                    fill(file, column)
                yield Edges(num_vertices, src, dst, weight, directed=True)

    def remove(self) -> None:
        """Remove the file."""
        self.path.unlink(missing_ok=True)
