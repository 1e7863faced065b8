"""Adjacency graphs of PBBS [1], Ligra and GBBS, `.adj`: rows of neighbours as text.

A word that tells the kind, `AdjacencyGraph` or `WeightedAdjacencyGraph`, the number
of vertices and of arcs; where the row of each vertex begins; the neighbours, counted
from 0; the weights. White space of any kind separates them.

[1] Anderson, Blelloch, Dhulipala, Dobson and Sun: The Problem-Based Benchmark Suite
    (PBBS), V2. PPoPP 2022.
"""

import re
from pathlib import Path

import numpy as np

from ...host.errors import InputError
from ...host.formatting import counted
from ..edges import Edges, checked_edges, narrow_integers
from ..kernels import tokens as kernels
from .files import read_bytes
from .heads import line_of

_KINDS = {b"AdjacencyGraph": False, b"WeightedAdjacencyGraph": True}
_LONGEST_KIND = 32
_WHOLE = re.compile(r"[+-]?[0-9]+")
# Float64 holds all integers up to it.
LARGEST_EXACT = 1 << 53
# Arrays for each byte of a text with the shortest numbers
COPIES = 16


def read(path: Path) -> Edges:
    """Read a `.adj` file; see `formats.read_edges`. Weights are numbers, or 1."""
    text = np.frombuffer(read_bytes(path, COPIES), np.uint8)
    kind = (text[:_LONGEST_KIND].tobytes().split() or [b""])[0]
    if kind not in _KINDS:
        raise InputError(
            f'{path}: does not begin with "AdjacencyGraph" or '
            '"WeightedAdjacencyGraph". Put that in its first line, or name the format.'
        )
    at = text[:_LONGEST_KIND].tobytes().find(kind) + len(kind)
    counts, at = _integers(path, text, at, 2)
    vertices, arcs = counts.tolist()
    if min(vertices, arcs) < 0 or 2 * (vertices + arcs) > len(text):
        raise InputError(
            f"{path}: says it has {counted(vertices, 'vertex')} and "
            f"{counted(arcs, 'arc')}, more than it can hold. Copy it again, or fix "
            "its first lines."
        )
    begins, at = _integers(path, text, at, vertices)
    dst, at = _integers(path, text, at, arcs)
    weight = np.ones(arcs, np.int32)
    if _KINDS[kind]:
        weight = _numbers(path, text, at, arcs)
    elif text[at:].tobytes().strip():
        raise InputError(
            f"{path}: line {line_of(text, at)} goes on after the last neighbour. Copy "
            "the file again, or fix its first lines."
        )
    indptr = np.append(begins, arcs)
    if (begins[:1] != 0).any() or (np.diff(indptr) < 0).any():
        raise InputError(
            f"{path}: the beginnings of the rows do not ascend from 0 to {arcs}. Copy "
            "the file again."
        )
    src = np.repeat(np.arange(vertices), np.diff(indptr))
    return checked_edges(path, vertices, src, dst, weight, directed=True)


def _integers(
    path: Path, text: np.ndarray, at: int, count: int
) -> tuple[np.ndarray, int]:
    """Return the next integers and where they end."""
    numbers = np.empty(count, np.int64)
    status, at = kernels.read_integers(text, at, numbers)
    if status == kernels.NO_WORD:
        raise InputError(
            f"{path}: ends before the numbers that its first lines promise. Copy it "
            "again."
        )
    if status != kernels.GOOD:
        raise InputError(
            f"{path}: line {line_of(text, at)} has a word that is no whole number of "
            f"up to {kernels.DIGITS} digits. Fix the line."
        )
    return numbers, at


def _numbers(path: Path, text: np.ndarray, at: int, count: int) -> np.ndarray:
    """Return the weights that are the rest of the text."""
    integers = np.empty(count, np.int64)
    status, end = kernels.read_integers(text, at, integers)
    if status == kernels.GOOD and not text[end:].tobytes().strip():
        return narrow_integers(integers)
    words = text[at:].tobytes().split()
    if len(words) != count:
        raise InputError(
            f"{path}: has {counted(len(words), 'weight')} for {counted(count, 'arc')}. "
            "Copy it again."
        )
    try:
        weights = np.array(words, dtype="S").astype(np.float64)
    except ValueError as error:
        raise InputError(
            f"{path}: a weight is not a number ({error}). Fix it."
        ) from error
    if not np.isfinite(weights).all():
        word = words[int(np.isfinite(weights).argmin())].decode()
        raise InputError(f"{path}: a weight, {word}, does not fit float64. Fix it.")
    for place in np.flatnonzero(np.abs(weights) >= LARGEST_EXACT).tolist():
        word = words[place].decode()
        if _WHOLE.fullmatch(word) and int(word) != int(weights[place]):
            raise InputError(
                f"{path}: a weight, {word}, would be rounded to {weights[place]:.17g}: "
                "integers beyond 64 bits or beside fractions become float64. Scale "
                "the weights."
            )
    return weights
