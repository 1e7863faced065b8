"""Dendrograms and forests as Newick trees, for programs of phylogeny.

The leaves of a dendrogram are the points. A branch is half as long as the distances of
its ends differ, so the path between two leaves is as long as the distance at which the
dendrogram merges them. A dendrogram of several trees (merged at infinite distances)
becomes one line for each tree.

The trees of a forest have the vertices as leaves and inner nodes, all with names, and
the weights as lengths. Each hangs from its root.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TextIO

import numpy as np

from ...tree.rooted_trees import RootedTrees

PIECES = 1 << 16  # pieces of text that are written together


def write_newick(
    file: TextIO, linkage: np.ndarray, name: Callable[[int], str] = str
) -> None:
    """Write a dendrogram as from `single_linkage` as Newick trees, a line for each."""
    _write(file, _pieces(linkage, name))


def write_trees(
    file: TextIO, trees: RootedTrees, weight: np.ndarray, name: Callable[[int], str]
) -> None:
    """Write rooted trees as Newick trees, a line for each; edges have the weights."""
    _write(file, _tree_pieces(trees, weight, name))


def leaf_names(names: Sequence[object] | np.ndarray | None) -> Callable[[int], str]:
    """Return the function that names points; their numbers are names by default."""
    return str if names is None else lambda point: str(names[point])


def _tree_pieces(
    trees: RootedTrees, weight: np.ndarray, name: Callable[[int], str]
) -> Iterator[str]:
    """Yield the text of rooted trees in pieces: subtrees are ranges of the order."""
    vertices = trees.vertices
    edge = trees.edge[vertices]
    length = [""] * len(vertices)
    for position in np.flatnonzero(edge >= 0).tolist():
        length[position] = f":{weight[edge[position]].item()!r}"
    vertex = vertices.tolist()
    end = (trees.size[vertices] + np.arange(len(vertices))).tolist()
    opened: list[int] = []
    for position in range(len(vertex)):
        if end[position] > position + 1:
            opened.append(position)
            yield "("
            continue
        yield quoted_label(name(vertex[position])) + length[position]
        while opened and end[opened[-1]] == position + 1:
            done = opened.pop()
            yield ")" + quoted_label(name(vertex[done])) + length[done]
        yield "," if opened else ";\n"


def _write(file: TextIO, pieces: Iterable[str]) -> None:
    waiting: list[str] = []
    for piece in pieces:
        waiting.append(piece)
        if len(waiting) == PIECES:
            file.write("".join(waiting))
            waiting.clear()
    file.write("".join(waiting))


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
