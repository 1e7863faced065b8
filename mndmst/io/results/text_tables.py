"""Write tables of text, alone or from all ranks; names are quoted as in RFC 4180."""

import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import nullcontext
from functools import partial
from pathlib import Path
from typing import TextIO

import numpy as np

from ...host.errors import ConfigError
from ..atomic_output import AtomicOutput
from ..file_access import writing
from ..names import NameSource, escaped
from ..output_kinds import Kind

# The columns of a table of edges
COLUMNS = ("source", "target", "weight")
ROWS = 1 << 16  # lines that are made at a time
# A cell that is quoted: it has a separator, a quote, a carriage return, blanks at an
# end, or begins as a comment does
_QUOTED = re.compile(r'[",;\t\r]|^[ #%]|[ ]$')
# Turns some values of a column into the texts of its cells
Cells = Callable[[np.ndarray], list[str]]
# The suffixes of tables, and the separators of their columns
SEPARATORS = {".csv": ",", ".tsv": "\t"}


def name_cells(path: Path, names: NameSource | None) -> Cells:
    """Return the function that turns vertices into cells: names, or numbers."""
    if names is None:
        return number_cells

    def cells(vertices: np.ndarray) -> list[str]:
        return [quoted(path, text) for text in names.take(vertices).texts()]

    return cells


def number_cells(numbers: np.ndarray) -> list[str]:
    """Return numbers as cells, with all digits."""
    return list(map(repr, numbers.tolist()))


def text_cells(path: Path, values: np.ndarray) -> list[str]:
    """Return texts, or numbers with all digits, as cells."""
    if values.dtype.kind in "iuf":
        return number_cells(values)
    return [quoted(path, str(value)) for value in values.tolist()]


def quoted(path: Path, text: str) -> str:
    """Return a text as a cell of a file, in quotes where it needs them.

    Raises ConfigError for a line feed: ranks read ranges of lines, so a row is a line.
    """
    if "\n" in text:
        raise ConfigError(
            f'{path}: the name "{escaped(text)}" has a line feed, and a row of a text '
            "table is one line. Give a name in .h5; mndmst convert then writes "
            ".parquet or .json."
        )
    if _QUOTED.search(text):
        return '"' + text.replace('"', '""') + '"'
    return text


def write_rows(
    file: TextIO,
    columns: Sequence[np.ndarray],
    cells: Sequence[Cells],
    separator: str = ",",
) -> None:
    """Write a line for each row of some columns, whose cells a function each makes."""
    for low in range(0, len(columns[0]), ROWS):
        rows = [column[low : low + ROWS] for column in columns]
        made: Iterator[list[str]] = (
            make(values) for make, values in zip(cells, rows, strict=True)
        )
        lines = map(separator.join, zip(*made, strict=True))
        file.write("\n".join(lines) + "\n")


def write_table(
    outputs: AtomicOutput,
    path: Path,
    header: Sequence[str],
    columns: Sequence[np.ndarray],
    names: NameSource | None,
    kind: Kind,
) -> None:
    """Write a table whose rows are spread over the ranks; every rank calls it.

    The file becomes `path` with the other outputs. The first two columns are vertices.
    """
    # Ranks write in turn, and one at a time holds the names in memory
    comm, separator = outputs.ranks, SEPARATORS[path.suffix]
    vertices = name_cells(path, names)
    others: list[Cells] = [partial(text_cells, path)] * len(columns[2:])
    cells = [vertices, vertices, *others]
    temporary = outputs.begin(path, kind)
    for turn in range(comm.size):
        # Rank 0 begins, and every rank appends behind the ranks before it
        with comm.raise_on_all(), writing(path):
            if turn == comm.rank:
                with (
                    names.held() if names is not None else nullcontext(),
                    temporary.open("a", encoding="utf-8") as file,
                ):
                    if turn == 0:
                        file.write(separator.join(header) + "\n")
                    write_rows(file, columns, cells, separator)
