"""Edge lists of igraph's NCOL format: `name name` or `name name weight` a line.

Names have no blanks in them, and are texts, even if they look like numbers.
"""

from collections.abc import Iterator
from pathlib import Path

import numpy as np

from ...host.errors import ConfigError, InputError
from ..atomic_output import whole_file
from ..edge_file import Edges, number_weights, read_number
from ..named_edge_file import EdgesByName, NamedEdgeFile
from ..names import NameKind, names_of_words, shown
from .edge_text import Lines, TextFile

_BLANKS = " \t\r\n\v\f"


class NcolFile(NamedEdgeFile):
    """An edge list of names, `.ncol`, compressed or not. It counts in bytes."""

    kind = NameKind.TEXT

    def __init__(self, path: Path) -> None:
        self._text = TextFile(path, Lines())
        self.name, self.length = self._text.name, self._text.length
        self.seekable = self._text.seekable

    def named_pieces(self, begin: int, end: int) -> Iterator[EdgesByName]:
        """Yield the edges of the lines that begin in a range of bytes."""
        for place, block in self._text.blocks(begin, end):
            rows = [line.split() for line in block.split(b"\n")]
            for row, words in enumerate(rows):
                if len(words) not in (0, 2, 3):
                    raise self._wrong(place, rows, row, 'is not "name name weight"')
            kept = [words for words in rows if words]
            if not kept:
                continue
            weight = self._weights(place, rows)
            src, dst = (
                names_of_words(self.name, [words[k] for words in kept]) for k in (0, 1)
            )
            yield EdgesByName(src, dst, weight)

    def _weights(self, place: int, rows: list[list[bytes]]) -> np.ndarray:
        """Return the weights of a block's lines."""
        values: list[int | float] = []
        for row, words in enumerate(rows):
            if words:
                try:
                    values.append(
                        read_number(words[2].decode()) if len(words) == 3 else 1
                    )
                except ValueError as error:
                    raise self._wrong(
                        place, rows, row, "has a weight that is not a number"
                    ) from error
        return number_weights(self.name, values)

    def _wrong(
        self, place: int, rows: list[list[bytes]], row: int, what: str
    ) -> InputError:
        return InputError(
            f"{self.name}: line {self._text.line_number(place) + row} {what}. Fix it."
        )


def write(edges: Edges, path: Path) -> None:
    """Write `name name weight` a line; vertices without edges are left out."""
    with whole_file(path) as temporary, temporary.open("w", encoding="utf-8") as file:
        texts = list(map(str, range(edges.num_vertices)))
        if edges.names is not None:
            texts = edges.names.texts()
        for text in texts:
            if any(blank in text for blank in _BLANKS):
                raise ConfigError(
                    f'{path}: the name "{shown(text)}" has a blank, which .ncol does '
                    "not allow. Give a name in .csv, .json or .parquet."
                )
        ends = zip(edges.src.tolist(), edges.dst.tolist(), strict=True)
        for (u, v), weight in zip(ends, edges.weight.tolist(), strict=True):
            file.write(f"{texts[u]} {texts[v]} {weight!r}\n")
