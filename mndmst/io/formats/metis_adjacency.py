"""Rows of neighbours as text: METIS and PBBS adjacency graphs.

METIS [1], `.graph` and `.metis`: the neighbours of vertex i in line i. The first line
has the number of vertices and of edges (each edge is in two lines), and up to three
flags: sizes of vertices, weights of vertices, weights of edges. Sizes
and weights of vertices are passed over. Lines that begin with % are comments.

PBBS [2], Ligra and GBBS, `.adj`: a word that tells the kind, `AdjacencyGraph` or
`WeightedAdjacencyGraph`, the number of vertices and of arcs; where the row of each
vertex begins; the neighbours, counted from 0; the weights. White space of any kind
separates them.

[1] Karypis and Kumar: A Fast and High Quality Multilevel Scheme for Partitioning
    Irregular Graphs. SIAM J. Sci. Comput. 20(1), 1998; METIS's manual, section 4.

[2] Anderson, Blelloch, Dhulipala, Dobson and Sun: The Problem-Based Benchmark Suite
    (PBBS), V2. PPoPP 2022.
"""

import re
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np

from ...graph.order import id_dtype
from ...host.errors import InputError
from ...host.formatting import counted
from ...host.memory import Budget
from ...host.memory_costs import METIS_COPIES
from ..edge_file import MOST_EXACT, Edges, checked_edges, narrow_integers
from .edge_text import DIGITS, INTEGER, check_counts, read_integers
from .packed_files import read_bytes

_METIS_HEADER = re.compile(
    rb"(?:%[^\n]*\n)*[ \t]*(\d{1,18})[ \t]+(\d{1,18})"
    rb"(?:[ \t]+([01]{1,3})(?:[ \t]+(\d{1,3}))?)?[ \t\r]*(?:\n|$)"
)
_METIS_COMMENT = re.compile(rb"^%.*", re.MULTILINE)

_KINDS = {b"AdjacencyGraph": False, b"WeightedAdjacencyGraph": True}
_KIND = re.compile(rb"\s*(\S+)")


def read_metis(path: Path, budget: Budget) -> Edges:
    """Read a METIS file; see `formats.read_edges`. Weights are integers, or 1."""
    text = read_bytes(path, budget, METIS_COPIES)
    header = _METIS_HEADER.match(text)
    if header is None:
        raise InputError(
            f"{path}: its first line is not the number of vertices, that of edges "
            'and flags, such as "5 7 001". Put it there, or name the format.'
        )
    vertices, edges = int(header[1]), int(header[2])
    sizes, has_weights, weighted = (c == ord("1") for c in (header[3] or b"").zfill(3))
    passed_over = sizes + (int(header[4] or 1) if has_weights else 0)
    said = f"its first line says {counted(vertices, 'vertex')} and "
    said += counted(edges, "edge")
    check_counts(path, said, vertices, max(vertices, 4 * edges - 1), text)
    # A line for each vertex, and comments between them
    body = text[header.end() :]
    letters = np.frombuffer(body, np.uint8)
    lines = np.append(0, np.flatnonzero(letters == ord("\n")) + 1)
    lines = lines[lines < len(body)]
    rows = lines[letters[lines] != ord("%")]
    if len(rows) < vertices:
        raise InputError(
            f"{path}: ends after the line of vertex {len(rows)} of {vertices}. Copy it "
            "again, or fix the first line."
        )

    def wrong(offset: int, mistake: str) -> InputError:
        line = text.count(b"\n", 0, header.end() + offset) + 1
        return InputError(f"{path}: line {line} {mistake}. Fix the line.")

    words: bytes | bytearray = body
    if len(rows) < len(lines):
        words = _METIS_COMMENT.sub(lambda match: b" " * len(match[0]), words)
    if len(rows) > vertices:
        behind = words[rows[vertices] :]
        if behind.strip():
            offset = len(words) - len(behind.lstrip())
            raise wrong(offset, f"follows the lines of all {vertices} vertices")
        words = words[: rows[vertices]]
    numbers, offsets, bad = read_integers(words)
    if bad is not None:
        raise wrong(bad, "is not whole numbers alone")
    firsts = np.searchsorted(offsets, rows[:vertices])  # the first number of each row
    counts = np.diff(firsts, append=len(numbers))
    odd = (counts < passed_over) | (weighted & ((counts - passed_over) % 2 == 1))
    if odd.any():
        mistake = "has too few numbers, or a neighbour without a weight"
        raise wrong(int(rows[odd.argmax()]), mistake)
    if passed_over:
        sizes = (firsts[:, np.newaxis] + np.arange(passed_over)).ravel()
        numbers, offsets = np.delete(numbers, sizes), np.delete(offsets, sizes)
    step = 1 + weighted
    dst, offsets = numbers[::step], offsets[::step]
    outside = (dst < 1) | (dst > vertices)
    if outside.any():
        mistake = "has a neighbour not between 1 and the number of vertices"
        raise wrong(int(offsets[outside.argmax()]), mistake)
    if len(dst) > 2 * edges:
        mistake = "has arcs beyond the number that the first line says"
        raise wrong(int(offsets[2 * edges]), mistake)
    if len(dst) < 2 * edges:
        raise InputError(
            f"{path}: lists {counted(len(dst), 'neighbour')}, but "
            f"{counted(edges, 'edge')} have {2 * edges}. Copy it again, or fix the "
            "first line."
        )
    weight = narrow_integers(numbers[1::2]) if weighted else np.ones(len(dst), np.int32)
    vertex = np.arange(vertices, dtype=id_dtype(vertices))
    src = np.repeat(vertex, (counts - passed_over) // step)
    listed = checked_edges(path, vertices, src, (dst - 1).astype(src.dtype), weight)
    return replace(listed, first_id=1)


def read_adjacency(path: Path, budget: Budget) -> Edges:
    """Read a `.adj` file; see `formats.read_edges`. Weights are numbers, or 1."""
    text = read_bytes(path, budget, METIS_COPIES)
    kind = _KIND.match(text)
    if kind is None or kind[1] not in _KINDS:
        raise InputError(
            f'{path}: does not begin with "AdjacencyGraph" or '
            '"WeightedAdjacencyGraph". Put that in its first line, or name the format.'
        )
    weighted, first = _KINDS[bytes(kind[1])], kind.end()
    numbers, offsets, bad = read_integers(text[first:])

    def line(offset: int) -> int:
        return text.count(b"\n", 0, first + offset) + 1

    def take(begin: int, count: int) -> np.ndarray:
        if begin + count <= len(numbers):
            return numbers[begin : begin + count]
        if bad is None:
            raise InputError(
                f"{path}: ends before the numbers that its first lines promise. Copy "
                "it again."
            )
        raise InputError(
            f"{path}: line {line(bad)} has a word that is not a whole number of up to "
            f"{DIGITS} digits. Fix the line."
        )

    vertices, arcs = take(0, 2).tolist()
    said = f"says it has {counted(vertices, 'vertex')} and {counted(arcs, 'arc')}"
    needed = 2 * (vertices + arcs) if min(vertices, arcs) >= 0 else sys.maxsize
    check_counts(path, said, vertices, needed, text)
    begins, dst = take(2, vertices), take(2 + vertices, arcs)
    rest = numbers[2 + vertices + arcs :]
    behind = int(offsets[-len(rest)]) if len(rest) else bad
    weight = np.ones(arcs, np.int32)
    if weighted and bad is None and len(rest) == arcs:
        weight = narrow_integers(rest)
    elif weighted:
        words = bytes(text[first + behind :]).split() if behind is not None else []
        weight = _real_weights(path, words, arcs)
    elif behind is not None:
        raise InputError(
            f"{path}: line {line(behind)} goes on after the last neighbour. Copy "
            "the file again, or fix its first lines."
        )
    indptr = np.append(begins, arcs)
    if (begins[:1] != 0).any() or (np.diff(indptr) < 0).any():
        raise InputError(
            f"{path}: the beginnings of the rows do not ascend from 0 to {arcs}. Copy "
            "the file again."
        )
    src = np.repeat(np.arange(vertices), np.diff(indptr))
    return checked_edges(path, vertices, src, dst, weight)


def _real_weights(path: Path, words: list[bytes], count: int) -> np.ndarray:
    """Return words as float64; refuse a word that is not a number, or is rounded."""
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
    for i in np.flatnonzero(np.abs(weights) >= MOST_EXACT).tolist():
        word = words[i].decode()
        if INTEGER.fullmatch(word) and int(word) != int(weights[i]):
            raise InputError(
                f"{path}: a weight, {word}, would be rounded to {weights[i]:.17g}: "
                "integers beyond 64 bits or beside fractions become float64. Scale "
                "the weights."
            )
    return weights
