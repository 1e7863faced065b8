"""Tables of text whose cells may be users' names, as RFC 4180 writes them."""

import re
from collections.abc import Callable, Iterator, Sequence
from typing import TextIO

import numpy as np

from .names import NameSource

# The columns of a table of edges
COLUMNS = ("source", "target", "weight")
ROWS = 1 << 18  # lines that are made at a time
# A cell that is quoted: it has a separator, a quote, a line break, blanks at an end,
# or begins as a comment does
_QUOTED = re.compile(r'[",;\t\r\n]|^[ #%]|[ ]$')

# Turns some values of a column into the texts of its cells
Cells = Callable[[np.ndarray], list[str]]


def name_cells(names: NameSource | None) -> Cells:
    """Return the function that turns vertices into cells: names, or numbers."""
    if names is None:
        return number_cells

    def cells(vertices: np.ndarray) -> list[str]:
        return list(map(quoted, names.take(vertices).texts()))

    return cells


def number_cells(numbers: np.ndarray) -> list[str]:
    """Return numbers as cells, with all digits."""
    return list(map(repr, numbers.tolist()))


def text_cells(values: np.ndarray) -> list[str]:
    """Return texts, or numbers with all digits, as cells."""
    if values.dtype.kind in "iuf":
        return number_cells(values)
    return list(map(quoted, map(str, values.tolist())))


def quoted(text: str) -> str:
    """Return a text as a cell, in quotes where it needs them."""
    if _QUOTED.search(text):
        return '"' + text.replace('"', '""') + '"'
    return text


def write_rows(
    file: TextIO,
    columns: Sequence[np.ndarray],
    cells: Sequence[Cells],
    separator: str = ",",
) -> None:
    """Write a line for each row of some columns.

    Parameters
    ----------
    cells : sequence of callable
        Of each column.
    """
    for low in range(0, len(columns[0]), ROWS):
        held = [column[low : low + ROWS] for column in columns]
        made: Iterator[list[str]] = (
            make(values) for make, values in zip(cells, held, strict=True)
        )
        lines = map(separator.join, zip(*made, strict=True))
        file.write("\n".join(lines) + "\n")
