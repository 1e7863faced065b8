"""Dendrograms as Newick trees, for programs of phylogeny.

The leaves of a tree are the points. A branch is half as long as the distances of its
ends differ, so the path between two leaves is as long as the distance at which the
dendrogram merges them. A dendrogram of several trees (merged at infinite distances)
becomes one line for each tree.
"""

from collections.abc import Callable, Iterator
from typing import TextIO

import numpy as np

PIECES = 1 << 16  # pieces of text that are written together


def write_newick(
    file: TextIO, linkage: np.ndarray, name: Callable[[int], str] = str
) -> None:
    """Write a dendrogram as Newick trees, a line for each.

    Parameters
    ----------
    linkage : ndarray of float64, shape (points - 1, 4)
        As from `single_linkage`.
    name : callable
        Returns the name of a point.
    """
    held: list[str] = []
    for piece in _pieces(linkage, name):
        held.append(piece)
        if len(held) == PIECES:
            file.write("".join(held))
            held.clear()
    file.write("".join(held))


def quoted_label(name: str) -> str:
    """Return a name as a Newick label: in quotes unless it is a plain word."""
    if name and all(c.isalnum() or c in ".-+" for c in name):
        return name
    return "'" + name.replace("'", "''") + "'"


def _pieces(linkage: np.ndarray, name: Callable[[int], str]) -> Iterator[str]:
    """Yield the text in pieces, by a walk with a stack: trees may be deep."""
    n = len(linkage) + 1
    left, right = linkage[:, 0].astype(np.int64), linkage[:, 1].astype(np.int64)
    height = np.concatenate([np.zeros(n), linkage[:, 2]])
    roots, todo = [], [2 * n - 2]
    while todo:
        node = todo.pop()
        if np.isfinite(height[node]):
            roots.append(node)
        else:
            todo += [int(right[node - n]), int(left[node - n])]
    for root in roots:
        # A node is opened, then both sides follow, and then its text is closed.
        stack: list[tuple[int, str]] = [(root, ";\n")]
        while stack:
            node, after = stack.pop()
            if node < 0:
                yield after
            elif node < n:
                yield quoted_label(name(node)) + after
            else:
                yield "("
                one, other = int(left[node - n]), int(right[node - n])
                stack.append((-1, ")" + after))
                stack.append((other, _length(height[node] - height[other])))
                stack.append((one, _length(height[node] - height[one]) + ","))


def _length(difference: float) -> str:
    return f":{float(difference) / 2!r}"
