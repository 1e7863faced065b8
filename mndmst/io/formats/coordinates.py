"""Coordinates of vertices in DIMACS `.co` files [1]: `v id x y`, ids from 1.

[1] 9th DIMACS Implementation Challenge, Shortest Paths, 2006.
"""

import re
from pathlib import Path

import numpy as np

from ...host.errors import InputError
from ...host.formatting import counted
from ..kernels import tokens as kernels
from .files import read_bytes
from .heads import line_of

_HEADER = re.compile(
    rb"(?:(?:c[^\n]*)?\n)*p[ \t]+aux[ \t]+sp[ \t]+co[ \t]+(\d{1,18})[ \t\r]*\n"
)
_COMMENT = re.compile(rb"^c[^\n]*$", re.MULTILINE)
_SHORTEST_LINE = len("v 1 1 1\n")
COPIES = 12


def read_coordinates(path: Path) -> tuple[np.ndarray, np.ndarray]:
    """Read where vertices lie.

    Returns
    -------
    x, y : ndarray of float64, shape (vertices,)
        In the units of the file.

    Raises
    ------
    InputError
        If the file is missing or damaged, or leaves out a vertex.
    """
    text = read_bytes(path, COPIES)
    header = _HEADER.match(text)
    if header is None:
        raise InputError(
            f'{path}: has no line "p aux sp co n" at its beginning. Give a file of '
            "coordinates."
        )
    count = int(header[1])
    if count > len(text) // _SHORTEST_LINE:
        raise InputError(
            f"{path}: says it has {counted(count, 'vertex')}, more than it can hold. "
            "Copy it again, or fix the p line."
        )
    # The letters blanked, what is left is numbers
    lines = _COMMENT.sub(lambda comment: b" " * len(comment[0]), text[header.end() :])
    body = np.frombuffer(b"\n" + lines, np.uint8).copy()
    body[1:][(body[1:] == ord("v")) & (body[:-1] == ord("\n"))] = ord(" ")
    numbers = np.empty((count, 3), np.int64)
    status, at = kernels.read_integers(body, 0, numbers.reshape(-1))
    if status == kernels.GOOD and body[at:].tobytes().strip():
        status = kernels.NO_INTEGER
    if status != kernels.GOOD:
        line = line_of(np.frombuffer(text, np.uint8), header.end() + at - 1)
        raise InputError(
            f'{path}: line {line} is not "v id x y" with whole numbers, or the file '
            f"has not {count} such lines. Fix the line or copy the file again."
        )
    ids = numbers[:, 0] - 1
    seen = np.zeros(count, bool)
    inside = (ids >= 0) & (ids < count)
    seen[ids[inside]] = True
    if not seen.all():
        raise InputError(
            f"{path}: vertex {int((~seen).argmax()) + 1} of {count} has no "
            "coordinates. Copy the file again."
        )
    x, y = np.empty((2, count))
    x[ids], y[ids] = numbers[:, 1], numbers[:, 2]
    return x, y
