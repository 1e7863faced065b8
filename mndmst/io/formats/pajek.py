"""Pajek's networks, `.net`.

This module reads them itself: on networks from Pajek's manual NetworkX 3.6 takes ids of
*Arcslist for weights and drops lines that it does not understand, and igraph 1.0 ends
at a blank line, refuses numbered relations, and weighs an edge without a value 0 where
others have one.

`*Vertices N` comes first; labels are the names of vertices, and the number is the name
of a vertex without one. `*Arcs` and `*Edges`, of one or several relations, have an edge
a line, `*Arcslist` and `*Edgeslist` a vertex and its neighbours, `*Matrix` a row. A
value that is left out is 1, as Pajek's manual says.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from ...host.errors import InputError
from ...host.formatting import counted
from ...host.memory import Budget
from ...host.memory_costs import PAJEK_COPIES, PAJEK_EDGE_BYTES, PAJEK_VERTEX_BYTES
from ..atomic_output import AtomicOutput
from ..edge_file import EdgeFile, Edges, read_number
from ..memory_limit import check_room
from ..names import escaped
from .attributed_graph import (
    AttributedGraph,
    distinct_edges,
    edges_of_graph,
    ids_of_labels,
    names_to_write,
)
from .edge_attributes import Attributes
from .packed_files import read_text
from .table_columns import ColumnNames

_WORD = re.compile(r'"([^"]*)"|(\S+)')
_EDGE_SECTIONS = ("*arcs", "*edges", "*arcslist", "*edgeslist", "*matrix")
# Of how a line is drawn, such as: c Blue
_PARAMETER = re.compile(r"(?!inf|nan)[a-z][a-z0-9]*", re.IGNORECASE)
_WITHOUT_VALUE: Attributes = {}
_REFUSED_IN_NAMES = re.compile(r"""["'\\\n\r\t]""")


class _LineError(ValueError):
    """The fault of a line, and the remedy."""


@dataclass
class _Network:
    """The content of the lines that have been read."""

    count: int | None = None  # of vertices
    first: int = 0  # vertices of the first kind, in a network of two kinds
    labels: dict[int, str] = field(default_factory=dict)
    # Numbers of vertices, from 1
    ends: list[tuple[int, int]] = field(default_factory=list)
    edges: list[Attributes] = field(default_factory=list)
    row: int = 0  # rows of a matrix that have been read

    def vertex(self, word: str) -> int:
        """Return the number of a vertex."""
        if self.count is None:
            raise _LineError("comes before *Vertices. Write *Vertices N in front.")
        if not word.isdecimal() or not 1 <= int(word) <= self.count:
            raise _LineError(
                f"names vertex {escaped(word)}, but ids run from 1 to {self.count:,}. "
                "Fix it, or the number behind *Vertices."
            )
        return int(word)

    def read_head(self, head: str, words: Sequence[str]) -> None:
        """Read the line that begins a section."""
        if head == "*network" and self.count is None:
            return
        if head == "*vertices" and self.count is None:
            if not words or not all(word.isdecimal() for word in words):
                raise _LineError("does not say how many vertices there are. Add it.")
            self.count, self.first = [*map(int, words), 0][:2]
        elif head not in _EDGE_SECTIONS:
            raise _LineError(
                f"begins a section {escaped(head)} that one network does not have. "
                "Keep one network alone in the file."
            )

    def read_line(self, section: str, words: Sequence[str]) -> None:
        """Read a line of a section."""
        if section == "*vertices":
            number = self.vertex(words[0])
            if number in self.labels:
                raise _LineError(f"lists vertex {number} again. Remove one of them.")
            label = words[1] if len(words) > 1 else ""
            self.labels[number] = label or words[0]
        elif section in ("*arcs", "*edges"):
            if words[0].endswith(":"):  # the number of a relation
                words = words[1:]
            self._read_edge(words)
        elif section in ("*arcslist", "*edgeslist"):
            for word in words[1:]:
                self._add(words[0], word, None)
        elif section == "*matrix":
            self._read_row(words)
        else:
            raise _LineError("stands before any section. Write *Vertices N in front.")

    def _add(self, u: str, v: str, value: int | float | None) -> None:
        self.ends.append((self.vertex(u), self.vertex(v)))
        self.edges.append(_WITHOUT_VALUE if value is None else {"weight": value})

    def _read_edge(self, words: Sequence[str]) -> None:
        if any(word.startswith("[") for word in words):
            raise _LineError("has times in brackets. Remove the times.")
        u, v, *rest = words
        value = None
        if rest and not (_PARAMETER.fullmatch(rest[0]) and len(rest) > 1):
            value = read_number(rest[0])
            if len(rest) > 1 and not _PARAMETER.fullmatch(rest[1]):
                raise _LineError("has something behind its value. Keep the value.")
        self._add(u, v, value)

    def _read_row(self, words: Sequence[str]) -> None:
        self.row += 1
        width = (self.count or 0) - self.first
        if len(words) != width:
            raise _LineError(
                f"has {counted(len(words), 'value')}, and a row of the matrix has "
                f"{width:,}. Fix it."
            )
        for column, word in enumerate(words, 1 + self.first):
            if value := read_number(word):
                self._add(str(self.row), str(column), value)


def _read(path: Path, budget: Budget) -> _Network:
    """Return the network of a file."""
    text = read_text(path, budget, PAJEK_COPIES)
    network, section = _Network(), ""
    for number, words in _lines(text):
        try:
            if words[0].startswith("*"):
                section = words[0].lower()
                network.read_head(section, words[1:])
            else:
                network.read_line(section, words)
        except _LineError as error:
            raise InputError(f"{path}: line {number} {error}") from error
        except (ValueError, IndexError) as error:
            raise InputError(
                f"{path}: line {number} is not a line of {section or 'a network'} "
                f"({error}). Fix it."
            ) from error
    if network.count is None:
        raise InputError(
            f"{path}: has no *Vertices. Write *Vertices N in front, or give --format "
            "if it is another format."
        )
    if network.row and network.row != (network.first or network.count):
        raise InputError(
            f"{path}: its matrix has {counted(network.row, 'row')} for "
            f"{counted(network.first or network.count, 'vertex')}. Fix it."
        )
    return network


def _lines(text: str) -> Iterator[tuple[int, list[str]]]:
    """Yield the number and the words of each line that is not a comment."""
    for number, line in enumerate(text.split("\n"), 1):
        words = [quoted or word for quoted, word in _WORD.findall(line)]
        if words and not words[0].startswith(("%", "/*")):
            yield number, words


def open_file(
    path: Path, budget: Budget, picked: ColumnNames | None = None
) -> EdgeFile:
    """Read a `.net` file; see `formats.open_edges`."""
    network = _read(path, budget)
    count = network.count or 0
    check_room(budget, path, PAJEK_VERTEX_BYTES * count, counted(count, "vertex"))
    numbers = range(1, 1 + count)
    ids = ids_of_labels(path, [network.labels.get(i, str(i)) for i in numbers])
    ends = [(ids[u - 1], ids[v - 1]) for u, v in network.ends]
    defaults = {"weight": 1} if any(network.edges) else {}
    graph = AttributedGraph(ids, ends, network.edges, defaults)
    return edges_of_graph(path, graph, picked)


def writing_bytes(edges: Edges) -> int:
    """Return the bytes of the lists that are written."""
    return PAJEK_VERTEX_BYTES * edges.num_vertices + PAJEK_EDGE_BYTES * len(edges)


def write(edges: Edges, path: Path, files: AtomicOutput) -> None:
    """Write a `.net` file with the names of vertices as labels."""
    why = "a quote, a backslash or a line break"
    names = names_to_write(edges, path, _REFUSED_IN_NAMES, why)
    with files.file(path) as temporary, temporary.open("w", encoding="utf-8") as file:
        file.write(f"*Vertices {len(names)}\n")
        file.writelines(f'{i} "{name}"\n' for i, name in enumerate(names, 1))
        file.write("*Edges\n")
        for u, v, weight in distinct_edges(edges):
            file.write(f"{u + 1} {v + 1} {weight!r}\n")
