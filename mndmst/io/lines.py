"""Columns as lines of text."""

from collections.abc import Sequence
from typing import TextIO

import numpy as np

_ROWS = 1 << 16  # lines that are made at a time


def write_lines(file: TextIO, line: str, columns: Sequence[np.ndarray]) -> None:
    """Write a line for each row of some columns.

    Parameters
    ----------
    line : str
        With a place for the value of each column: `%d`, or `%r` for all digits.
    """
    for low in range(0, len(columns[0]), _ROWS):
        held = (column[low : low + _ROWS].tolist() for column in columns)
        lines = map(line.__mod__, zip(*held, strict=True))
        file.write("\n".join(lines) + "\n")
