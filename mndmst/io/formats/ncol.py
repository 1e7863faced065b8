"""Edge lists of igraph's NCOL format: `name name` or `name name weight` a line.

Names have no blanks in them, and are texts, even if they look like numbers.
"""

from collections.abc import Iterator
from pathlib import Path

from ...host.errors import ConfigError, InputError
from ..atomic_output import whole_file
from ..edge_file import Edges, number_weights, read_number
from ..named_edge_file import EdgesByName, NamedEdgeFile
from ..names import NameKind, names_of_words, shown
from .edge_text import TextFile
from .table_text import TextLayout

_BLANKS = " \t\r\n\v\f"


class NcolFile(NamedEdgeFile):
    """An edge list of names, `.ncol`, compressed or not. It counts in bytes."""

    kind = NameKind.TEXT

    def __init__(self, path: Path) -> None:
        self._text = TextFile(path, TextLayout.of_list())
        self.name, self.length = self._text.name, self._text.length
        self.seekable = self._text.seekable

    def named_pieces(self, begin: int, end: int) -> Iterator[EdgesByName]:
        """Yield the edges of the lines that begin in a range of bytes."""
        for place, block in self._text.blocks(begin, end):
            src, dst, weights = [], [], []
            for row, line in enumerate(block.split(b"\n")):
                words = line.split()
                if not words:
                    continue
                what = 'is not "name name weight"'
                try:
                    one, other, *weight = words
                    if len(weight) > 1:
                        raise ValueError(what)
                    what = "has a weight that is not a number"
                    weights.append(read_number(weight[0].decode()) if weight else 1)
                except ValueError as error:
                    number = self._text.line_number(place) + row
                    raise InputError(
                        f"{self.name}: line {number} {what}. Fix it."
                    ) from error
                src.append(one)
                dst.append(other)
            if weights:
                yield EdgesByName(
                    names_of_words(self.name, src),
                    names_of_words(self.name, dst),
                    number_weights(self.name, weights),
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
